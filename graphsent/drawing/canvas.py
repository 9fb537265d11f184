"""Rendering of scenes with matplotlib; imported only when the first picture is drawn."""

from __future__ import annotations

import io
import logging
import math
import os
import re
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import text_to_path
from matplotlib.transforms import IdentityTransform

from graphsent._files import atomic_path
from graphsent.drawing.scene import Box, Caption, Line, Scene
from graphsent.errors import DataError

# What XML does not allow: control characters, and surrogates, which no font has either.
_CONTROLS = dict.fromkeys((*range(32), 127, *range(0xD800, 0xE000), 0xFFFE, 0xFFFF), "\ufffd")
_POINTS_PER_INCH = 72
_MOST_PIXELS = 20_000, 50_000_000  # per side and in total; larger pictures are scaled down
_SMALLEST_TEXT = 1.0  # points; anything smaller is illegible
_ARROW = 5.5
_HALF_CAPITAL = 0.36  # half the height of a digit, as a share of the font size
_NO_GLYPH = r"Glyph (\d+) \(.*\) missing from"  # matplotlib's warning at each occurrence

_log = logging.getLogger(__name__)
_missed: set[str] = set()  # characters without a glyph that were already reported


class TreeFigure(Figure):
    """A figure without a window; a notebook displays it as the value of a cell."""

    def _repr_png_(self) -> bytes:
        data = io.BytesIO()
        _write(self, data, format="png")
        return data.getvalue()


@lru_cache(maxsize=10_000)
def text_width(text: str, size: float) -> float:
    """Width in points of a line of text at a font size."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", _NO_GLYPH)
        width, _, _ = text_to_path.get_text_width_height_descent(
            text.translate(_CONTROLS), FontProperties(size=size), ismath=False
        )
    return float(width)


def render(scene: Scene, ax: Axes | None, dpi: float) -> Figure:
    """Draws a scene into ``ax``, scaled to fit, or into a new figure.

    Raises:
        DataError: ``dpi`` is not positive.
    """
    if not 0 < dpi < math.inf:
        raise DataError(f"dpi: expected a positive number, got {dpi}")
    width, height = scene.right - scene.left, scene.top - scene.bottom
    if ax is None:
        pixels = width * dpi / _POINTS_PER_INCH, height * dpi / _POINTS_PER_INCH
        side, area = _MOST_PIXELS
        scale = min(1.0, side / max(pixels), (area / (pixels[0] * pixels[1])) ** 0.5)
        size = scale * width / _POINTS_PER_INCH, scale * height / _POINTS_PER_INCH
        ax = TreeFigure(size, dpi, facecolor="white").add_axes((0, 0, 1, 1))
    else:
        inches = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
        scale = _POINTS_PER_INCH * min(inches.width / width, inches.height / height)
    ax.set_xlim(scene.left, scene.right)
    ax.set_ylim(scene.bottom, scene.top)
    ax.set_aspect("equal")
    ax.axis("off")
    _draw_lines(ax, scene.lines, scale)
    _draw_boxes(ax, scene.boxes, scale)
    for caption in scene.captions:
        _draw_caption(ax, caption, scale)
    return ax.figure.figure  # the parent figure of a subfigure


def svg_of(figure: Figure) -> str:
    """The SVG code of a figure."""
    code = io.StringIO()
    _write(figure, code, format="svg")
    return code.getvalue()


def save(figure: Figure, path: str | os.PathLike[str], file_format: str) -> None:
    """Writes a figure; the output is reproducible byte for byte."""
    metadata = {"Date": None} if file_format == "svg" else None
    with atomic_path(path) as temporary, matplotlib.rc_context({"svg.hashsalt": "graphsent"}):
        _write(figure, temporary, format=file_format, metadata=metadata)


def _write(figure: Figure, target: Any, **options: Any) -> None:
    """Writes a figure; characters without a glyph are logged once, in one line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure.savefig(target, **options)
    lacking = set()
    for each in caught:
        match = re.match(_NO_GLYPH, str(each.message))
        if match:
            lacking.add(chr(int(match[1])))
        else:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    if lacking - _missed:
        _log.warning(
            "matplotlib's font has no glyph for %s: add a font that has one to matplotlibrc, as in "
            "font.family: sans-serif, NAME",
            " ".join(sorted(lacking - _missed)),
        )
        _missed.update(lacking)


