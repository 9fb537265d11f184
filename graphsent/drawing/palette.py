"""Colours of classes, safe for all common types of colour blindness.

Ordered classes use a diverging scale, orange-red for the lowest, blue for the highest (ColorBrewer
"RdBu"); unordered classes a qualitative one (Paul Tol's "light" scheme). Colour is never the only
cue: nodes also show their class as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graphsent.errors import DataError

_ANCHORS = ("#ca0020", "#f4a582", "#f7f7f7", "#92c5de", "#0571b0")
_UNORDERED = (
    "#ee8866",
    "#77aadd",
    "#eedd88",
    "#44bb99",
    "#ffaabb",
    "#aaaa00",
    "#99ddff",
    "#bbcc33",
    "#dddddd",
)
_NAMES = {
    2: ("negative", "positive"),
    3: ("negative", "neutral", "positive"),
    5: ("very negative", "negative", "neutral", "positive", "very positive"),
}
_DEFAULT_CLASSES = 5
_DARK_TEXT, _LIGHT_TEXT = "#000000", "#ffffff"
_SAME_CONTRAST = 0.18  # relative luminance of a background on which both have equal contrast


class ClassColor(NamedTuple):
    """How one class is shown."""

    name: str  # "" where the class has only a number
    fill: str  # "#rrggbb"
    text: str  # "#rrggbb", readable on fill


def class_colors(
    classes: int | Sequence[str] | None, labels: Sequence[str], *, ordered_classes: bool = True
) -> tuple[ClassColor, ...]:
    """The colours of the classes, lowest first; empty if the labels are not classes.

    Args:
        classes: Names of the classes in order, or their number. None means the five sentiment
            classes if every label is one of ``"0"`` to ``"4"``, and no classes otherwise.
        labels: Labels of all nodes; "" for unlabelled ones.
        ordered_classes: Whether the classes are ordered from low to high. If they are not, colours
            repeat after the ninth.

    Raises:
        DataError: There are fewer than two classes, or a label is not one of them.
    """
    shown = sorted({label for label in labels if label})
    if classes is None:
        if not shown or any(label not in _digits(_DEFAULT_CLASSES) for label in shown):
            return ()
        classes = _DEFAULT_CLASSES
    if isinstance(classes, int | np.integer):
        count = int(classes)
        names = _NAMES.get(count, ("",) * count)
    else:
        count, names = len(classes), tuple(classes)
    if count < 2:
        raise DataError(f"classes: expected at least 2, got {classes!r}")
    for label in shown:
        if label not in _digits(count):
            raise DataError(f"label {label!r} is not a class: expected 0 to {count - 1}")
    if ordered_classes:
        fills = [_interpolate(index / (count - 1)) for index in range(count)]
    else:
        fills = [_UNORDERED[index % len(_UNORDERED)] for index in range(count)]
    return tuple(
        ClassColor(name, fill, _text_on(fill)) for name, fill in zip(names, fills, strict=True)
    )


def _digits(count: int) -> set[str]:
    return {str(index) for index in range(count)}


def _channels(color: str) -> list[int]:
    return [int(color[start : start + 2], 16) for start in (1, 3, 5)]


def _interpolate(place: float) -> str:
    """The colour at ``place`` in [0, 1] on the scale."""
    index, share = divmod(place * (len(_ANCHORS) - 1), 1)
    low = _channels(_ANCHORS[int(index)])
    high = _channels(_ANCHORS[min(int(index) + 1, len(_ANCHORS) - 1)])
    mixed = [round(a + share * (b - a)) for a, b in zip(low, high, strict=True)]
    return "#{:02x}{:02x}{:02x}".format(*mixed)


def _text_on(fill: str) -> str:
    linear = [(channel / 255) ** 2.2 for channel in _channels(fill)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return _DARK_TEXT if luminance > _SAME_CONTRAST else _LIGHT_TEXT
