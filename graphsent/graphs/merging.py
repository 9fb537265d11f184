"""Merging of equal subtrees: a graph in which every distinct subtree occurs once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from graphsent._dgl import dgl
from graphsent.errors import DataError
from graphsent.graphs.fields import CHILD_INDEX, KIND, TOKEN
from graphsent.graphs.kinds import graph_problem
from graphsent.graphs.levels import levels_of
from graphsent.graphs.notes import edge_ends, note_edge_ends

_EDGE_FIELDS = (CHILD_INDEX, KIND)


class MergedGraph(NamedTuple):
    """A graph without repeated subtrees, and where the nodes of the original are in it.

    Attributes:
        graph: the graph; its nodes are in the order in which they first come in the other.
        index: (num_nodes,) int64, the node of it that stands for each node of the other.
        first: (graph.num_nodes(),) int64, the first node of the other that each stands for.
    """

    graph: dgl.DGLGraph
    index: torch.Tensor
    first: torch.Tensor


def merge_equal_subtrees(
    graph: dgl.DGLGraph,
    fields: Sequence[str] = (TOKEN,),
    edge_fields: Sequence[str] | None = None,
) -> MergedGraph:
    """Merges nodes that have the same data and the same predecessors.

    Two nodes are one if their data are equal and so are, one by one in the order of their edges,
    their predecessors and the data of these edges. A cell that reads nothing else gives equal
    states to them, so that it has to compute fewer::

        merged = merge_equal_subtrees(graph)
        h = cell(merged.graph, feat[merged.first])[merged.index]

    Gradients are the same, too, as long as no dropout makes equal inputs differ. A batch of
    expressions or programs repeats much; sentences repeat little beyond their words, which cells
    compute once anyway where they get an :class:`~graphsent.cells.IndexedFeat`.

    Args:
        graph: any acyclic graph or batch.
        fields: names of integer node data that tell nodes apart.
        edge_fields: names of integer edge data that tell edges apart; by default ``child_index``
            and ``kind`` where the graph has them.

    Returns:
        The merged graph, which is no batch, with these data, on the device of the graph.

    Raises:
        DataError: There is no field, one is missing or not of integers, there is a cycle, or this
            is no homogeneous graph with all sparse formats.

    Example:
        >>> import torch
        >>> from graphsent import dgl
        >>> graph = dgl.graph(([1, 2, 4, 5], [0, 0, 3, 3]))  # 0 = f(1, 2), 3 = f(4, 5)
        >>> graph.ndata["token"] = torch.tensor([7, 8, 9, 7, 8, 9])
        >>> merged = merge_equal_subtrees(graph)
        >>> merged.graph.num_nodes(), merged.index.tolist(), merged.first.tolist()
        (3, [0, 1, 2, 0, 1, 2], [0, 1, 2])
    """
    problem = graph_problem(graph)
    if problem:
        raise DataError(problem)
    if not fields:
        raise DataError("expected the name of node data that tells nodes apart, got none")
    if edge_fields is None:
        edge_fields = [name for name in _EDGE_FIELDS if name in graph.edata]
    of_nodes = _columns(graph.ndata, fields, "node", graph.num_nodes())
    of_edges = _columns(graph.edata, edge_fields, "edge", graph.num_edges())
    source, target = edge_ends(graph)
    number, first = _numbers(levels_of(graph), source, target, of_nodes, of_edges)
    kept = np.flatnonzero(first[number[target]] == target)
    ends = number[source[kept]], number[target[kept]]
    merged = dgl.graph(
        tuple(map(torch.from_numpy, ends)), num_nodes=len(first), idtype=graph.idtype
    )
    note_edge_ends(merged, *ends)
    merged = merged.to(graph.device)
    index, nodes, edges = (
        torch.from_numpy(part).to(graph.device) for part in (number, first, kept)
    )
    merged.ndata.update({name: graph.ndata[name][nodes] for name in fields})
    merged.edata.update({name: graph.edata[name][edges] for name in edge_fields})
    return MergedGraph(merged, index, nodes)


def _columns(data: dict, names: Sequence[str], kind: str, num_rows: int) -> np.ndarray:
    """Data concatenated, (num_rows, columns) int64."""
    columns = [np.zeros((num_rows, 0), np.int64)]
    for name in names:
        if name not in data:
            raise DataError(f"expected {kind} data {name!r}, got {sorted(data)}")
        values = data[name]
        if values.is_floating_point() or values.is_complex():
            raise DataError(f"expected {kind} data {name!r} of integers, got {values.dtype}")
        columns.append(values.view(num_rows, math.prod(values.shape[1:])).cpu().long().numpy())
    return np.concatenate(columns, 1)


def _numbers(
    level: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    of_nodes: np.ndarray,
    of_edges: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The number of each node, the same for equal ones, and the first node of each number."""
    edges = np.argsort(target, kind="stable")
    degree = np.bincount(target, minlength=len(level))
    begin = np.cumsum(degree) - degree
    # Equal nodes are of one level and have as many predecessors.
    by_kind = np.lexsort((degree, level))
    changes = (np.diff(level[by_kind]) != 0) | (np.diff(degree[by_kind]) != 0)
    number, first, count = np.empty_like(level), [], 0
    for nodes in np.split(by_kind, np.flatnonzero(changes) + 1) if len(level) else ():
        into = edges[begin[nodes][:, None] + np.arange(degree[nodes[0]])]
        parts = (of_nodes[nodes], number[source[into]], of_edges[into].reshape(len(nodes), -1))
        rows = np.concatenate(parts, 1)
        _, places, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        number[nodes] = inverse.reshape(-1) + count
        first.append(nodes[places])
        count += len(places)
    first = np.concatenate([*first, np.zeros(0, np.int64)])
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[number], first[order]
