"""The head-lexicalized bidirectional Tree-LSTM classifier and its ablations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from graphsent.cells.initialization import glorot_
from graphsent.layers import Linear
from graphsent.models.arguments import check_sizes
from graphsent.models.batches.trees import TreeBatch
from graphsent.models.encoders.bitreelstm import BiTreeLSTMEncoder
from graphsent.models.heads.classification import TreeClassifier
from graphsent.vocabulary import Vocabulary

__all__ = ["BiTreeLSTMClassifier"]


class BiTreeLSTMClassifier(TreeClassifier):
    r"""Bidirectional Tree-LSTM over head words that classifies every node.

    With :math:`r_t` of :class:`~graphsent.models.encoders.bitreelstm.BiTreeLSTMEncoder` (Teng and
    Zhang 2017):

    .. math::
        s_t &= \mathrm{ReLU}(W_1 r_t + b_1) \\
        \hat p_t &= \mathrm{softmax}(W_2 s_t + b_2)

    The paper's models are

    ==================  ============================================
    BiConTree           the default
    ConTree + Lex       ``directions="up"``
    ConTree             ``directions="up", lexicalized=False``
    Top-down ConTree    ``directions="down"``
    ==================  ============================================

    With sizes 300 / 150 / 128 and five classes, the default has 1,275,023 parameters without word
    vectors.

    Trees are binarized if they are not binary. All weights use Glorot initialization.

    Args:
        vocab: The vocabulary; unknown words share the vector of ``<unk>``.
        num_classes: Number of classes.
        embedding_dim: Size of the word vectors.
        hidden: Size of the hidden state h and the cell state c in each direction.
        readout: Size of the readout layer :math:`s_t`.
        embedding_dropout: Dropout probability of the word vectors; an occurrence of a word has one
            mask, in both directions and in head words.
        **options: Options of the encoder and of
            :class:`~graphsent.models.heads.classification.TreeClassifier`.
    """

    name = "bitreelstm"
    encoder_class = BiTreeLSTMEncoder
    training_defaults: Mapping[str, Any] = {"optimizer": "adam", "lr": 0.001, "weight_decay": 0.0}

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int,
        embedding_dim: int = 300,
        hidden: int = 150,
        readout: int = 128,
        *,
        embedding_dropout: float = 0.5,
        **options: Any,
    ) -> None:
        check_sizes(hidden=hidden, readout=readout)
        of_encoder = self._encoder_options(options)
        super().__init__(
            vocab,
            num_classes,
            embedding_dim=embedding_dim,
            num_features=readout,
            embedding_dropout=embedding_dropout,
            **options,
        )
        self.encoder = BiTreeLSTMEncoder(embedding_dim, hidden, **of_encoder)
        self.readout = Linear(self.encoder.num_features, readout)
        glorot_(self.readout.weight, self.readout.bias)
        glorot_(self.output.weight, self.output.bias)

    def node_states(self, batch: TreeBatch) -> torch.Tensor:
        """:math:`s_t` of each node, (num_nodes, readout)."""
        return torch.relu(self.readout(super().node_states(batch)))
