"""Plots of the results, SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .measuring import Results, Row
from .tables import OURS, unique

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = ("#4c5b6b", "#8fa3b5", "#c98a2b", "#6f9a4c", "#b04a5a", "#7a5aa0", "#2b8aa0", "#999999")


def draw(results: Results, name: str, directory: Path) -> Path | None:
    """Draws a section to ``name.svg``; None if there is nothing to draw.

    Raises:
        ImportError: if matplotlib is not installed.
    """
    rows = results.of(name)
    if name not in DRAW or not rows:
        return None
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    settings = {"svg.hashsalt": name, "svg.fonttype": "none", "font.size": 9}
    with matplotlib.rc_context(settings):
        figure, axes = pyplot.subplots(figsize=(8, 4), layout="constrained")
        DRAW[name](axes, rows)
        axes.spines[["top", "right"]].set_visible(False)
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"{name}.svg"
        figure.savefig(path, metadata={"Date": None, "Creator": None})
        pyplot.close(figure)
    return path


def _bars(axes: Axes, groups: Sequence[str], values: dict[str, list[float]], label: str) -> None:
    """A group of bars for each name in ``groups``."""
    width = 0.8 / len(values)
    for number, (name, heights) in enumerate(values.items()):
        places = [place + (number - (len(values) - 1) / 2) * width for place in range(len(groups))]
        axes.bar(places, heights, width, label=name, color=COLORS[number % len(COLORS)])
    axes.set_xticks(range(len(groups)), groups)
    axes.set_ylabel(label)
    axes.legend(frameon=False, fontsize=8)


def _speed(rows: Sequence[Row], contender: str, **case: Any) -> float:
    """Trees a second; zero where nothing was measured."""
    for row in rows:
        if row.contender == contender and all(row.case[key] == case[key] for key in case):
            return row.trees / row.median
    return 0.0


def _draw_contenders(axes: Axes, rows: Sequence[Row]) -> None:
    cell = rows[0].case["cell"]
    own = [row for row in rows if row.case["cell"] == cell and row.case["what"] == "step"]
    sizes = unique(row.case["batch"] for row in own)
    values = {
        name: [_speed(own, name, batch=size) for size in sizes]
        for name in unique(row.contender for row in own)
    }
    _bars(axes, [f"batch {size}" for size in sizes], values, "trees a second, training step")
    axes.set_title(cell)


def _draw_cells(axes: Axes, rows: Sequence[Row]) -> None:
    largest = max(row.case["batch"] for row in rows)
    cells = unique(row.case["cell"] for row in rows)
    values = {
        name: [_speed(rows, name, cell=cell, batch=largest, what="step") for cell in cells]
        for name in ("dgl", OURS)
    }
    _bars(axes, cells, values, "trees a second, training step")
    axes.set_title(f"batch {largest}")
    axes.tick_params(axis="x", labelrotation=35)
    for label in axes.get_xticklabels():
        label.set_horizontalalignment("right")


def _lines(axes: Axes, rows: Sequence[Row], key: str, per: Callable[[Row], float]) -> None:
    """Microseconds a unit over sizes of something, for each contender."""
    own = [row for row in rows if row.case["what"] == "step"]
    for number, name in enumerate(unique(row.contender for row in own)):
        points = [row for row in own if row.contender == name]
        axes.plot(
            [row.case[key] for row in points],
            [1e6 * row.median / per(row) for row in points],
            marker="o",
            markersize=4,
            color=COLORS[number],
            label=name,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.legend(frameon=False, fontsize=8)


def _draw_chains(axes: Axes, rows: Sequence[Row]) -> None:
    single = [row for row in rows if row.case["chains"] == 1]
    _lines(axes, single, "depth", lambda row: row.case["depth"])
    axes.set_xlabel("depth of a chain")
    axes.set_ylabel("µs a level, training step")


def _draw_sizes(axes: Axes, rows: Sequence[Row]) -> None:
    _lines(axes, rows, "nodes", lambda row: row.nodes)
    axes.set_xlabel("nodes a batch")
    axes.set_ylabel("µs a node, training step")


def _draw_stars(axes: Axes, rows: Sequence[Row]) -> None:
    _lines(axes, rows, "width", lambda row: row.nodes)
    axes.set_xlabel("children of a node")
    axes.set_ylabel("µs a node, training step")


DRAW: dict[str, Callable[[Any, Sequence[Row]], None]] = {
    "contenders": _draw_contenders,
    "cells": _draw_cells,
    "chains": _draw_chains,
    "stars": _draw_stars,
    "sizes": _draw_sizes,
}
