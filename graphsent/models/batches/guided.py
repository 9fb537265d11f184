"""Batches for models that read trees and the words below each node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from graphsent._dgl import dgl
from graphsent.graphs import LABEL, TOKEN, root_nodes, word_ranges
from graphsent.models.batches.context import Context
from graphsent.models.batches.trees import tree_graph
from graphsent.models.batches.units import examples_of
from graphsent.trees import Tree
from graphsent.vocabulary import Vocabulary

__all__ = ["GuidedBatch", "guided_batch"]


class GuidedBatch(NamedTuple):
    """A batch of trees in which some or all nodes are units to classify.

    Attributes:
        graph: The batched graph of all trees.
        word_of_node: (num_nodes,) int64, the word of each node, -1 for none. Like the graph it
            stays on the CPU.
        tokens: (num_words,) int64, vocabulary indices of the words of all sentences in order.
        nodes: (num_units,) int64, the node of each unit.
        ranges: (num_units, 2) int64, half-open word range of each unit.
        gold: (num_units,) int64, the class of each unit, -1 if unlabelled.
        roots: (batch_size,) int64, the unit of each whole sentence.
    """

    graph: dgl.DGLGraph
    word_of_node: torch.Tensor
    tokens: torch.Tensor
    nodes: torch.Tensor
    ranges: torch.Tensor
    gold: torch.Tensor
    roots: torch.Tensor

    def to(self, device: torch.device | str) -> GuidedBatch:
        """The batch on another device, except for the graph and ``word_of_node``."""
        graph, word_of_node, *tensors = self
        return GuidedBatch(graph, word_of_node, *(tensor.to(device) for tensor in tensors))

    def sentences(self) -> GuidedBatch:
        """The batch with the sentences as its only units."""
        return examples_of(self, phrases=False)

    def of_units(self, chosen: torch.Tensor) -> GuidedBatch:
        """The batch restricted to some of its units, which must include the sentences.

        Args:
            chosen: (num_units,) bool.
        """
        unit = torch.cumsum(chosen, 0) - 1
        return self._replace(
            nodes=self.nodes[chosen],
            ranges=self.ranges[chosen],
            gold=self.gold[chosen],
            roots=unit[self.roots],
        )


def guided_batch(trees: Sequence[Tree], vocab: Vocabulary, context: Context | None) -> GuidedBatch:
    """Builds the batch of trees, with one unit per node and the context of their words."""
    graph = tree_graph(trees, vocab, context=context)
    word_nodes, ranges = word_ranges(graph)
    word_of_node = word_nodes.new_full((graph.num_nodes(),), -1)
    word_of_node[word_nodes] = torch.arange(len(word_nodes), device="cpu")
    return GuidedBatch(
        graph,
        word_of_node,
        tokens=graph.ndata[TOKEN][word_nodes],
        nodes=torch.arange(graph.num_nodes(), device="cpu"),
        ranges=ranges,
        gold=graph.ndata[LABEL],
        roots=root_nodes(graph),
    )
