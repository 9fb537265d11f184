"""The elements of a picture: boxes, lines and captions with their positions.

All lengths are in points (1/72 inch); x grows to the right, y upwards. Nothing here needs a
plotting library: text widths come from a function passed by the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

WORD_SIZE, LABEL_SIZE, WEIGHT_SIZE, LEGEND_SIZE, TITLE_SIZE = 11.0, 9.0, 6.5, 9.0, 13.0
INK, GREY, PALE, PLAIN_FILL, PLAIN_EDGE = "#1a1a1a", "#7f7f7f", "#c4c4c4", "#eef1f5", "#9aa5b1"
BOX_HEIGHT = 17.0
BOX_PADDING = 10.0  # beside the text of a box, total of both sides
MARGIN = 8.0  # around a picture

TextWidth = Callable[[str, float], float]
Point = tuple[float, float]


class Box(NamedTuple):
    """A rounded box around an optional text; a circle if width equals height."""

    x: float
    y: float
    width: float
    height: float
    text: str
    fill: str
    ink: str
    outline: str
    size: float = LABEL_SIZE
    frame: float = 0.8  # width of the outline


class Line(NamedTuple):
    """A straight line."""

    start: Point
    end: Point
    ink: str = GREY
    width: float = 1.1
    style: str = "solid"
    arrow: bool = False  # at the end


class Caption(NamedTuple):
    """A text without a box."""

    x: float
    y: float
    text: str
    size: float
    ink: str = INK
    align: str = "center"
    opaque: bool = False  # on a white background
    bold: bool = False


class Scene(NamedTuple):
    """A whole picture."""

    boxes: list[Box]
    lines: list[Line]
    captions: list[Caption]
    left: float
    right: float
    bottom: float
    top: float
