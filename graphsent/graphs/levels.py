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
    source, target = (part.cpu().numpy() for part in graph.edges())
    loops = source[source == target]
    if len(loops):
        return f"{loops[0]} -> {loops[0]}: dgl.remove_self_loop removes such edges"
    from scipy.sparse import coo_matrix, csgraph  # only for this error

    sizes = graph.num_nodes(), graph.num_nodes()
    edges = coo_matrix((np.ones(len(source)), (source, target)), sizes)
    _, component = csgraph.connected_components(edges, connection="strong")
    inside = component[source] == component[target]  # edges that are part of some cycle
    following = dict(zip(source[inside].tolist(), target[inside].tolist(), strict=True))
    node, visited = min(following), dict[int, int]()
    while node not in visited:
        visited[node] = len(visited)
        node = following[node]
    nodes = list(visited)[visited[node] :]
    shown = [*map(str, nodes[:_SHOWN]), *(["..."] if len(nodes) > _SHOWN else [])]
    return " -> ".join([*shown, str(nodes[0])])
