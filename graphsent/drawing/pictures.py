"""Shared parts of pictures: word boxes, colours of signed numbers, margins, titles and files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphsent.drawing.palette import ClassColor, class_colors
from graphsent.drawing.scene import (
    BOX_HEIGHT,
    BOX_PADDING,
    GREY,
    INK,
    LEGEND_SIZE,
    MARGIN,
    TITLE_SIZE,
    WORD_SIZE,
    Box,
    Caption,
    Line,
    Scene,
    TextWidth,
)
from graphsent.errors import DataError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "WORD_GAP",
    "caption_area",
    "finish",
    "import_canvas",
    "shade",
    "word_box",
    "word_places",
]

WORD_GAP = 12.0  # between the words of a sentence
_FORMATS = (".png", ".svg")
_SHADES = class_colors(41, [])  # an odd number, so that the middle one is for 0

Parts = tuple[list[Box], list[Line], list[Caption]]


def shade(share: float) -> ClassColor:
    """The colour for a number from -1 (red) to 1 (blue)."""
    return _SHADES[round((share + 1) / 2 * (len(_SHADES) - 1))]


def word_box(text: str, text_width: TextWidth, size: float, color: ClassColor) -> Box:
    """A box around a word, at the origin."""
    width = max(BOX_HEIGHT, text_width(text, size) + BOX_PADDING)
    return Box(0, 0, width, BOX_HEIGHT, text, color.fill, color.text, color.fill, size)


def word_places(words: Sequence[str], text_width: TextWidth) -> list[float]:
    """The x coordinate of the middle of each word of a sentence set in one line."""
    places, x = [], 0.0
    for word in words:
        width = max(BOX_HEIGHT, text_width(word, WORD_SIZE))
        places.append(x + width / 2)
        x += width + WORD_GAP
    return places


def finish(
    compose: Callable[[TextWidth], Parts],
    title: str | None,
    ax: Axes | None,
    path: str | os.PathLike[str] | None,
    dpi: float,
    notes: Sequence[str] = (),
) -> Figure:
    """Renders the parts returned by ``compose``, and writes the figure to ``path`` if given.

    ``notes`` are lines below the picture that explain colours, numbers and lines.

    Raises:
        DataError: The suffix of ``path`` is neither ``.png`` nor ``.svg``, or ``dpi`` is not
            positive.
        ImportError: matplotlib is not installed.
    """
    file_format = None if path is None else _file_format(path)
    canvas = import_canvas()
    scene = _scene(*compose(canvas.text_width), title, notes, canvas.text_width)
    figure = canvas.render(scene, ax, dpi)
    if path is not None:
        canvas.save(figure, path, file_format)
    return figure


def _file_format(path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in _FORMATS:
        raise DataError(f"cannot write {os.fspath(path)!r}: expected the suffix .png or .svg")
    return suffix[1:]


def import_canvas() -> Any:
    """Imports the module that draws with matplotlib.

    Raises:
        ImportError: matplotlib is not installed.
    """
    try:
        from graphsent.drawing import canvas
    except ImportError as error:
        if error.name != "matplotlib":
            raise
        raise ImportError(
            "drawing needs matplotlib: pip install 'graphsent[draw]'", name="matplotlib"
        ) from None
    return canvas


def _scene(
    boxes: list[Box],
    lines: list[Line],
    captions: list[Caption],
    title: str | None,
    notes: Sequence[str],
    text_width: TextWidth,
) -> Scene:
    """The scene of given parts, with a title above, notes below and a margin around them."""
    areas = [(b.x, b.y, b.width / 2, b.height / 2) for b in boxes]
    areas += [(*point, line.width, 0.0) for line in lines for point in (line.start, line.end)]
    areas += [caption_area(caption, text_width) for caption in captions]
    areas = areas or [(0.0, 0.0, 0.0, 0.0)]
    left, right = min(x - dx for x, _, dx, _ in areas), max(x + dx for x, _, dx, _ in areas)
    bottom, top = min(y - dy for _, y, _, dy in areas), max(y + dy for _, y, _, dy in areas)
    for note in notes:
        bottom -= 1.6 * LEGEND_SIZE
        middle, half = (left + right) / 2, text_width(note, LEGEND_SIZE) / 2
        captions = [*captions, Caption(middle, bottom, note, LEGEND_SIZE, GREY)]
        left, right = min(left, middle - half), max(right, middle + half)
    if notes:
        bottom -= LEGEND_SIZE / 2
    if title:
        top += 1.5 * TITLE_SIZE
        middle, half = (left + right) / 2, 0.55 * text_width(title, TITLE_SIZE)
        captions = [*captions, Caption(middle, top, title, TITLE_SIZE, INK, bold=True)]
        left, right, top = min(left, middle - half), max(right, middle + half), top + TITLE_SIZE / 2
    margins = left - MARGIN, right + MARGIN, bottom - MARGIN, top + MARGIN
    return Scene(boxes, lines, captions, *margins)


def caption_area(caption: Caption, text_width: TextWidth) -> tuple[float, float, float, float]:
    """The middle of a caption's area, x and y, and half of its width and height."""
    half = text_width(caption.text, caption.size) / 2 * (1.08 if caption.bold else 1)
    shift = {"left": half, "right": -half}.get(caption.align, 0.0)
    return caption.x + shift, caption.y, half, 0.6 * caption.size
