"""The levels of the nodes of any acyclic graph."""

from __future__ import annotations

import numpy as np
import torch

from graphsent._dgl import dgl
from graphsent.errors import DataError
from graphsent.graphs.kinds import needing_formats
from graphsent.graphs.notes import known_levels


def levels_of(graph: dgl.DGLGraph, *, turn_edges: bool = False) -> np.ndarray:
    """The length of the longest path that ends at each node, (num_nodes,) int64.

    If they are not known, DGL finds them in linear time.

    Args:
        graph: a homogeneous graph.
        turn_edges: those of the graph with its edges reversed.

    Raises:
        DataError: There is a cycle, or the graph has some sparse formats alone.
    """
    known = known_levels(graph, turn_edges=turn_edges)
    if known is not None:
        return known
    num_nodes = graph.num_nodes()
    if not num_nodes:
        return np.zeros(0, np.int64)
    with needing_formats(graph):
        try:
            frontiers = dgl.topological_nodes_generator(graph.cpu(), turn_edges)
        except dgl.DGLError as error:
            if "loop detected" not in str(error):
                raise
            raise DataError(cycle_message(num_nodes)) from error
    level = np.empty(num_nodes, np.int64)
    sizes = [len(frontier) for frontier in frontiers]
    level[torch.cat(list(frontiers)).numpy()] = np.repeat(np.arange(len(sizes)), sizes)
    return level


def cycle_message(num_nodes: int) -> str:
    """The message for a graph without topological order."""
    return (
        f"expected an acyclic graph, got one with a cycle among its {num_nodes} "
        "nodes: there is no topological order"
    )
