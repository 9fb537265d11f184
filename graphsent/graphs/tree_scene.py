"""The layout of a tree, or of a graph over it, as boxes, lines and captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphsent.drawing.palette import ClassColor
from graphsent.drawing.pictures import Parts
from graphsent.drawing.scene import (
    BOX_HEIGHT,
    BOX_PADDING,
    GREY,
    INK,
    LABEL_SIZE,
    LEGEND_SIZE,
    PALE,
    PLAIN_EDGE,
    PLAIN_FILL,
    WEIGHT_SIZE,
    WORD_SIZE,
    Box,
    Caption,
    Line,
    TextWidth,
)
from graphsent.graphs import fields
from graphsent.graphs.layout import Layout, tree_layout

if TYPE_CHECKING:
    import networkx

SIBLING_INK = "#6a3d9a"
_DOT = 6.0
_TO_LEGEND = 32.0  # from the line of words
_MOST_NAMED = 9  # with more classes, the legend names only those in the picture
_WRONG_FRAME = 2.0
_THIN, _THICK = 0.6, 4.5  # widths of the lines with the smallest and the largest weight
_WEIGHT_PLACE = 0.3  # position of the number, as a fraction of the way from child to parent


def tree_parts(
    digraph: networkx.DiGraph,
    colors: Sequence[ClassColor],
    text_width: TextWidth,
    *,
    arrows: bool,
    show_weights: bool,
    legend: bool,
) -> Parts:
    """Composes the picture of a tree in the format of ``to_networkx``.

    Edges may have the attribute ``weight``; nodes ``probability``, and ``gold`` where it differs
    from their label.
    """
    keys: list[Box] = []
    names: list[Caption] = []
    legend_width = 0.0
    if legend and colors:
        keys, names, legend_width = _legend(_explained(digraph, colors), colors, text_width)
    nodes = [data for _, data in digraph.nodes(data=True)]
    with_word = (data for data in nodes if data["position"] is not None)
    words = [data["word"] for data in sorted(with_word, key=lambda data: data["position"])]
    is_token = _on_word_line(digraph)
    boxes = [
        _token_box(data["word"], text_width) if token else _node_box(data, colors, text_width)
        for token, data in zip(is_token.tolist(), nodes, strict=True)
    ]
    layout = tree_layout(
        parents=_or_minus_one([data["parent"] for data in nodes]),
        depths=np.array([data["depth"] for data in nodes]),
        positions=_or_minus_one([data["position"] for data in nodes]),
        spans=np.array([data["span"] for data in nodes]),
        box_widths=np.array([box.width for box in boxes]),
        word_widths=np.array([text_width(word, WORD_SIZE) for word in words]),
        on_word_line=is_token,
        least_width=legend_width,
    )
    places = zip(boxes, layout.x.tolist(), layout.y.tolist(), strict=True)
    boxes = [box._replace(x=x, y=y) for box, x, y in places]
    lines, captions = _edges(digraph, boxes, arrows, show_weights)
    if not is_token.any():
        lines = _leaders(digraph, boxes, layout) + lines
        captions += [
            Caption(x, layout.word_y, word, WORD_SIZE)
            for x, word in zip(layout.word_x.tolist(), words, strict=True)
        ]
    shift = (layout.width - legend_width) / 2
    y = layout.word_y - _TO_LEGEND
    boxes += [key._replace(x=key.x + shift, y=y) for key in keys]
    captions += [name._replace(x=name.x + shift, y=y) for name in names]
    return boxes, lines, captions


def _on_word_line(digraph: networkx.DiGraph) -> np.ndarray:
    """Mask of the nodes that stand on the word line: the token nodes of a sibling graph."""
    has_kinds = any(fields.KIND in data for _, _, data in digraph.edges(data=True))
    positions = [data["position"] for _, data in digraph.nodes(data=True)]
    return np.array([has_kinds and position is not None for position in positions])


def _or_minus_one(values: list[int | None]) -> np.ndarray:
    return np.array([-1 if value is None else value for value in values])


def _node_box(data: Mapping[str, Any], colors: Sequence[ClassColor], text_width: TextWidth) -> Box:
    label = data["label"]
    parts = [data.get("relation"), label]
    if "gold" in data:
        parts.append(f"≠ {data['gold']}")
    if "probability" in data:
        parts.append(f"{data['probability']:.2f}")
    text = " ".join(filter(None, parts))
    if not text:
        return Box(0, 0, _DOT, _DOT, "", PLAIN_EDGE, INK, PLAIN_EDGE)
    width = max(BOX_HEIGHT, text_width(text, LABEL_SIZE) + BOX_PADDING)
    if len(text) == 1:
        width = BOX_HEIGHT
    fill, ink, outline = PLAIN_FILL, INK, PLAIN_EDGE
    if colors and label:
        fill, ink, outline = colors[int(label)].fill, colors[int(label)].text, GREY
    box = Box(0, 0, width, BOX_HEIGHT, text, fill, ink, outline)
    return box._replace(outline=INK, frame=_WRONG_FRAME) if "gold" in data else box


def _token_box(word: str, text_width: TextWidth) -> Box:
    height = BOX_HEIGHT + 3
    width = max(height, text_width(word, WORD_SIZE) + BOX_PADDING)
    return Box(0, 0, width, height, word, "#ffffff", INK, PALE, WORD_SIZE)


def _leaders(digraph: networkx.DiGraph, boxes: Sequence[Box], layout: Layout) -> list[Line]:
    """Dotted lines from the nodes to their words."""
    above_word = layout.word_y + 0.8 * WORD_SIZE
    return [
        Line((box.x, box.y - box.height / 2), (box.x, above_word), PALE, 1.0, "dotted")
        for box, (_, data) in zip(boxes, digraph.nodes(data=True), strict=True)
        if data["position"] is not None
    ]


def _edges(
    digraph: networkx.DiGraph, boxes: Sequence[Box], arrows: bool, show_weights: bool
) -> tuple[list[Line], list[Caption]]:
    lines, numbers = [], []
    weights = [abs(data["weight"]) for _, _, data in digraph.edges(data=True) if "weight" in data]
    greatest = max(weights, default=0.0)
    for source, target, data in digraph.edges(data=True):
        lower, upper = sorted((source, target), key=lambda node: -digraph.nodes[node]["depth"])
        if data.get(fields.KIND) == fields.SIBLING_EDGE:
            line = _beside(boxes[source], boxes[target])
        else:
            line = _upward(boxes[lower], boxes[upper])
            if lower == target:
                line = line._replace(start=line.end, end=line.start)
        line = line._replace(arrow=arrows)
        if "weight" in data:
            share = abs(data["weight"]) / greatest if greatest else 0.0
            style = "dashed" if data["weight"] < 0 else line.style
            line = line._replace(width=_THIN + share * (_THICK - _THIN), style=style)
            if show_weights:
                numbers.append(_number(line, lower == source, data["weight"]))
        lines.append(line)
    return lines, numbers


def _beside(left: Box, right: Box) -> Line:
    """The line from one sibling to the next, in either direction."""
    sign = 1 if left.x < right.x else -1
    start = (left.x + sign * left.width / 2, left.y)
    return Line(start, (right.x - sign * right.width / 2, right.y), SIBLING_INK, 1.1, "dashed")


def _upward(child: Box, parent: Box) -> Line:
    """The line from the top of the child to the border of the parent's box."""
    top = (child.x, child.y + child.height / 2)
    dx, dy = top[0] - parent.x, top[1] - parent.y
    if parent.width == parent.height:
        share = parent.width / 2 / float(np.hypot(dx, dy))
    else:
        share = min(parent.height / 2 / -dy, parent.width / 2 / abs(dx) if dx else np.inf)
    return Line(top, (parent.x + share * dx, parent.y + share * dy))


