"""Tree-LSTM classifiers."""

from __future__ import annotations

from typing import Any

from graphsent._names import nearest
from graphsent.cells import ChildSumTreeLSTM, NaryTreeLSTM
from graphsent.errors import ModelError
from graphsent.models.arguments import check_sizes
from graphsent.models.batches.shape import to_binary
from graphsent.models.encoders.tree import TreeEncoder
from graphsent.models.heads.classification import TreeClassifier
from graphsent.vocabulary import Vocabulary

__all__ = ["TreeLSTMClassifier", "TreeLSTMEncoder"]


class TreeLSTMEncoder(TreeEncoder):
    """The h of each node in a Tree-LSTM over word vectors (Tai et al. 2015).

    Args:
        in_feats: Length of a word vector.
        hidden: Length of h and c.
        cell: ``"nary"``, the binary constituency Tree-LSTM (other trees are binarized first), or
            ``"childsum"``, for trees of any shape, dependency trees among them.
        leaf: How the binary cell treats leaves, see :class:`~graphsent.cells.NaryTreeLSTM`.

    Raises:
        ModelError: There is no such cell, or ``leaf`` is set for a cell without that choice.
    """

    def __init__(
        self, in_feats: int, hidden: int, *, cell: str = "nary", leaf: str = "gated"
    ) -> None:
        if cell not in ("nary", "childsum"):
            hint = nearest(cell, ("nary", "childsum"))
            raise ModelError(f"unknown cell {cell!r}: expected 'nary' or 'childsum'{hint}")
        if cell == "nary":
            super().__init__(NaryTreeLSTM(in_feats, hidden, leaf=leaf), shape=to_binary)
        elif leaf == "gated":
            super().__init__(ChildSumTreeLSTM(in_feats, hidden))
        else:
            raise ModelError(f"leaf={leaf!r} is a choice of the cell 'nary' only")


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
        dropout: Dropout on :math:`h_t`.
        **options: Those of :class:`TreeLSTMEncoder` and of
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
