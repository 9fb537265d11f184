"""Node levels of acyclic graphs."""

from __future__ import annotations

import numpy as np
import torch

from graphsent._dgl import dgl
from graphsent.errors import DataError
from graphsent.graphs.kinds import needing_formats
from graphsent.graphs.notes import known_levels

_SHOWN = 5  # nodes of a cycle in an error


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
                f"expected an acyclic graph, got one with a cycle among its {num_nodes} nodes, "
                f"{_cycle_in(graph)}"
            ) from error
    level = np.empty(num_nodes, np.int64)
    sizes = [len(frontier) for frontier in frontiers]
    level[torch.cat(list(frontiers)).numpy()] = np.repeat(np.arange(len(sizes)), sizes)
    return level


def _cycle_in(graph: dgl.DGLGraph) -> str:
    """Describes a cycle of a graph that has one: a self-loop if there is one."""
    edges = torch.stack(graph.edges(), 1)
    loops = edges[edges[:, 0] == edges[:, 1], 0]
    if len(loops):
        return f"{int(loops[0])} -> {int(loops[0])}: dgl.remove_self_loop removes such edges"
    import networkx as nx  # only for this error

    nodes = [source for source, _ in nx.find_cycle(nx.DiGraph(edges.tolist()))]
    shown = [*map(str, nodes[:_SHOWN]), *(["..."] if len(nodes) > _SHOWN else [])]
    return " -> ".join([*shown, str(nodes[0])])
