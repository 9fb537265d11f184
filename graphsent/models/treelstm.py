"""Tree-LSTM classifiers."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from graphsent._names import nearest
from graphsent.cells import ChildSumTreeLSTM, NaryTreeLSTM
from graphsent.errors import ModelError
from graphsent.models.arguments import check_sizes
from graphsent.models.batches.shape import to_binary
from graphsent.models.batches.trees import TreeBatch
from graphsent.models.heads.classification import TreeClassifier
from graphsent.trees import DependencyTree, Tree
from graphsent.vocabulary import Vocabulary

__all__ = ["TreeLSTMClassifier"]


class TreeLSTMClassifier(TreeClassifier):
    r"""A Tree-LSTM over word vectors that classifies every node (Tai et al. 2015, section 4.1).

    .. math::
        h = \mathrm{cell}(x), \qquad \hat p_t = \mathrm{softmax}(W^{(s)} h_t + b^{(s)})

    with dropout on :math:`h_t`. Words enter at the nodes that carry them: at the leaves of
    constituency trees, at every node of dependency trees.

    Args:
        vocab: The words the model knows.
        num_classes: Number of classes.
        embedding_dim: Length of a word vector.
        hidden: Length of h and c.
        cell: ``"nary"``, the binary constituency Tree-LSTM (other trees are binarized first), or
            ``"childsum"``, for trees of any shape, dependency trees among them.
        leaf: How the binary cell treats leaves, see :class:`~graphsent.cells.NaryTreeLSTM`.
        dropout: Dropout on :math:`h_t`.
        embedding_dropout: Dropout on word vectors.
        sparse_embedding: Whether the gradient of the word table holds only the rows in use.
        label_names: Names of the classes; by default their numbers.

    Raises:
        ModelError: There is no such cell, or ``leaf`` is set for a cell without that choice.
    """

    name = "treelstm"

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int,
        embedding_dim: int = 300,
        hidden: int = 150,
        *,
        cell: str = "nary",
        leaf: str = "gated",
        dropout: float = 0.5,
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
        self.cell = _make_cell(cell, leaf, embedding_dim, hidden)

    def shape_tree(self, tree: Tree | DependencyTree) -> Tree | DependencyTree:
        """The tree as it is, for the child-sum cell; a binary tree for the other."""
        return to_binary(tree) if isinstance(self.cell, NaryTreeLSTM) else tree

    def node_states(self, batch: TreeBatch) -> torch.Tensor:
        """The cell's h of each node, (num_nodes, hidden)."""
        words = self.embedding.of_nodes(batch.graph)
        return self.cell(batch.graph, words, engine=self.engine)


def _make_cell(name: str, leaf: str, in_feats: int, hidden: int) -> nn.Module:
    if name == "nary":
        return NaryTreeLSTM(in_feats, hidden, leaf=leaf)
    if name != "childsum":
        hint = nearest(name, ("nary", "childsum"))
        raise ModelError(f"unknown cell {name!r}: expected 'nary' or 'childsum'{hint}")
    if leaf != "gated":
        raise ModelError(f"leaf={leaf!r} is a choice of the cell 'nary' only")
    return ChildSumTreeLSTM(in_feats, hidden)