def _draw_lines(ax: Axes, lines: Sequence[Line], scale: float) -> None:
    segments = [(line.start, _before_arrow(line)) for line in lines]
    ax.add_collection(
        LineCollection(
            segments,
            colors=[line.ink for line in lines],
            linewidths=[line.width * scale for line in lines],
            linestyles=[line.style for line in lines],
            zorder=1,
        ),
        autolim=False,
    )
    arrows = [line for line in lines if line.arrow]
    ax.add_collection(
        PolyCollection(
            [_arrow_head(line) for line in arrows],
            facecolors=[line.ink for line in arrows],
            linewidths=0,
            zorder=2,
        ),
        autolim=False,
    )


def _arrow_size(line: Line) -> float:
    return _ARROW + line.width


def _along(line: Line, distance: float) -> tuple[float, float, float, float]:
    """The point ``distance`` before the line's end, and the line's direction."""
    (x0, y0), (x1, y1) = line.start, line.end
    length = math.hypot(x1 - x0, y1 - y0) or 1.0
    dx, dy = (x1 - x0) / length, (y1 - y0) / length
    return x1 - distance * dx, y1 - distance * dy, dx, dy


def _before_arrow(line: Line) -> tuple[float, float]:
    if not line.arrow:
        return line.end
    x, y, _, _ = _along(line, 0.8 * _arrow_size(line))
    return x, y


def _arrow_head(line: Line) -> list[tuple[float, float]]:
    size = _arrow_size(line)
    x, y, dx, dy = _along(line, size)
    half = 0.36 * size
    return [line.end, (x - half * dy, y + half * dx), (x + half * dy, y - half * dx)]


def _rounded(box: Box) -> Path:
    """The outline of a box: two half circles joined by straight lines."""
    radius, straight = box.height / 2, (box.width - box.height) / 2
    right, left = Path.arc(-90, 90), Path.arc(90, 270)
    vertices = np.concatenate(
        (
            np.asarray(right.vertices) * radius + (box.x + straight, box.y),
            np.asarray(left.vertices) * radius + (box.x - straight, box.y),
            [(box.x, box.y)],
        )
    )
    first, second = np.array(right.codes), np.array(left.codes)
    second[0] = Path.LINETO
    codes = np.concatenate((first, second, np.array([Path.CLOSEPOLY])))
    return Path(vertices, codes)


def _draw_boxes(ax: Axes, boxes: Sequence[Box], scale: float) -> None:
    ax.add_collection(
        PathCollection(
            [_rounded(box) for box in boxes],
            facecolors=[box.fill for box in boxes],
            edgecolors=[box.outline for box in boxes],
            linewidths=[box.frame * scale for box in boxes],
            offset_transform=IdentityTransform(),
            transform=ax.transData,
            zorder=3,
        ),
        autolim=False,
    )
    for box in boxes:
        _draw_caption(ax, Caption(box.x, box.y, box.text, box.size, box.ink), scale)


def _draw_caption(ax: Axes, caption: Caption, scale: float) -> None:
    size = caption.size * scale
    if not caption.text or size < _SMALLEST_TEXT:
        return
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.6 * scale}
    ax.text(
        caption.x,
        caption.y - _HALF_CAPITAL * caption.size,
        caption.text.translate(_CONTROLS),
        fontsize=size,
        color=caption.ink,
        fontweight="bold" if caption.bold else "normal",
        horizontalalignment=caption.align,
        verticalalignment="baseline",
        bbox=ground if caption.opaque else None,
        parse_math=False,  # a word may be "$"
        zorder=4,
    )
