"""DGL's own propagation: the engine ``"dgl"``, the reference for all others."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from graphsent._dgl import dgl

# DGL warns of this on the first level, whose nodes have no incoming edges by definition.
_NO_EDGES = "The input graph for the user-defined edge function does not contain valid edges"


def prop_nodes_topo_of_dgl(
    graph: dgl.DGLGraph,
    message_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    reverse: bool = False,
    apply_node_func: Callable[..., Any] | None = None,
) -> None:
    """``dgl.prop_nodes_topo`` without its warnings about levels without edges."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", _NO_EDGES)
        dgl.prop_nodes_topo(graph, message_func, reduce_func, reverse, apply_node_func)
