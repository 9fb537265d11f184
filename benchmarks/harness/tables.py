"""Markdown tables of the results."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .measuring import Results, Row, ratios

BASES = ("dgl", "dgl, default AdaGrad", "dgl, example")
LIMITS = ("limit", "limit, engine")
OURS = "levels, words"


def grid(
    corner: str, rows: Iterable[str], columns: Sequence[str], text: Callable[[str, str], str]
) -> str:
    """A table with a name for each row."""
    lines = [f"| {corner} | " + " | ".join(columns) + " |", "| --- |" + " ---: |" * len(columns)]
    for row in rows:
        lines.append(f"| {row} | " + " | ".join(text(row, column) for column in columns) + " |")
    return "\n".join(lines)


def spread(values: Sequence[float], digits: int = 0) -> str:
    """The median, and the range."""
    if not values:
        return "-"
    low, middle, high = min(values), statistics.median(values), max(values)
    if len(values) == 1:
        return f"{middle:,.{digits}f}"
    return f"{middle:,.{digits}f} ({low:,.{digits}f}-{high:,.{digits}f})"


def unique(values: Iterable[Any]) -> list[Any]:
    """Each value once, in order."""
    return list(dict.fromkeys(values))


def _one(rows: Iterable[Row], contender: str, **case: Any) -> Row | None:
    for row in rows:
        if row.contender == contender and all(row.case[key] == case[key] for key in case):
            return row
    return None


def _columns(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Kinds and batch sizes."""
    kinds = unique(row.case["what"] for row in rows)
    sizes = unique(row.case["batch"] for row in rows)
    return {
        f"{kind}, batch {size}": {"what": kind, "batch": size} for kind in kinds for size in sizes
    }


def _speeds(rows: Sequence[Row]) -> str:
    columns = _columns(rows)

    def text(contender: str, column: str) -> str:
        row = _one(rows, contender, **columns[column])
        return "-" if row is None else spread([row.trees / value for value in row.taken])

    return grid("trees a second", unique(row.contender for row in rows), list(columns), text)


def _against(rows: Sequence[Row], base: str, names: Sequence[str], corner: str) -> str:
    """How many times as fast as ``base``."""
    columns = _columns(rows)

    def text(contender: str, column: str) -> str:
        theirs = _one(rows, base, **columns[column])
        ours = _one(rows, contender, **columns[column])
        return "-" if theirs is None or ours is None else spread(ratios(theirs, ours), 2)

    return grid(corner, names, list(columns), text)


def contenders(rows: Sequence[Row]) -> str:
    """Speeds, ratios to DGL and shares of the limits, for each cell."""
    parts = []
    for cell in unique(row.case["cell"] for row in rows):
        own = [row for row in rows if row.case["cell"] == cell]
        names = unique(row.contender for row in own)
        parts += [f"**{cell}**", _speeds(own)]
        others = [name for name in names if name not in BASES]
        for base in BASES:
            if base in names:
                parts.append(_against(own, base, others, f"times as fast as `{base}`"))
        ours = [name for name in ("levels", OURS) if name in names]
        for limit in LIMITS:
            if limit in names:
                parts.append(_against(own, limit, ours, f"share of `{limit}`"))
    return "\n\n".join(parts)


def cells(rows: Sequence[Row]) -> str:
    """Ratios to DGL, and speeds of both, cell by cell."""
    names, columns = unique(row.case["cell"] for row in rows), _columns(rows)

    def pair(cell: str, column: str) -> list[Row | None]:
        return [_one(rows, name, cell=cell, **columns[column]) for name in ("dgl", OURS)]

    def ratio(cell: str, column: str) -> str:
        theirs, ours = pair(cell, column)
        return "-" if theirs is None or ours is None else spread(ratios(theirs, ours), 1)

    def speeds(cell: str, column: str) -> str:
        return " / ".join(
            f"{row.trees / row.median:,.0f}" if row else "-" for row in pair(cell, column)
        )

    return "\n\n".join(
        (
            grid(f"`{OURS}`, times as fast as `dgl`", names, list(columns), ratio),
            grid(f"trees a second, `dgl` / `{OURS}`", names, list(columns), speeds),
        )
    )


def _growth(rows: Sequence[Row], key: str, corner: str, per: Callable[[Row], float]) -> str:
    """Milliseconds, and microseconds a unit, for sizes of something."""
    contenders, kinds = (
        unique(row.contender for row in rows),
        unique(row.case["what"] for row in rows),
    )
    columns = {f"{name}, {kind}": (name, kind) for kind in kinds for name in contenders}

    def text(size: str, column: str) -> str:
        name, kind = columns[column]
        row = _one(rows, name, **{"what": kind, key: int(size.replace(",", ""))})
        if row is None:
            return "-"
        batch = row.median / row.case.get("batches", 1)
        return f"{1e3 * batch:,.1f} ms, {1e6 * row.median / per(row):,.1f} µs"

    sizes = [f"{size:,}" for size in unique(row.case[key] for row in rows)]
    return grid(corner, sizes, list(columns), text)


def chains(rows: Sequence[Row]) -> str:
    """Time of a chain, and of each of its levels."""
    parts = []
    for count in unique(row.case["chains"] for row in rows):
        own = [row for row in rows if row.case["chains"] == count]
        title = f"depth; {count} chain{'s' if count > 1 else ''}; time in all and of a level"
        parts.append(_growth(own, "depth", title, lambda row: row.case["depth"]))
    return "\n\n".join(parts)


