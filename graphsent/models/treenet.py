"""The TreeNet classifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from graphsent._dgl import dgl
from graphsent.cells import TreeNet
from graphsent.graphs import LABEL, SIBLING, root_nodes
from graphsent.models.arguments import check_sizes
from graphsent.models.batches.shape import without_chains
from graphsent.models.batches.trees import tree_graph
from graphsent.models.heads.classification import TreeClassifier
from graphsent.trees import DependencyTree, Tree
from graphsent.vocabulary import Vocabulary

__all__ = ["SiblingBatch", "TreeNetClassifier"]


class SiblingBatch(NamedTuple):
    """A batch of trees as one sibling graph, in which tokens are nodes of their own.

    Attributes:
        graph: The sibling graph, with the node data of :mod:`graphsent.graphs.fields`.
        nodes: (num_units,) int64, the node of the graph for each node of the trees.
        labels: (num_units,) int64, the class of each node of the trees, -1 where it has none.
        roots: (batch_size,) int64, the unit of each sentence as a whole.
    """

    graph: dgl.DGLGraph
    nodes: torch.Tensor
    labels: torch.Tensor
    roots: torch.Tensor

    def to(self, device: torch.device | str) -> SiblingBatch:
        """The batch with its tensors on another device; the graph stays where it is."""
        return SiblingBatch(self.graph, *(tensor.to(device) for tensor in self[1:]))


class TreeNetClassifier(TreeClassifier):
    r"""TreeNet over trees with any number of children (Cheng et al., IJCAI 2018).

    .. math::
        \hat p_t = \mathrm{softmax}(W h_t + b)

    with :math:`h` of :class:`~graphsent.cells.TreeNet`. In the paper only the root is classified;
    where phrases have labels, their nodes are classified in the same way. Before that every node
    whose only child is a node gives way to that child, so that a node has two children or more, or
    a token (section 4.1 of the paper). At 300 / 100 and two classes there are 150,802 parameters
    without word vectors.

    It reads constituency trees, and dependency trees as the phrases that they stand for (see
    :func:`~graphsent.graphs.dependency_batch`).

    Args:
        vocab: The words the model knows.
        num_classes: Number of classes.
        embedding_dim: Length of a word vector: 300 with pre-trained vectors, 100 without.
        hidden: Length of h and c: 100 and 50.
        dropout: Dropout on :math:`h_t`; the paper has none.
        embedding_dropout: Dropout on word vectors.
        sparse_embedding: Whether the gradient of the word table holds only the rows in use.
        label_names: Names of the classes; by default their numbers.
    """

    name = "treenet"
    training_defaults: Mapping[str, Any] = {"optimizer": "adam", "lr": 0.001, "weight_decay": 0.0}

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int,
        embedding_dim: int = 300,
        hidden: int = 100,
        *,
        dropout: float = 0.0,
        embedding_dropout: float = 0.0,
        sparse_embedding: bool = False,
        label_names: Sequence[str] | None = None,
    ) -> None:
        check_sizes(hidden=hidden)
        super().__init__(
            vocab,
            num_classes,
            embedding_dim=embedding_dim,
            num_features=hidden,
            dropout=dropout,
            embedding_dropout=embedding_dropout,
            sparse_embedding=sparse_embedding,
            label_names=label_names,
        )
        self.cell = TreeNet(embedding_dim, hidden)

    def shape_tree(self, tree: Tree | DependencyTree) -> Tree | DependencyTree:
        """A constituency tree without unary chains; a dependency tree as it is."""
        return without_chains(tree)

    def node_states(self, batch: SiblingBatch) -> torch.Tensor:
        """The cell's h of each node of the trees, (num_units, hidden)."""
        words = self.embedding.of_nodes(batch.graph)
        return self.cell(batch.graph, words, engine=self.engine)[batch.nodes.to(words.device)]

    def _batch(self, trees: Sequence[Tree] | Sequence[DependencyTree]) -> SiblingBatch:
        graph = tree_graph(trees, self.vocab, SIBLING, context=self.context(trees))
        # The nodes of each tree come first among those of its graph, in their own order.
        sizes = np.array([tree.num_nodes for tree in trees], np.int64)
        added = graph.batch_num_nodes().numpy() - sizes
        shift = np.cumsum(added) - added  # nodes added to the trees before
        nodes = torch.from_numpy(np.arange(sizes.sum()) + np.repeat(shift, sizes))
        roots = root_nodes(graph) - torch.from_numpy(shift)
        return SiblingBatch(graph, nodes, graph.ndata[LABEL][nodes], roots)
