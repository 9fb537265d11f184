"""The time-delay neural network with max pooling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from graphsent.layers import MaxPooling, NarrowConv1d
from graphsent.layers.phrase_convolution import groups_by_length, padded
from graphsent.models.arguments import check_sizes
from graphsent.models.encoders.filters import Filter, FilterEncoder, row_filters
from graphsent.models.heads.classification import ConvolutionClassifier
from graphsent.vocabulary import Vocabulary

__all__ = ["MaxTDNN"]


class MaxTDNN(ConvolutionClassifier):
    r"""Max-TDNN (Collobert and Weston 2008), a baseline of Kalchbrenner et al. 2014.

    .. math::
        c_r = \max_t \tanh\Bigl(b_r + \sum_{a=1}^m w_{r,a}\, x_{r,t+a-1}\Bigr), \qquad
        \hat p = \mathrm{softmax}(W c + b)

    with dropout on c, a separate filter for each element r of the word vectors x, and t over all
    windows of m words in the sentence; shorter sentences are padded with zeros. The vector c of a
    sentence without words is zero.

    Args:
        vocab: The vocabulary; unknown words share the vector of ``<unk>``.
        num_classes: Number of classes.
        embedding_dim: Size of the word vectors.
        width: Filter width m, in words.
        **options: Options of :class:`~graphsent.models.heads.classification.SentenceClassifier`.
    """

    name = "maxtdnn"
    training_defaults: Mapping[str, Any] = {
        "batch_size": 50,
        "optimizer": "adagrad",
        "lr": 0.05,
        "embedding_optimizer": "same",
        "embedding_lr": 0.05,
    }
    task_defaults: Mapping[str, Mapping[str, Any]] = {
        "trec": {"embedding_dim": 32},
        "twitter": {"embedding_dim": 60},
    }

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int,
        embedding_dim: int = 48,
        *,
        width: int = 6,
        **options: Any,
    ) -> None:
        check_sizes(width=width)
        super().__init__(
            vocab, num_classes, embedding_dim=embedding_dim, num_features=embedding_dim, **options
        )
        self.encoder = MaxTDNNEncoder(embedding_dim, width)


class MaxTDNNEncoder(FilterEncoder):
    """The vector c of each sentence.

    Args:
        in_feats: Size of the word vectors.
        width: Filter width m, in words.
    """

    def __init__(self, in_feats: int, width: int) -> None:
        super().__init__()
        self.convolution = NarrowConv1d(
            in_feats, in_feats, width, rows=in_feats, bias=True, activation="tanh"
        )
        self.pooling = MaxPooling()

    def forward(self, rows: Tensor, ranges: Tensor, words: Tensor | None = None) -> Tensor:
        """The maximum of each row, (num_sentences, in_feats)."""
        rows = rows if words is None else rows.index_select(0, words)
        groups = groups_by_length(ranges[:, 1] - ranges[:, 0])
        found = [self.pooling(*self.convolution(*padded(rows, ranges[each]))) for each in groups]
        return torch.cat(found)[torch.argsort(torch.cat(groups))]

    def first_filters(self) -> list[Filter]:
        """The filter of each row."""
        return row_filters(self.convolution, self.convolution.in_channels)
