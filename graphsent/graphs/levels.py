"""Node levels of acyclic graphs."""

from __future__ import annotations

import numpy as np
import torch

from graphsent._dgl import dgl
from graphsent.errors import DataError
from graphsent.graphs.kinds import needing_formats
from graphsent.graphs.notes import known_levels


def levels_of(graph: dgl.DGLGraph, *, turn_edges: bool = False) -> np.ndarray:
    """The level of each node, the length of the longest path ending there, (num_nodes,) int64.

    Unless they are cached, DGL computes them in linear time.

    Args:
        graph: A homogeneous graph.
        turn_edges: Whether to use the graph with its edges reversed.

    Raises:
        DataError: The graph has a cycle, or is restricted to some sparse formats.
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
            raise DataError(
                f"expected an acyclic graph, got one with a cycle among its {num_nodes} "
                "nodes: there is no topological order"
            ) from error
    level = np.empty(num_nodes, np.int64)
    sizes = [len(frontier) for frontier in frontiers]
    level[torch.cat(list(frontiers)).numpy()] = np.repeat(np.arange(len(sizes)), sizes)
    return level
