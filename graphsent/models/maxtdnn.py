"""The time-delay network with max pooling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from graphsent.layers import MaxPooling, NarrowConv1d
from graphsent.models.arguments import check_sizes
from graphsent.models.encoders.convolutional import ConvolutionClassifier
from graphsent.models.encoders.filters import Filter, row_filters
from graphsent.models.encoders.padding import groups_by_length, padded
from graphsent.vocabulary import Vocabulary

__all__ = ["MaxTDNN"]


class MaxTDNN(ConvolutionClassifier):
    r"""Max-TDNN (Collobert and Weston 2008), a baseline of Kalchbrenner et al. 2014.

    .. math::
        c_r = \max_t \tanh\Bigl(b_r + \sum_{a=1}^m w_{r,a}\, x_{r,t+a-1}\Bigr), \qquad
        \hat p = \mathrm{softmax}(W c + b)

    with dropout on c, for each element r of the word vectors x a filter of its own, and t over all
    windows of m words of the sentence; zeros follow a shorter one. The vector c of a sentence
    without words is zero.

    Args:
        vocab: The words the model knows.
        num_classes: Number of classes.
        embedding_dim: Length of a word vector.
        width: Width m of the filters.
        phrases: Whether labelled phrases are examples; if not, only sentences are.
        dropout: Dropout on c.
        embedding_dropout: Dropout on word vectors.
        sparse_embedding: Whether the gradient of the word table holds only the rows in use.
        label_names: Names of the classes; by default their numbers.
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
        phrases: bool = True,
        dropout: float = 0.0,
        embedding_dropout: float = 0.0,
        sparse_embedding: bool = False,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(
            vocab,
            num_classes,
            embedding_dim=embedding_dim,
            num_features=embedding_dim,
            dropout=dropout,
            embedding_dropout=embedding_dropout,
            sparse_embedding=sparse_embedding,
            label_names=label_names,
            phrases=phrases,
        )
        check_sizes(width=width)
        self.convolution = NarrowConv1d(
            embedding_dim, embedding_dim, width, rows=embedding_dim, bias=True, activation="tanh"
        )
        self.pooling = MaxPooling()

    def features(self, rows: Tensor, ranges: Tensor, words: Tensor | None = None) -> Tensor:
        """The largest value of each row, (batch, embedding_dim)."""
        rows = rows if words is None else rows.index_select(0, words)
        groups = groups_by_length(ranges[:, 1] - ranges[:, 0])
        found = [self.pooling(*self.convolution(*padded(rows, ranges[each]))) for each in groups]
        return torch.cat(found)[torch.argsort(torch.cat(groups))]

    def first_filters(self) -> list[Filter]:
        """The filter of each row."""
        return row_filters(self.convolution.weight, self.embedding.embedding_dim)
