"""What the trees of a batch look like to a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from graphsent._dgl import dgl
from graphsent.cells.feats import to_device
from graphsent.graphs import BOTTOM_UP, constituency_batch, dependency_batch
from graphsent.graphs.notes import notes_of
from graphsent.models.embeddings.contextual import Context
from graphsent.propagation.schedule.schedule import schedule_of
from graphsent.trees import DependencyTree, Tree
from graphsent.vocabulary import Vocabulary

__all__ = ["TreeBatch", "chosen_units", "context_of", "is_labelled", "tree_graph"]

_CONTEXT = "context of words"


class TreeBatch(NamedTuple):
    """A batch of trees, in which every node is a unit to classify.

    Attributes:
        graph: One batched graph of all trees with the node data of :mod:`graphsent.graphs.fields`.
        labels: (num_nodes,) int64, the class of each node, -1 where it has none.
        roots: (batch_size,) int64, the node of each sentence as a whole.
    """

    graph: dgl.DGLGraph
    labels: torch.Tensor
    roots: torch.Tensor

    def to(self, device: torch.device | str) -> TreeBatch:
        """The batch with its tensors on another device.

        The graph stays where it is: only its structure and small integers are read, and the DGL
        wheels that most people have know no other device than the CPU.
        """
        device = torch.device(device)
        return TreeBatch(self.graph, to_device(self.labels, device), to_device(self.roots, device))


def is_labelled(labels: torch.Tensor) -> torch.Tensor:
    """Which units have a label: a class other than -1, or a score other than nan."""
    return ~torch.isnan(labels) if labels.is_floating_point() else labels >= 0


def chosen_units(labels: torch.Tensor, roots: torch.Tensor, *, phrases: bool) -> torch.Tensor:
    """Which units of a batch are examples: the sentences, and the labelled phrases if wanted.

    Args:
        labels: (num_units,), see :func:`is_labelled`.
        roots: (batch_size,) int64, the units of the sentences.
        phrases: Whether labelled phrases are examples.

    Returns:
        (num_units,) bool.
    """
    chosen = is_labelled(labels) if phrases else torch.zeros_like(labels, dtype=torch.bool)
    chosen[roots] = True
    return chosen


def tree_graph(
    trees: Sequence[Tree] | Sequence[DependencyTree],
    vocab: Vocabulary,
    direction: str = BOTTOM_UP,
    *,
    both_ways: bool = False,
    context: Context | None = None,
) -> dgl.DGLGraph:
    """One batched graph of trees of either kind, and with it its schedule.

    Args:
        trees: The trees, all of one kind.
        vocab: Numbers the words.
        direction: Of the edges.
        both_ways: Whether there will be a pass against the edges too.
        context: What there is to know of the words in order, see :func:`context_of`.
    """
    of_words = bool(trees) and isinstance(trees[0], DependencyTree)
    build = dependency_batch if of_words else constituency_batch
    graph = build(trees, direction, vocab)
    schedule_of(graph)
    if both_ways:
        schedule_of(graph, turn_edges=True)
    if context is not None:
        notes_of(graph).facts[_CONTEXT] = context
    return graph


def context_of(graph: dgl.DGLGraph) -> Context | None:
    """What a graph of :func:`tree_graph` carries for its words, in the order of the sentences."""
    return notes_of(graph).facts.get(_CONTEXT)
