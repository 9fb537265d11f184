"""The plain recursive network."""

from __future__ import annotations

from typing import Any

from graphsent.cells import RecursiveCell
from graphsent.models.arguments import check_sizes
from graphsent.models.batches.shape import to_binary
from graphsent.models.encoders.tree import TreeEncoder
from graphsent.models.heads.classification import TreeClassifier
from graphsent.vocabulary import Vocabulary

__all__ = ["RecNN"]


class RecNN(TreeClassifier):
    r"""Recursive neural network over binary trees that classifies every node (Socher et al. 2013).

    .. math::
        h = \tanh(W x + U_1 h_1 + U_2 h_2 + b), \qquad
        \hat p_t = \mathrm{softmax}(W^{(s)} h_t + b^{(s)})

    with dropout on :math:`h_t`. It is a baseline of Kalchbrenner et al. 2014, who describe it as a
    DCNN whose pooling is prescribed by a tree. Leaves are :math:`\tanh(W x + b)` instead of the
    word vectors themselves, see :class:`~graphsent.cells.RecursiveCell`.

    Args:
        vocab: The vocabulary; unknown words share the vector of ``<unk>``.
        num_classes: Number of classes.
        embedding_dim: Size of the word vectors.
        hidden: Size of the hidden state h.
        **options: Options of :class:`~graphsent.models.heads.classification.TreeClassifier`.
    """

    name = "recnn"

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int,
        embedding_dim: int = 48,
        hidden: int = 48,
        **options: Any,
    ) -> None:
        check_sizes(hidden=hidden)
        super().__init__(
            vocab,
            num_classes,
            embedding_dim=embedding_dim,
            num_features=hidden,
            **options,
        )
        self.encoder = TreeEncoder(RecursiveCell(embedding_dim, hidden), shape=to_binary)
