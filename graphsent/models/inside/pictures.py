"""What pictures of models share: sizes, colours of signed numbers, and files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from graphsent.graphs.draw import file_format_of, import_canvas
from graphsent.graphs.palette import ClassColor, class_colors
from graphsent.graphs.scene import INK, TITLE_SIZE, Box, Caption, Line, Scene, TextWidth

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["BOX_HEIGHT", "WORD_GAP", "finish", "shade", "word_box", "word_places"]

BOX_HEIGHT = 17.0
WORD_GAP = 12.0  # between the words of a sentence
_BOX_PADDING = 10.0  # beside the text of a box, both sides together
_MARGIN = 8.0
_SHADES = class_colors(41, [])  # an odd number: the middle one is for 0

Parts = tuple[list[Box], list[Line], list[Caption]]


def shade(share: float) -> ClassColor:
    """The colour of a number from -1 (red) to 1 (blue)."""
    return _SHADES[round((share + 1) / 2 * (len(_SHADES) - 1))]


def word_box(text: str, text_width: TextWidth, size: float, color: ClassColor) -> Box:
    """A box around a word, at 0."""
    width = max(BOX_HEIGHT, text_width(text, size) + _BOX_PADDING)
    return Box(0, 0, width, BOX_HEIGHT, text, color.fill, color.text, color.fill, size)


def word_places(words: Sequence[str], text_width: TextWidth, size: float) -> list[float]:
    """The middle of each word of a sentence in a line."""
    places, x = [], 0.0
    for word in words:
        width = max(BOX_HEIGHT, text_width(word, size))
        places.append(x + width / 2)
        x += width + WORD_GAP
    return places


def finish(
    compose: Callable[[TextWidth], Parts],
    title: str | None,
    ax: Axes | None,
    path: str | os.PathLike[str] | None,
    dpi: float,
) -> Figure:
    """Renders what ``compose`` puts together, and writes it to ``path`` if there is one.

    Raises:
        DataError: ``path`` has another suffix than ``.png`` or ``.svg``.
        ImportError: matplotlib is not installed.
    """
    file_format = None if path is None else file_format_of(path)
    canvas = import_canvas()
    figure = canvas.render(_scene(*compose(canvas.text_width), title, canvas.text_width), ax, dpi)
    if path is not None:
        canvas.save(figure, path, file_format)
    return figure


def _scene(
    boxes: list[Box],
    lines: list[Line],
    captions: list[Caption],
    title: str | None,
    text_width: TextWidth,
) -> Scene:
    """The scene of some parts, with a title above and a margin around."""
    areas = [(b.x, b.y, b.width / 2, b.height / 2) for b in boxes]
    areas += [(*point, line.width, 0.0) for line in lines for point in (line.start, line.end)]
    areas += [_area(caption, text_width) for caption in captions]
    areas = areas or [(0.0, 0.0, 0.0, 0.0)]
    left, right = min(x - dx for x, _, dx, _ in areas), max(x + dx for x, _, dx, _ in areas)
    bottom, top = min(y - dy for _, y, _, dy in areas), max(y + dy for _, y, _, dy in areas)
    if title:
        top += 1.5 * TITLE_SIZE
        middle, half = (left + right) / 2, 0.55 * text_width(title, TITLE_SIZE)
        captions = [*captions, Caption(middle, top, title, TITLE_SIZE, INK, bold=True)]
        left, right, top = min(left, middle - half), max(right, middle + half), top + TITLE_SIZE / 2
    margins = left - _MARGIN, right + _MARGIN, bottom - _MARGIN, top + _MARGIN
    return Scene(boxes, lines, captions, *margins)


def _area(caption: Caption, text_width: TextWidth) -> tuple[float, float, float, float]:
    half = text_width(caption.text, caption.size) / 2 * (1.08 if caption.bold else 1)
    shift = {"left": half, "right": -half}.get(caption.align, 0.0)
    return caption.x + shift, caption.y, half, 0.6 * caption.size
