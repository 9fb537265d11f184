"""The bag-of-words baseline, which ignores the structure of the sentence."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from graphsent.graphs.spans import range_mean
from graphsent.models.heads.classification import SentenceClassifier
from graphsent.vocabulary import Vocabulary

__all__ = ["NBoW"]


class NBoW(SentenceClassifier):
    r"""Neural bag of words, a baseline of Kalchbrenner et al. 2014 (ACL).

    .. math::
        h_t = \tanh\Bigl(\sum_{w \in W_t} x_w\Bigr), \qquad
        \hat p_t = \mathrm{softmax}(W^{(s)} h_t + b^{(s)})

    where :math:`W_t` are the words of sentence or phrase :math:`t`; h is zero if there are none.
    It reads sentences, and trees of any kind, whose labelled phrases are training examples too.

    Args:
        vocab: The vocabulary; unknown words share the vector of ``<unk>``.
        num_classes: Number of classes.
        embedding_dim: Size of the word vectors (48 in the paper).
        **options: Options of :class:`~graphsent.models.heads.classification.SentenceClassifier`.
    """

    name = "nbow"

    def __init__(
        self, vocab: Vocabulary, num_classes: int, embedding_dim: int = 48, **options: Any
    ) -> None:
        super().__init__(
            vocab, num_classes, embedding_dim=embedding_dim, num_features=embedding_dim, **options
        )
        self.encoder = _SquashedSum()


class _SquashedSum(nn.Module):
    """The vector h of each sequence, (num_units, embedding_dim)."""

    def forward(self, rows: Tensor, ranges: Tensor, words: Tensor | None = None) -> Tensor:
        rows = rows if words is None else rows.index_select(0, words)
        begin, end = ranges.unbind(1)
        return torch.tanh(range_mean(rows, ranges) * (end - begin)[:, None])
