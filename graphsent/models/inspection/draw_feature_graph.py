"""Pictures of feature graphs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from graphsent.drawing.pictures import Parts, finish, word_places
from graphsent.drawing.scene import (
    BOX_HEIGHT,
    BOX_PADDING,
    GREY,
    INK,
    LABEL_SIZE,
    PLAIN_EDGE,
    PLAIN_FILL,
    WORD_SIZE,
    Box,
    Caption,
    Line,
    TextWidth,
)
from graphsent.models.inspection.feature_graph import FeatureGraph

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_feature_graph"]

_LEVEL = 78.0  # between layers
_BOX_GAP = 7.0
_THIN, _THICK = 0.3, 4.0


class _Groups(NamedTuple):
    """Groups of nodes of one layer with the same words below them.

    Attributes:
        of_node: (num_nodes,) int64, the group of each node.
        layer: (num_groups,) int64.
        span: (num_groups, 2) int64.
        size: (num_groups,) int64.
    """

    of_node: np.ndarray
    layer: np.ndarray
    span: np.ndarray
    size: np.ndarray


def draw_feature_graph(
    graph: FeatureGraph,
    *,
    title: str | None = None,
    ax: Axes | None = None,
    path: str | os.PathLike[str] | None = None,
    dpi: float = 150,
) -> Figure:
    """Draws the feature graph of a sentence over its words, the root on top.

    Since a layer of the DCNN has hundreds of values, those of a layer with the same words below
    them are one box, labelled with their number and centred over these words. The width of a line
    is the sum of its edges' absolute weights, relative to the largest such sum in the layer. Words
    that no kept value depends on are grey.

    Args:
        graph: The result of :func:`~graphsent.models.feature_graph`, or a part of it.
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
    notes = [
        "number: kept values with the same words below them",
        "width of a line: sum of absolute weights",
    ]
    return finish(lambda width: _compose(graph, width), title, ax, path, dpi, notes)


def _compose(graph: FeatureGraph, text_width: TextWidth) -> Parts:
    places = word_places(graph.words, text_width)
    groups = _grouped(graph)
    boxes = _boxes(graph, groups, places, text_width)
    read = np.isin(np.arange(len(graph.words)), graph.source)
    captions = [
        Caption(x, -0.9 * WORD_SIZE, word, WORD_SIZE, INK if in_use else GREY)
        for x, word, in_use in zip(places, graph.words, read.tolist(), strict=True)
    ]
    shown = [box for box, layer in zip(boxes, groups.layer.tolist(), strict=True) if layer]
    return shown, _lines(graph, groups, boxes), captions


def _grouped(graph: FeatureGraph) -> _Groups:
    keys = np.column_stack((graph.layer, graph.spans()))
    groups, of_node, size = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    return _Groups(of_node.reshape(-1), groups[:, 0], groups[:, 1:], size)


def _boxes(
    graph: FeatureGraph, groups: _Groups, places: list[float], text_width: TextWidth
) -> list[Box]:
    """One box per group; those of words are points on the word line."""
    boxes = []
    for layer, (begin, end), size in zip(
        groups.layer.tolist(), groups.span.tolist(), groups.size.tolist(), strict=True
    ):
        x = (places[begin] + places[end - 1]) / 2 if end else 0.0
        text = graph.label if layer == graph.layer[graph.root] else str(size)
        width = max(BOX_HEIGHT, text_width(text, LABEL_SIZE) + BOX_PADDING)
        box = Box(
            x, layer * _LEVEL, width, BOX_HEIGHT, text, PLAIN_FILL, INK, PLAIN_EDGE, LABEL_SIZE
        )
        boxes.append(box if layer else Box(x, 0, 0, 0, "", PLAIN_FILL, INK, PLAIN_EDGE))
    for layer in range(1, int(graph.layer[graph.root]) + 1):
        members = np.flatnonzero(groups.layer == layer).tolist()
        for place, x in zip(members, _apart([boxes[place] for place in members]), strict=True):
            boxes[place] = boxes[place]._replace(x=x)
    return boxes


def _apart(boxes: list[Box]) -> list[float]:
    """Positions near those of the boxes, in the same order, without overlap."""
    order = sorted(range(len(boxes)), key=lambda number: boxes[number].x)
    x, end = [box.x for box in boxes], -np.inf
    for number in order:
        x[number] = max(x[number], end + boxes[number].width / 2)
        end = x[number] + boxes[number].width / 2 + _BOX_GAP
    shift = float(np.mean([box.x for box in boxes]) - np.mean(x)) if boxes else 0.0
    return [place + shift for place in x]


def _lines(graph: FeatureGraph, groups: _Groups, boxes: list[Box]) -> list[Line]:
    """One line per pair of connected groups."""
    ends = np.column_stack((groups.of_node[graph.source], groups.of_node[graph.target]))
    if not len(ends):
        return []
    pairs, of_edge = np.unique(ends, axis=0, return_inverse=True)
    sums = np.bincount(of_edge.reshape(-1), np.abs(graph.weight))
    layer = groups.layer[pairs[:, 1]]
    greatest = np.zeros(layer.max() + 1)
    np.maximum.at(greatest, layer, sums)
    shares = sums / np.where(greatest[layer] > 0, greatest[layer], 1)
    lines = []
    for (low, high), share in zip(pairs.tolist(), shares.tolist(), strict=True):
        lower, upper = boxes[low], boxes[high]
        start = (lower.x, lower.y + lower.height / 2)
        end = (upper.x, upper.y - upper.height / 2)
        lines.append(Line(start, end, GREY, _THIN + share * (_THICK - _THIN)))
    return lines
