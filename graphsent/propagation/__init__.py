"""Propagation: the states of the nodes of a directed acyclic graph, in topological order.

The nodes without incoming edges come first, then level by level all nodes whose predecessors are
done. Cells run by their recurrence, in compiled code where possible; :func:`prop_nodes_topo` runs
arbitrary message, reduce and apply functions. ``docs/engine.md`` describes both.
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
