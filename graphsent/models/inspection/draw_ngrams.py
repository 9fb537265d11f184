"""Pictures of the n-grams that activate filters most."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphsent.drawing.pictures import Parts, caption_area, finish, shade, word_box
from graphsent.drawing.scene import BOX_HEIGHT, GREY, INK, LABEL_SIZE, Box, Caption, TextWidth
from graphsent.errors import DataError
from graphsent.models.inspection.ngrams import FilterNgrams

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_ngrams"]

_LINE = BOX_HEIGHT + 4
_BOX_GAP = 3.0
_SCORE_WIDTH = 40.0
_PANEL_GAP = 28.0
_PANELS_PER_COLUMN = 4  # target ratio of panels per column to columns: pictures are landscape


def draw_ngrams(
    found: Sequence[FilterNgrams],
    *,
    title: str | None = None,
    ax: Axes | None = None,
    path: str | os.PathLike[str] | None = None,
    dpi: float = 150,
) -> Figure:
    """Draws the n-grams that activate each filter most, words coloured by their contribution.

    Modelled on the last figure of Kalchbrenner et al. 2014. Blue words raise a filter's response,
    red words lower it; colours are scaled to the largest contribution within the filter. Numbers
    are responses.

    Args:
        found: The result of :func:`~graphsent.models.filter_ngrams`.
        title: Title above the picture.
        ax: Axes to draw into, scaled to fit, instead of a new figure.
        path: File to write, ``.png`` or ``.svg``; an existing file is replaced atomically.
        dpi: Resolution of the new figure, in dots per inch.

    Returns:
        The figure.

    Raises:
        DataError: There is nothing to draw, ``path`` has another suffix, or ``dpi`` is not
            positive.
        ImportError: matplotlib is not installed.
    """
    if not found:
        raise DataError("there are no filters to draw")
    notes = ["number: response of the filter; blue words raise it, red words lower it"]
    return finish(lambda width: _compose(found, width), title, ax, path, dpi, notes)


def _compose(found: Sequence[FilterNgrams], text_width: TextWidth) -> Parts:
    num_columns = math.ceil(math.sqrt(len(found) / _PANELS_PER_COLUMN))
    per_column = math.ceil(len(found) / num_columns)
    boxes: list[Box] = []
    captions: list[Caption] = []
    left = 0.0
    for begin in range(0, len(found), per_column):
        top, right = 0.0, left
        for each in found[begin : begin + per_column]:
            own_boxes, own_captions = _panel(each, left, top, text_width)
            boxes += own_boxes
            captions += own_captions
            areas = [(box.x, 0.0, box.width / 2, 0.0) for box in own_boxes]
            areas += [caption_area(caption, text_width) for caption in own_captions]
            right = max(right, *(x + half for x, _, half, _ in areas))
            top -= _LINE * (1.6 + max(1, len(each.ngrams)))
        left = right + _PANEL_GAP
    return boxes, [], captions


def _panel(
    each: FilterNgrams, left: float, top: float, text_width: TextWidth
) -> tuple[list[Box], list[Caption]]:
    """The name of a filter and its n-grams below."""
    captions = [Caption(left, top, each.filter, LABEL_SIZE, INK, align="left", bold=True)]
    boxes = []
    shares = [abs(share) for ngram in each.ngrams for share in ngram.shares]
    greatest = max(shares, default=0.0) or 1.0
    if not each.ngrams:
        text = "no sentence is long enough"
        captions.append(Caption(left, top - _LINE, text, LABEL_SIZE, GREY, align="left"))
    for line, ngram in enumerate(each.ngrams, start=1):
        x, y = left + _SCORE_WIDTH, top - line * _LINE
        score = f"{ngram.score:.2f}"
        captions.append(Caption(x - 6, y, score, LABEL_SIZE, INK, align="right"))
        for word, share in zip(ngram.words, ngram.shares, strict=True):
            box = word_box(word, text_width, LABEL_SIZE, shade(share / greatest))
            boxes.append(box._replace(x=x + box.width / 2, y=y))
            x += box.width + _BOX_GAP
    return boxes, captions
