"""The plain recursive network."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from graphsent.cells import RecursiveCell
from graphsent.models.arguments import check_sizes
from graphsent.models.batches.shape import to_binary
from graphsent.models.batches.trees import TreeBatch
from graphsent.models.heads.classification import TreeClassifier
from graphsent.trees import DependencyTree, Tree
from graphsent.vocabulary import Vocabulary

__all__ = ["RecNN"]


class RecNN(TreeClassifier):
    r"""Recursive neural network over binary trees that classifies every node (Socher et al. 2013).

    .. math::
        h = \tanh(W x + U_1 h_1 + U_2 h_2 + b), \qquad
        \hat p_t = \mathrm{softmax}(W^{(s)} h_t + b^{(s)})

    with dropout on :math:`h_t`. Kalchbrenner et al. 2014 compare with it: there it is the DCNN
    whose pooling a tree prescribes. Leaves are :math:`\tanh(W x + b)` instead of the word vectors
    themselves, see :class:`~graphsent.cells.RecursiveCell`.

    Args:
        vocab: The words the model knows.
        num_classes: Number of classes.
        embedding_dim: Length of a word vector.
        hidden: Length of h.
        dropout: Dropout on :math:`h_t`.
        embedding_dropout: Dropout on word vectors.
        sparse_embedding: Whether the gradient of the word table holds only the rows in use.
        label_names: Names of the classes; by default their numbers.
    """

    name = "recnn"

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int,
        embedding_dim: int = 48,
        hidden: int = 48,
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
        self.cell = RecursiveCell(embedding_dim, hidden)

    def shape_tree(self, tree: Tree | DependencyTree) -> Tree:
        """A binary tree."""
        return to_binary(tree)

    def node_states(self, batch: TreeBatch) -> torch.Tensor:
        """The h of each node, (num_nodes, hidden)."""
        words = self.embedding.of_nodes(batch.graph)
        return self.cell(batch.graph, words, engine=self.engine)
