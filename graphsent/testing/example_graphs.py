"""Small graphs on which cells are checked."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from graphsent._dgl import dgl


def example_graphs(max_children: int | None = None) -> dict[str, dgl.DGLGraph]:
    """Example graphs by name, with edges from child to parent and edge data ``child_index``.

    One node, a chain, a star, a binary tree, and an acyclic graph with shared successors.

    Args:
        max_children: Largest number of children of a node; None for any number.
    """
    most = 12 if max_children is None else max_children
    diamond: list[list[int]] = [[], [], [0, 1], [1, 0], [2, 3], [4, 2, 0]]
    children: dict[str, list[list[int]]] = {
        "one node": [[]],
        "chain": [[1], [2], [3], [4], []],
        "star": [list(range(1, most + 1)), *([] for _ in range(most))],
        "tree": [[1, 2], [3, 4], [5, 6], [], [], [], []],
        "shared successors": [each[:most] for each in diamond],
    }
    if most < 2:
        del children["tree"]
    return {name: _graph(each) for name, each in children.items()}


def renumbered(
    graph: dgl.DGLGraph, new_ids: torch.Tensor, edge_order: torch.Tensor
) -> dgl.DGLGraph:
    """The same graph with renumbered nodes and reordered edges.

    Args:
        graph: The graph, whose node and edge data are kept.
        new_ids: New ID of each node, (num_nodes,) int64.
        edge_order: Old ID of each new edge, (num_edges,) int64.
    """
    sources, targets = (new_ids[ends[edge_order].long()] for ends in graph.edges())
    found = dgl.graph((sources, targets), num_nodes=graph.num_nodes())
    found.edata.update({name: values[edge_order] for name, values in graph.edata.items()})
    old_ids = new_ids.argsort()
    found.ndata.update({name: values[old_ids] for name, values in graph.ndata.items()})
    return found


def _graph(children: Sequence[Sequence[int]]) -> dgl.DGLGraph:
    edges = [
        (child, node, slot)
        for node, below in enumerate(children)
        for slot, child in enumerate(below)
    ]
    sources, targets, slots = torch.tensor(edges, dtype=torch.int64).view(-1, 3).unbind(1)
    graph = dgl.graph((sources, targets), num_nodes=len(children))
    graph.edata["child_index"] = slots
    return graph
