"""Propagation of node data in topological order."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from graphsent._dgl import dgl
from graphsent.propagation.errors import PropagationError

# DGL says this on the first level, whose nodes have no incoming edges by definition.
_NO_EDGES = "The input graph for the user-defined edge function does not contain valid edges"


def prop_nodes_topo(
    graph: dgl.DGLGraph,
    message_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    reverse: bool = False,
    apply_node_func: Callable[..., Any] | None = None,
) -> None:
    """Updates the node data of ``graph`` in place, every node after all of its predecessors.

    It takes the place of ``dgl.prop_nodes_topo``: same arguments, same results. On nodes without
    incoming edges only ``apply_node_func`` runs.

    Args:
        graph: a homogeneous acyclic graph.
        message_func: DGL message function, built-in or user-defined.
        reduce_func: DGL reduce function, built-in or user-defined.
        reverse: take the levels in the order of the reversed graph. Messages still follow the
            edges as they are, as in DGL; to send them the other way, reverse the graph.
        apply_node_func: user-defined function of the nodes of a level, after ``reduce_func``.

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
            raise PropagationError(
                f"expected an acyclic graph, got one with a cycle among its {graph.num_nodes()} "
                "nodes: there is no topological order"
            ) from error