def stars(rows: Sequence[Row]) -> str:
    """Time of a star, and of each of its nodes."""
    return _growth(rows, "width", "children; time in all and of a node", lambda row: row.nodes)


def sizes(rows: Sequence[Row]) -> str:
    """Time of a batch, and of each of its nodes; what has to be computed for them."""
    times = _growth(
        rows, "nodes", "nodes, about; time of a batch and of a node", lambda row: row.nodes
    )
    kinds = unique(row.case["what"] for row in rows)

    def text(size: str, kind: str) -> str:
        row = _one(rows, OURS, what=kind, nodes=int(size.replace(",", "")))
        if row is None:
            return "-"
        of_node = row.operations / row.nodes / 1e6
        return f"{of_node:,.2f} MFLOP, {row.operations / row.median / 1e9:,.0f} GFLOP/s"

    counts = [f"{count:,}" for count in unique(row.case["nodes"] for row in rows)]
    corner = f"nodes, about; products for a node, and how fast `{OURS}` is"
    return "\n\n".join((times, grid(corner, counts, kinds, text)))


def batching(rows: Sequence[Row]) -> str:
    """Milliseconds a batch, and the share of a step."""
    columns = _columns(rows)

    def text(name: str, column: str) -> str:
        row, step = (_one(rows, each, **columns[column]) for each in (name, OURS))
        if row is None or step is None:
            return "-"
        batches = row.trees // row.case["batch"]
        share = "" if row is step else f", {row.median / step.median:.1%}"
        return f"{1e3 * row.median / batches:,.2f} ms{share}"

    names = unique(row.contender for row in rows)
    return grid("time of a batch, share of a step", names, list(columns), text)


def profile(rows: Sequence[Row]) -> str:
    """Milliseconds in each kind of operations, and their share of the step."""
    columns = {
        f"{name}, batch {size}": (name, size)
        for size in unique(row.case["batch"] for row in rows)
        for name in unique(row.contender for row in rows)
    }

    def text(kind: str, column: str) -> str:
        name, size = columns[column]
        own = [row for row in rows if (row.contender, row.case["batch"]) == (name, size)]
        here = [row for row in own if kind in ("all", row.case["kind"])]
        seconds, step = (sum(row.median for row in part) for part in (here, own))
        return f"{1e3 * seconds:,.2f} ms, {seconds / step:.0%}"

    kinds = [*unique(row.case["kind"] for row in rows), "all"]
    return grid("time of a step, its share", kinds, list(columns), text)


def threads(rows: Sequence[Row]) -> str:
    """How many times as fast two threads are as one."""
    names = unique(row.contender.rpartition(", ")[0] for row in rows)
    columns = _columns(rows)

    def text(name: str, column: str) -> str:
        one, two = (
            _one(rows, f"{name}, {count}", **columns[column]) for count in ("1 thread", "2 threads")
        )
        return "-" if one is None or two is None else spread(ratios(one, two), 2)

    return grid("two threads, times as fast as one", names, list(columns), text)


def memory(rows: Sequence[Row]) -> str:
    """Megabytes, and the ratio to DGL."""
    columns = {f"{row.case['cell']}, batch {row.case['batch']}": row.case["cell"] for row in rows}

    def text(name: str, column: str) -> str:
        row, base = (_one(rows, each, cell=columns[column]) for each in (name, "dgl"))
        if row is None:
            return "-"
        ratio = "" if base is None else f", {row.median / base.median:.2f}"
        return f"{row.median / 2**20:,.0f} MiB{ratio}"

    names = unique(row.contender for row in rows)
    return grid("beyond what was there before, ratio to `dgl`", names, list(columns), text)


TABLES: dict[str, Callable[[Sequence[Row]], str]] = {
    "contenders": contenders,
    "table": contenders,
    "cells": cells,
    "chains": chains,
    "stars": stars,
    "sizes": sizes,
    "batching": batching,
    "profile": profile,
    "threads": threads,
    "memory": memory,
}


def section(results: Results, name: str) -> str:
    """All that is known of a section: tables, notes, and the machine; empty if nothing is."""
    rows, notes = results.of(name), results.notes.get(name, [])
    parts = [TABLES[name](rows)] if rows else []
    parts += [f"*{note}*" for note in notes]
    if parts:
        parts.append(caption(results))
    return "\n\n".join(parts)


def caption(results: Results) -> str:
    """Where and how it was measured, in a line."""
    machine, options = results.machine, results.options
    packages = machine["packages"]
    threads = options["threads"]
    return (
        f"<sub>{machine['processor']}, {machine['instructions']}, {machine['cores']} cores, "
        f"{machine['memory_gib']} GiB, load {machine['load_before']} before, "
        f"{'with' if machine['kernels'] else 'without'} compiled kernels; "
        f"Python {machine['python']}, torch {packages['torch']}, DGL {packages['dgl']}; "
        f"{results.options['corpus']}, {options['in_feats']} / "
        f"{options['hidden_feats']}, float32, {threads} thread{'s' if threads > 1 else ''}, "
        f"{options['clock']} clock, up to {options['rounds']} rounds</sub>"
    )