def _number(line: Line, starts_at_child: bool, weight: float) -> Caption:
    low, high = (line.start, line.end) if starts_at_child else (line.end, line.start)
    x = low[0] + _WEIGHT_PLACE * (high[0] - low[0])
    y = low[1] + _WEIGHT_PLACE * (high[1] - low[1])
    return Caption(x, y, f"{weight:.2f}", WEIGHT_SIZE, INK, opaque=True)


def _explained(digraph: networkx.DiGraph, colors: Sequence[ClassColor]) -> list[int]:
    """The classes in the legend: all, or if there are many, those in the picture."""
    if len(colors) <= _MOST_NAMED:
        return list(range(len(colors)))
    shown = {data.get(name) for _, data in digraph.nodes(data=True) for name in ("label", "gold")}
    return [index for index in range(len(colors)) if str(index) in shown]


def _legend(
    classes: Sequence[int], colors: Sequence[ClassColor], text_width: TextWidth
) -> tuple[list[Box], list[Caption], float]:
    """A row of boxes with class names, starting at x = 0, and its width."""
    boxes, captions, x = [], [], 0.0
    for index in classes:
        color = colors[index]
        box = _node_box({"label": str(index)}, colors, text_width)
        boxes.append(box._replace(x=x + box.width / 2))
        x += box.width + 4
        captions.append(Caption(x, 0, color.name, LEGEND_SIZE, align="left"))
        x += text_width(color.name, LEGEND_SIZE) + 14
    return boxes, captions, x - 14
