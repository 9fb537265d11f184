"""Pictures of attention over positions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from graphsent.drawing.pictures import Parts, finish, word_places
from graphsent.drawing.scene import GREY, INK, LABEL_SIZE, WORD_SIZE, Caption, Line, TextWidth
from graphsent.models.inspection.attention import SentenceAttention

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_attention"]

_BAR_INK = "#0571b0"
_BAR_WIDTH = 9.0
_STEP = 20.0  # between bars that are not above words
_TALLEST = 60.0
_STACK_HEIGHT = 110.0


def draw_attention(
    attention: SentenceAttention,
    *,
    title: str | None = None,
    ax: Axes | None = None,
    path: str | os.PathLike[str] | None = None,
    dpi: float = 150,
) -> Figure:
    """Draws the attention weights of a sentence as bars, one row of bars per stack.

    If positions cover words, a bar is centred over its words, as if the line extended beyond the
    sentence: the first and last bars cover fewer words. Otherwise bars are numbered. The tallest
    bar of a stack is its largest weight, whose value is written above it; the dashed grey line
    marks equal weights.

    Args:
        attention: An element of the result of :func:`~graphsent.models.sentence_attention`.
        title: Title above the picture.
        ax: Axes to draw into, scaled to fit, instead of a new figure.
        path: File to write, ``.png`` or ``.svg``; an existing file is replaced atomically.
        dpi: Resolution of the new figure, in dots per inch.

    Returns:
        The figure.

    Raises:
        DataError: ``path`` has another suffix, or ``dpi`` is not positive.
        ImportError: matplotlib is not installed.
    """
    notes = ["number: the largest weight; dashed line: equal weights"]
    return finish(lambda width: _compose(attention, width), title, ax, path, dpi, notes)


def _compose(attention: SentenceAttention, text_width: TextWidth) -> Parts:
    lines: list[Line] = []
    captions: list[Caption] = []
    places = word_places(attention.words, text_width)
    for number, (weights, spans) in enumerate(zip(attention.weights, attention.spans, strict=True)):
        ground = -number * _STACK_HEIGHT
        x = _numbered(weights) if spans is None else _over_words(len(weights), places)
        lines += _bars(weights, x, ground)
        captions += _notes(weights, x, ground, number if len(attention.weights) > 1 else None)
        if spans is None:
            captions += [
                Caption(each, ground - LABEL_SIZE, str(position), LABEL_SIZE, GREY)
                for position, each in enumerate(x.tolist(), start=1)
            ]
        if spans is not None or number == len(attention.weights) - 1:
            below = ground - LABEL_SIZE - (0.0 if spans is not None else 1.6 * WORD_SIZE)
            captions += [
                Caption(place, below, word, WORD_SIZE)
                for place, word in zip(places, attention.words, strict=True)
            ]
    return [], lines, captions


def _numbered(weights: np.ndarray) -> np.ndarray:
    return _STEP * (0.5 + np.arange(len(weights)))


def _over_words(num_positions: int, places: list[float]) -> np.ndarray:
    """The middle of words t - reach to t for each position t, on a line extended on both sides."""
    reach = num_positions - len(places)
    middle = np.arange(num_positions) - reach / 2
    inside = np.interp(middle, np.arange(len(places)), places)
    beyond = middle - middle.clip(0, len(places) - 1)
    return inside + _STEP * beyond


def _bars(weights: np.ndarray, x: np.ndarray, ground: float) -> list[Line]:
    heights = _TALLEST * weights / weights.max()
    bars = [
        Line((each, ground), (each, ground + height), _BAR_INK, _BAR_WIDTH)
        for each, height in zip(x.tolist(), heights.tolist(), strict=True)
    ]
    ends = float(x[0]) - _BAR_WIDTH, float(x[-1]) + _BAR_WIDTH
    level = ground + _TALLEST / len(weights) / float(weights.max())
    equal = Line((ends[0], level), (ends[1], level), GREY, 0.8, "dashed")
    return [*bars, Line((ends[0], ground), (ends[1], ground), INK, 0.8), equal]


def _notes(weights: np.ndarray, x: np.ndarray, ground: float, stack: int | None) -> list[Caption]:
    best = int(weights.argmax())
    above = ground + _TALLEST + LABEL_SIZE
    notes = [Caption(float(x[best]), above, f"{weights[best]:.3f}", LABEL_SIZE)]
    if stack is not None:
        left = float(x[0]) - 3 * _BAR_WIDTH
        text = f"stack {stack + 1}"
        notes.append(Caption(left, ground + _TALLEST / 2, text, LABEL_SIZE, align="right"))
    return notes
