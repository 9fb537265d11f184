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
        **options: Those of :class:`~graphsent.models.heads.classification.TreeClassifier`.

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
        **options: Any,
    ) -> None:
        check_sizes(hidden=hidden)
        super().__init__(
            vocab,
            num_classes,
            embedding_dim=embedding_dim,
            num_features=hidden,
            dropout=dropout,
            **options,
        )
        self.encoder = _encoder(cell, leaf, embedding_dim, hidden)


def _encoder(name: str, leaf: str, in_feats: int, hidden: int) -> TreeEncoder:
    if name == "nary":
        return TreeEncoder(NaryTreeLSTM(in_feats, hidden, leaf=leaf), shape=to_binary)
    if name != "childsum":
        hint = nearest(name, ("nary", "childsum"))
        raise ModelError(f"unknown cell {name!r}: expected 'nary' or 'childsum'{hint}")
    if leaf != "gated":
        raise ModelError(f"leaf={leaf!r} is a choice of the cell 'nary' only")
    return TreeEncoder(ChildSumTreeLSTM(in_feats, hidden))
