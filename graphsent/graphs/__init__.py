"""Trees as DGL graphs: builders, batching, roots, spans, networkx graphs and pictures."""

from __future__ import annotations

from graphsent.graphs.batching import batch, reverse, root_nodes, unbatch
from graphsent.graphs.constituency import constituency_batch, constituency_graph
from graphsent.graphs.convert import to_networkx
from graphsent.graphs.dependency import dependency_batch, dependency_graph
from graphsent.graphs.draw import draw_tree
from graphsent.graphs.fields import (
    BOTTOM_UP,
    CHILD_EDGE,
    CHILD_INDEX,
    DEPTH,
    DIRECTIONS,
    KIND,
    LABEL,
    POSITION,
    SIBLING,
    SIBLING_EDGE,
    SPAN,
    TOKEN,
    TOP_DOWN,
    check_direction,
)
from graphsent.graphs.spans import range_mean, span_mean, word_ranges

__all__ = [
    "BOTTOM_UP",
    "CHILD_EDGE",
    "CHILD_INDEX",
    "DEPTH",
    "DIRECTIONS",
    "KIND",
    "LABEL",
    "POSITION",
    "SIBLING",
    "SIBLING_EDGE",
    "SPAN",
    "TOKEN",
    "TOP_DOWN",
    "batch",
    "check_direction",
    "constituency_batch",
    "constituency_graph",
    "dependency_batch",
    "dependency_graph",
    "draw_tree",
    "range_mean",
    "reverse",
    "root_nodes",
    "span_mean",
    "to_networkx",
    "unbatch",
    "word_ranges",
]
