"""The bag-of-words baseline, which ignores the structure of the sentence."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from graphsent._names import check_choice
from graphsent.errors import ModelError
from graphsent.graphs.spans import range_mean
from graphsent.models.heads.classification import SentenceClassifier
from graphsent.vocabulary import Vocabulary

__all__ = ["NBoW"]

_POOLINGS = ("sum", "mean")


class NBoW(SentenceClassifier):
    r"""Neural bag of words, a baseline of Kalchbrenner et al. 2014 (ACL).

    .. math::
        h_t = \tanh\Bigl(\sum_{w \in W_t} x_w\Bigr), \qquad
        \hat p_t = \mathrm{softmax}(W^{(s)} h_t + b^{(s)})

    where :math:`W_t` are the words of sentence or phrase :math:`t`; h is zero if there are none.
    With ``pooling="mean"``, :math:`h_t = \frac{1}{|W_t|} \sum_{w \in W_t} x_w`, as is usual over a
    contextual encoder. It reads sentences, and trees of any kind, whose labelled phrases are
    training examples too.

    Args:
        vocab: The vocabulary; unknown words share the vector of ``<unk>``.
        num_classes: Number of classes.
        embedding_dim: Size of the word vectors (48 in the paper).
        pooling: ``"sum"``, squashed by tanh as in the paper, or ``"mean"``.
        **options: Options of :class:`~graphsent.models.heads.classification.SentenceClassifier`.

    Raises:
        ModelError: ``pooling`` is neither.
    """

    name = "nbow"

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int,
        embedding_dim: int = 48,
        *,
        pooling: str = "sum",
        **options: Any,
    ) -> None:
        check_choice("pooling", pooling, _POOLINGS, ModelError)
        super().__init__(
            vocab, num_classes, embedding_dim=embedding_dim, num_features=embedding_dim, **options
        )
        self.encoder = _Bag(pooling)


class _Bag(nn.Module):
    """The vector h of each sequence, (num_units, embedding_dim)."""

    def __init__(self, pooling: str) -> None:
        super().__init__()
        self.pooling = pooling

    def forward(self, rows: Tensor, ranges: Tensor, words: Tensor | None = None) -> Tensor:
        rows = rows if words is None else rows.index_select(0, words)
        mean = range_mean(rows, ranges)
        if self.pooling == "mean":
            return mean
        begin, end = ranges.unbind(1)
        return torch.tanh(mean * (end - begin)[:, None])
