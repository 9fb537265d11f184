"""Pictures of confusion matrices."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphsent.drawing.pictures import Parts, finish, shade
from graphsent.drawing.scene import GREY, INK, LABEL_SIZE, Box, Caption, TextWidth
from graphsent.errors import DataError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_confusion"]

_CELL_HEIGHT = 22.0
_PADDING = 14.0  # beside the text of a cell, total of both sides
_LONGEST = 30  # maximum number of characters of a name


def draw_confusion(
    confusion: Sequence[Sequence[int]],
    names: Sequence[str],
    *,
    title: str | None = None,
    path: str | os.PathLike[str] | None = None,
    dpi: float = 150,
) -> Figure:
    """Draws a confusion matrix: gold classes as rows, predicted classes as columns.

    The colour of a cell shows its share of the row: the larger, the bluer.

    Args:
        confusion: How often each class (row) is predicted as each class (column).
        names: Names of the classes.
        title: Title above the picture.
        path: File to write, ``.png`` or ``.svg``; an existing file is replaced atomically.
        dpi: Resolution in dots per inch.

    Returns:
        The figure.

    Raises:
        DataError: ``path`` has another suffix, ``dpi`` is not positive, there are no names, or the
            matrix does not have one row and one column per name.
        ImportError: matplotlib is not installed.
    """
    if not names:
        raise DataError("expected the names of at least one class, got none")
    if {len(confusion), *map(len, confusion)} - {len(names)}:
        raise DataError(f"expected {len(names)} rows of {len(names)} counts, one per name")
    shown = [name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…" for name in names]
    note = "colour: share of the row, from white (0) to blue (1)"
    return finish(lambda width: _compose(confusion, shown, width), title, None, path, dpi, [note])


def _compose(
    confusion: Sequence[Sequence[int]], names: Sequence[str], text_width: TextWidth
) -> Parts:
    texts = [*names, *(f"{count:,}" for row in confusion for count in row)]
    cell = max(2 * _CELL_HEIGHT, *(text_width(text, LABEL_SIZE) + _PADDING for text in texts))
    boxes: list[Box] = []
    captions: list[Caption] = []
    for row, (name, counts) in enumerate(zip(names, confusion, strict=True)):
        y = -row * _CELL_HEIGHT
        captions.append(Caption(-cell / 2 - 4, y, name, LABEL_SIZE, INK, align="right"))
        total = max(1, sum(counts))
        for column, count in enumerate(counts):
            color = shade(count / total)
            size = (cell, _CELL_HEIGHT, f"{count:,}", color.fill, color.text, color.fill)
            boxes.append(Box(column * cell, y, *size, LABEL_SIZE))
    for column, name in enumerate(names):
        captions.append(Caption(column * cell, _CELL_HEIGHT, name, LABEL_SIZE, INK))
    middle = (len(names) - 1) * cell / 2
    captions.append(Caption(middle, 2 * _CELL_HEIGHT, "predicted", LABEL_SIZE, GREY))
    captions.append(Caption(-cell / 2 - 4, _CELL_HEIGHT, "gold", LABEL_SIZE, GREY, align="right"))
    return boxes, [], captions
