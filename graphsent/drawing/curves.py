"""Pictures of learning curves."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from graphsent.drawing.pictures import Parts, finish
from graphsent.drawing.scene import GREY, INK, LABEL_SIZE, PALE, Box, Caption, Line, TextWidth
from graphsent.errors import DataError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_curves"]

# Okabe and Ito's palette, safe for all common types of colour blindness, without the yellow, which
# is hard to see on white.
_INKS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#1a1a1a")
_WIDTH, _HEIGHT = 230.0, 150.0  # of the plotting area of a panel
_GAP = 34.0  # between panels
_DOT = 5.0
_MOST_DOTS = 40  # with more epochs, curves have no markers
_TICKS = 5  # approximate number
_SAME = 1e-12  # relative difference up to which values are the same but for rounding
_LINE = 1.4 * LABEL_SIZE  # line height of the names at the ends of curves


def draw_curves(
    panels: Mapping[str, Mapping[str, Sequence[float]]],
    *,
    title: str | None = None,
    path: str | os.PathLike[str] | None = None,
    dpi: float = 150,
) -> Figure:
    """Draws learning curves over epochs, panels side by side, each curve named at its end.

    Args:
        panels: Title of a panel, such as ``"accuracy"`` -> name of a curve, such as ``"dev"`` ->
            its values in epochs 1, 2, ...; at least one value per curve.
        title: Title above the picture.
        path: File to write, ``.png`` or ``.svg``; an existing file is replaced atomically.
        dpi: Resolution in dots per inch.

    Returns:
        The figure.

    Raises:
        DataError: There are no curves; a curve is empty or has a non-finite value; a panel has more
            curves than there are colours; ``dpi`` is not positive; or ``path`` has another suffix.
        ImportError: matplotlib is not installed.
    """
    if not panels:
        raise DataError("there are no curves to draw")
    for name, curves in panels.items():
        if not 1 <= len(curves) <= len(_INKS):
            raise DataError(f"{name}: expected 1 to {len(_INKS)} curves, got {len(curves)}")
        for each, values in curves.items():
            if not len(values) or not all(map(math.isfinite, values)):  # may be an array
                raise DataError(f"{name}, {each}: expected finite numbers, got {list(values)}")
    return finish(lambda text_width: _compose(panels, text_width), title, None, path, dpi)


def _compose(panels: Mapping[str, Mapping[str, Sequence[float]]], text_width: TextWidth) -> Parts:
    boxes: list[Box] = []
    lines: list[Line] = []
    captions: list[Caption] = []
    left = 0.0
    for name, curves in panels.items():
        values = [value for each in curves.values() for value in each]
        ticks = _ticks(min(values), max(values))
        left += max(text_width(_shown(tick, ticks), LABEL_SIZE) for tick in ticks)
        own_boxes, own_lines, own_captions = _panel(name, curves, ticks, left)
        boxes += own_boxes
        lines += own_lines
        captions += own_captions
        left += _WIDTH + 12 + max(text_width(each, LABEL_SIZE) for each in curves) + _GAP
    return boxes, lines, captions


def _panel(
    name: str, curves: Mapping[str, Sequence[float]], ticks: Sequence[float], left: float
) -> Parts:
    last = max(map(len, curves.values()))
    low, high = ticks[0], ticks[-1]

    def place(epoch: float, value: float) -> tuple[float, float]:
        share = (epoch - 1) / (last - 1) if last > 1 else 0.5
        return left + share * _WIDTH, (value - low) / (high - low) * _HEIGHT

    boxes: list[Box] = []
    lines: list[Line] = []
    captions = [Caption(left + _WIDTH / 2, _HEIGHT + 14, name, LABEL_SIZE + 1, INK, bold=True)]
    for tick in ticks:
        y = place(1, tick)[1]
        lines.append(Line((left, y), (left + _WIDTH, y), PALE, 0.6))
        captions.append(Caption(left - 6, y, _shown(tick, ticks), LABEL_SIZE, GREY, "right"))
    for epoch in _epochs(last):
        captions.append(Caption(place(epoch, low)[0], -12, str(epoch), LABEL_SIZE, GREY))
    captions.append(Caption(left + _WIDTH / 2, -12 - _LINE, "epoch", LABEL_SIZE, GREY))
    ends = []
    for ink, (each, values) in zip(_INKS, curves.items(), strict=False):
        points = [place(epoch, value) for epoch, value in enumerate(values, start=1)]
        lines += [Line(*ends, ink, 1.6) for ends in itertools.pairwise(points)]
        if last <= _MOST_DOTS:
            boxes += [Box(x, y, _DOT, _DOT, "", ink, ink, ink) for x, y in points]
        ends.append((points[-1][1], ink, each))
    for y, ink, each in _apart(ends):
        captions.append(Caption(left + _WIDTH + 8, y, each, LABEL_SIZE, ink, "left"))
    return boxes, lines, captions


def _apart(ends: list[tuple[float, str, str]]) -> list[tuple[float, str, str]]:
    """Curve names at their ends, moved up where they would overlap."""
    placed: list[tuple[float, str, str]] = []
    lowest = -math.inf
    for y, ink, name in sorted(ends):
        y = max(y, lowest)
        placed.append((y, ink, name))
        lowest = y + _LINE
    return placed


def _ticks(low: float, high: float) -> list[float]:
    """Evenly spaced round numbers from at most ``low`` to at least ``high``."""
    room, size = high - low, max(abs(low), abs(high))
    if room <= _SAME * size:
        room = size or 1.0
    power = 10.0 ** math.floor(math.log10(room / _TICKS))
    step = min((factor * power for factor in (1, 2, 5, 10)), key=lambda s: abs(room / s - _TICKS))
    first = math.floor(low / step + 1e-9)
    return [step * tick for tick in range(first, max(first + 1, math.ceil(high / step - 1e-9)) + 1)]


def _shown(tick: float, ticks: Sequence[float]) -> str:
    """The text of a tick, with as many digits as the tick spacing needs."""
    digits = max(0, -math.floor(math.log10(ticks[1] - ticks[0]) + 1e-9))
    return f"{tick:.{digits}f}"


def _epochs(last: int) -> list[int]:
    sizes = (size * 10**power for power in itertools.count() for size in (1, 2, 5))
    step = next(size for size in sizes if last <= 10 * size)
    return sorted({1, *range(step, last + 1, step)})
