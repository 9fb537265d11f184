"""Names of the node and edge data of all graphs built here, and of the edge directions.

A graph with ``num_nodes`` nodes and ``num_edges`` edges has the following data, all int64:

=============== =============== ============================================================
node data       shape           meaning
=============== =============== ============================================================
``token``       (num_nodes,)    vocabulary index of the node's word; -1 where it has none,
                                and everywhere when the graph was built without a vocabulary
``label``       (num_nodes,)    class of the node; -1 where it is unlabelled
``position``    (num_nodes,)    index of the node's word in its sentence; -1 without a word
``depth``       (num_nodes,)    distance from the root of the tree; 0 at the root
``span``        (num_nodes, 2)  half-open range of word positions below the node
=============== =============== ============================================================

=============== =============== ============================================================
edge data       shape           meaning
=============== =============== ============================================================
``child_index`` (num_edges,)    index, from the left, of the edge's child among its siblings
``kind``        (num_edges,)    sibling graphs only: ``SIBLING_EDGE`` or ``CHILD_EDGE``
=============== =============== ============================================================

The constants ``TOKEN``, ``LABEL``, ``POSITION``, ``DEPTH``, ``SPAN``, ``CHILD_INDEX`` and ``KIND``
of :mod:`graphsent.graphs` are these names. ``DIRECTIONS`` has the edge directions, ``BOTTOM_UP``,
``TOP_DOWN`` and ``SIBLING``, which :func:`~graphsent.graphs.constituency_graph` describes.
"""

from __future__ import annotations

from graphsent._names import check_choice
from graphsent.errors import DataError

TOKEN = "token"
LABEL = "label"
POSITION = "position"
DEPTH = "depth"
SPAN = "span"
NODE_FIELDS = (TOKEN, LABEL, POSITION, DEPTH, SPAN)

CHILD_INDEX = "child_index"
KIND = "kind"
SIBLING_EDGE = 0
CHILD_EDGE = 1

BOTTOM_UP = "bottom_up"
TOP_DOWN = "top_down"
SIBLING = "sibling"
DIRECTIONS = (BOTTOM_UP, TOP_DOWN, SIBLING)


def check_direction(direction: str) -> None:
    """Raises a DataError that lists the valid directions unless ``direction`` is one of them."""
    check_choice("direction", direction, DIRECTIONS, DataError)
