"""DGL's own propagation: the engine ``"dgl"``, the reference for all others."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from graphsent._dgl import dgl
from graphsent.graphs.levels import cycle_message
from graphsent.propagation.errors import PropagationError

# DGL warns of this on the first level, whose nodes have no incoming edges by definition.
_NO_EDGES = "The input graph for the user-defined edge function does not contain valid edges"


def prop_nodes_topo_of_dgl(
    graph: dgl.DGLGraph,
    message_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    reverse: bool = False,
    apply_node_func: Callable[..., Any] | None = None,
) -> None:
    """``dgl.prop_nodes_topo`` without its warnings about levels without edges.

    Raises:
        PropagationError: if the graph has a cycle.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", _NO_EDGES)
        try:
            dgl.prop_nodes_topo(graph, message_func, reduce_func, reverse, apply_node_func)
        except dgl.DGLError as error:
            if "loop detected" not in str(error):
                raise
            raise PropagationError(cycle_message(graph.num_nodes())) from error
