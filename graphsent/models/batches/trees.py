"""Batches of trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch

from graphsent._dgl import dgl
from graphsent.graphs import (
    BOTTOM_UP,
    LABEL,
    SIBLING,
    constituency_batch,
    dependency_batch,
    root_nodes,
)
from graphsent.graphs.table import TreeTable
from graphsent.models.batches.context import Context, set_context
from graphsent.propagation.schedule.schedule import schedule_of, to_device
from graphsent.trees import DependencyTree, Tree
from graphsent.vocabulary import Vocabulary

__all__ = [
    "SiblingBatch",
    "TreeBatch",
    "tree_batch",
    "tree_batches",
    "tree_graph",
]


class TreeBatch(NamedTuple):
    """A batch of trees in which every node is a unit to classify.

    Attributes:
        graph: The batched graph of all trees with the node data of :mod:`graphsent.graphs.fields`.
        gold: (num_nodes,) int64, the class of each node, -1 if unlabelled.
        roots: (batch_size,) int64, the node of each whole sentence.
    """

    graph: dgl.DGLGraph
    gold: torch.Tensor
    roots: torch.Tensor

    def to(self, device: torch.device | str) -> TreeBatch:
        """The batch with its tensors on another device.

        The graph is not moved: only its structure and small integers are read, and most DGL
        wheels support no other device than the CPU.
        """
        device = torch.device(device)
        return TreeBatch(self.graph, to_device(self.gold, device), to_device(self.roots, device))

    def sentences(self) -> TreeBatch:
        """The batch itself: the state of a root depends on all nodes of its tree."""
        return self

    def unit_states(self, states: torch.Tensor) -> torch.Tensor:
        """The states of the units among those of the graph's nodes: here all of them."""
        return states


class SiblingBatch(NamedTuple):
    """A batch of trees as one sibling graph, in which tokens are separate nodes.

    Attributes:
        graph: The sibling graph, with the node data of :mod:`graphsent.graphs.fields`.
        nodes: (num_units,) int64, the graph node of each tree node.
        gold: (num_units,) int64, the class of each tree node, -1 if unlabelled.
        roots: (batch_size,) int64, the unit of each whole sentence.
    """

    graph: dgl.DGLGraph
    nodes: torch.Tensor
    gold: torch.Tensor
    roots: torch.Tensor

    def to(self, device: torch.device | str) -> SiblingBatch:
        """The batch with its tensors on another device; the graph is not moved."""
        return SiblingBatch(self.graph, *(tensor.to(device) for tensor in self[1:]))

    def sentences(self) -> SiblingBatch:
        """The batch itself, as in :class:`TreeBatch`."""
        return self

    def unit_states(self, states: torch.Tensor) -> torch.Tensor:
        """The states of the tree nodes among those of the graph's nodes."""
        return states.index_select(0, self.nodes.to(states.device))


def tree_graph(
    trees: Sequence[Tree | DependencyTree],
    vocab: Vocabulary,
    direction: str = BOTTOM_UP,
    *,
    both_ways: bool = False,
    context: Context | None = None,
) -> dgl.DGLGraph:
    """Builds the batched graph of trees of either kind, with its schedule.

    Args:
        trees: The trees, all of one kind.
        vocab: The vocabulary.
        direction: Direction of the edges.
        both_ways: Whether there will also be a pass against the edges.
        context: Context of the words in order.
    """
    of_words = bool(trees) and isinstance(trees[0], DependencyTree)
    build: Callable[..., dgl.DGLGraph] = dependency_batch if of_words else constituency_batch
    graph = _with_schedule(build(trees, direction, vocab), both_ways)
    if context is not None:
        set_context(graph, context)
    return graph


def _with_schedule(graph: dgl.DGLGraph, both_ways: bool) -> dgl.DGLGraph:
    schedule_of(graph)
    if both_ways:
        schedule_of(graph, turn_edges=True)
    return graph


def tree_batch(
    trees: Sequence[Tree | DependencyTree],
    vocab: Vocabulary,
    direction: str,
    *,
    both_ways: bool,
    context: Context | None,
) -> TreeBatch | SiblingBatch:
    """Builds the batch of trees; arguments as in :func:`tree_graph`."""
    graph = tree_graph(trees, vocab, direction, both_ways=both_ways, context=context)
    sizes = np.array([tree.num_nodes for tree in trees], np.int64)
    return _batch_of(graph, sizes, direction)


def tree_batches(
    trees: Sequence[Tree | DependencyTree],
    vocab: Vocabulary,
    direction: str,
    *,
    both_ways: bool,
) -> Callable[[Sequence[int]], TreeBatch | SiblingBatch]:
    """A function from indices of trees to their batch; arguments as in :func:`tree_graph`."""
    table = TreeTable(trees, vocab, direction)
    sizes = np.array([tree.num_nodes for tree in trees], np.int64)

    def batch(numbers: Sequence[int]) -> TreeBatch | SiblingBatch:
        graph = _with_schedule(table.graph(numbers), both_ways)
        return _batch_of(graph, sizes[numbers], direction)

    return batch


def _batch_of(graph: dgl.DGLGraph, sizes: np.ndarray, direction: str) -> TreeBatch | SiblingBatch:
    """The batch of a graph; ``sizes`` are the node counts of the trees themselves."""
    if direction != SIBLING:
        return TreeBatch(graph, graph.ndata[LABEL], root_nodes(graph))
    # The nodes of each tree come first among those of its graph, in their own order.
    added = graph.batch_num_nodes().numpy() - sizes
    shift = np.cumsum(added) - added  # nodes added to the trees before
    nodes = torch.from_numpy(np.arange(sizes.sum()) + np.repeat(shift, sizes))
    roots = root_nodes(graph) - torch.from_numpy(shift)
    return SiblingBatch(graph, nodes, graph.ndata[LABEL][nodes], roots)
