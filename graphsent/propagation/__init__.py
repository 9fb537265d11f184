"""Runs message, reduce and apply functions over a graph in topological order.

Every node is updated after all of its predecessors: the nodes without incoming edges first, then
level by level. The graph may be any directed acyclic graph, so a batch of trees works as well as
one tree.
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
