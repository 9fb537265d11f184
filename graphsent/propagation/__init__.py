"""Computes the states of the nodes of a graph in topological order.

Every node is updated after all of its predecessors: the nodes without incoming edges first, then
level by level. The graph may be any directed acyclic graph, so a batch of trees works as well as
one tree. Cells run by their recurrence, in compiled code where that is possible;
:func:`prop_nodes_topo` runs message, reduce and apply functions of any kind. ``docs/engine.md``
describes both.
"""

from graphsent.kernels.library import kernels_in_use
from graphsent.propagation.engines import ENGINES, resolve_engine
from graphsent.propagation.errors import PropagationError
from graphsent.propagation.topological.prop_nodes_topo import prop_nodes_topo

__all__ = [
    "ENGINES",
    "PropagationError",
    "kernels_in_use",
    "prop_nodes_topo",
    "resolve_engine",
]
