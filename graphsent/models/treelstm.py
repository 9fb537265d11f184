"""Tree-LSTM classifiers."""

from __future__ import annotations

from typing import Any

from graphsent._names import check_choice
from graphsent.cells import ChildSumTreeLSTM, NaryTreeLSTM
from graphsent.errors import ModelError
from graphsent.models.arguments import check_sizes
from graphsent.models.batches.shape import to_binary
from graphsent.models.encoders.tree import TreeEncoder
from graphsent.models.heads.classification import TreeClassifier
from graphsent.vocabulary import Vocabulary

__all__ = ["TreeLSTMClassifier", "TreeLSTMEncoder"]


class TreeLSTMEncoder(TreeEncoder):
    """Encodes the nodes of trees as the h of a Tree-LSTM over word vectors (Tai et al. 2015).

    Args:
        in_feats: Size of the word vectors.
        hidden: Size of the hidden state h and the cell state c.
        cell: ``"nary"``, the binary constituency Tree-LSTM (non-binary trees are binarized), or
            ``"childsum"``, the child-sum Tree-LSTM, for trees of any shape, including dependency
            trees.
        leaf: Leaves of the binary cell: ``"gated"``, with the gates of inner nodes, or
            ``"affine"``, without input and forget gates, as in the authors' code; see
            :class:`~graphsent.cells.NaryTreeLSTM`.

    Raises:
        ModelError: ``cell`` is unknown, or ``leaf`` is set for the cell ``"childsum"``.
    """

    def __init__(
        self, in_feats: int, hidden: int, *, cell: str = "nary", leaf: str = "gated"
    ) -> None:
        check_choice("cell", cell, ("nary", "childsum"), ModelError)
        if cell == "nary":
            super().__init__(NaryTreeLSTM(in_feats, hidden, leaf=leaf), shape=to_binary)
        elif leaf == "gated":
            super().__init__(ChildSumTreeLSTM(in_feats, hidden))
        else:
            raise ModelError(f"leaf={leaf!r} needs cell='nary', got {cell!r}")


class TreeLSTMClassifier(TreeClassifier):
    r"""A Tree-LSTM over word vectors that classifies every node (Tai et al. 2015, section 4.1).

    .. math::
        h = \mathrm{cell}(x), \qquad \hat p_t = \mathrm{softmax}(W^{(s)} h_t + b^{(s)})

    with dropout on :math:`h_t`. Words enter at the nodes that carry them: at the leaves of
    constituency trees, at every node of dependency trees.

    Args:
        vocab: The vocabulary; unknown words share the vector of ``<unk>``.
        num_classes: Number of classes.
        embedding_dim: Size of the word vectors.
        hidden: Size of the hidden state h and the cell state c.
        dropout: Dropout probability of the node states :math:`h_t`.
        **options: Options of :class:`TreeLSTMEncoder` and of
            :class:`~graphsent.models.heads.classification.TreeClassifier`.
    """

    name = "treelstm"
    encoder_class = TreeLSTMEncoder

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int,
        embedding_dim: int = 300,
        hidden: int = 150,
        *,
        dropout: float = 0.5,
        **options: Any,
    ) -> None:
        check_sizes(hidden=hidden)
        of_encoder = self._encoder_options(options)
        super().__init__(
            vocab,
            num_classes,
            embedding_dim=embedding_dim,
            num_features=hidden,
            dropout=dropout,
            **options,
        )
        self.encoder = TreeLSTMEncoder(embedding_dim, hidden, **of_encoder)
