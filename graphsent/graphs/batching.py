"""Batch and unbatch graphs, reverse their edges, find their roots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from graphsent._derived import share_notes
from graphsent._dgl import dgl
from graphsent.errors import DataError
from graphsent.graphs import fields
from graphsent.graphs.kinds import graph_problem
from graphsent.graphs.notes import known_levels, note_levels


def batch(graphs: Sequence[dgl.DGLGraph]) -> dgl.DGLGraph:
    """Batches several graphs into one, in order; node ids, edge ids and data are concatenated.

    This is ``dgl.batch``. Child order is preserved, since the edges of each graph keep their order.
    To build a batch from trees, ``constituency_batch`` and ``dependency_batch`` are much faster.

    Raises:
        DataError: The list is empty, or mixes sibling graphs with others.
    """
    graphs = list(graphs)
    if not graphs:
        raise DataError("batch() needs at least one graph, got none")
    if len({fields.KIND in graph.edata for graph in graphs}) > 1:
        raise DataError("batch() got sibling graphs together with graphs of another direction")
    for each in graphs:
        if each.idtype == torch.int32 and each.is_homogeneous:
            _copy_batch_sizes(each, each)
    batched = dgl.batch(graphs)
    levels = [(known_levels(each), known_levels(each, turn_edges=True)) for each in graphs]
    if all(ending is not None for ending, _ in levels):
        note_levels(batched, *map(np.concatenate, zip(*levels, strict=True)))
    return batched


def unbatch(graph: dgl.DGLGraph) -> list[dgl.DGLGraph]:
    """Splits a batched graph into its graphs, in order. This is ``dgl.unbatch``."""
    return dgl.unbatch(graph)


def reverse(graph: dgl.DGLGraph, *, copy_data: bool = True) -> dgl.DGLGraph:
    """Reverses every edge of a graph: ``bottom_up`` becomes ``top_down`` and vice versa.

    Unlike ``dgl.reverse`` it keeps the batch information. Nodes and edges keep their ids, so node
    data, edge data and child order stay valid; the tensors are shared with ``graph``.

    Args:
        graph: Any homogeneous graph.
        copy_data: Whether the result has the node and edge data.

    Raises:
        DataError: The graph is not homogeneous.

    Example:
        >>> reverse(dgl.graph(([1, 2], [0, 0]))).edges()
        (tensor([0, 0]), tensor([1, 2]))
    """
    _check_homogeneous(graph)
    turned = dgl.reverse(graph, copy_ndata=copy_data, copy_edata=copy_data)
    _copy_batch_sizes(graph, turned)
    share_notes(graph, turned)
    return turned


def _copy_batch_sizes(graph: dgl.DGLGraph, other: dgl.DGLGraph) -> None:
    """Copies the batch information, as DGL accepts it.

    Of an int32 version of a graph, the numbers may still be int64, which DGL does not accept.
    """
    other.set_batch_num_nodes(graph.batch_num_nodes().to(graph.idtype))
    other.set_batch_num_edges(graph.batch_num_edges().to(graph.idtype))


def root_nodes(graph: dgl.DGLGraph) -> torch.Tensor:
    """Node ids of the roots, (batch_size,) int64, in the order of the batch.

    Raises:
        DataError: The graph has no ``depth`` in its node data, or is not homogeneous.

    Example:
        >>> from graphsent.graphs import constituency_batch
        >>> root_nodes(constituency_batch(["(3 (2 a) (3 film))", "(4 fine)"]))
        tensor([0, 3])
    """
    return torch.nonzero(node_data(graph, fields.DEPTH) == 0).squeeze(1)


def node_data(graph: dgl.DGLGraph, field: str) -> torch.Tensor:
    """``graph.ndata[field]``, (num_nodes, ...); if it is missing, the error says how to get it.

    Raises:
        DataError: The graph has no such node data, or is not homogeneous.
    """
    _check_homogeneous(graph)
    if field not in graph.ndata:
        raise DataError(
            f"the graph has no node data {field!r}: build it with graphsent.graphs, or set it"
        )
    return graph.ndata[field]


def _check_homogeneous(graph: dgl.DGLGraph) -> None:
    problem = graph_problem(graph)
    if problem:
        raise DataError(problem)
