"""The bag-of-words baseline: the structure of the sentence is not looked at."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from graphsent.graphs.spans import range_mean
from graphsent.models.heads.sentence import SentenceClassifier, SequenceBatch
from graphsent.vocabulary import Vocabulary

__all__ = ["NBoW"]


class NBoW(SentenceClassifier):
    r"""Neural bag of words, a baseline of Kalchbrenner et al. 2014 (ACL).

    .. math::
        h_t = \tanh\Bigl(\sum_{w \in W_t} x_w\Bigr), \qquad
        \hat p_t = \mathrm{softmax}(W^{(s)} h_t + b^{(s)})

    where :math:`W_t` are the words of sentence or phrase :math:`t`; h is zero where there are none.
    Reads sentences, and trees of any kind, whose labelled phrases are examples too.

    Args:
        vocab: The words the model knows.
        num_classes: Number of classes.
        embedding_dim: Length :math:`d` of a word vector (48 in the paper).
        phrases: Whether labelled phrases are examples; if not, only sentences are.
        dropout: Dropout on :math:`h_t`.
        embedding_dropout: Dropout on word vectors.
        sparse_embedding: Whether the gradient of the word table holds only the rows in use.
        label_names: Names of the classes; by default their numbers.
    """

    name = "nbow"

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int,
        embedding_dim: int = 48,
        *,
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

    def node_states(self, batch: SequenceBatch) -> torch.Tensor:
        """The squashed sum of the word vectors of each sequence, (num_units, embedding_dim)."""
        words = self.embedding(batch.tokens, batch.context)
        begin, end = batch.ranges.unbind(1)
        return torch.tanh(range_mean(words, batch.ranges) * (end - begin)[:, None])
