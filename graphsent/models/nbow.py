"""The bag-of-words baseline: the structure of the sentence is not looked at."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from graphsent.graphs import SPAN, TOKEN, span_mean
from graphsent.models.batch import TreeBatch
from graphsent.models.classifier import TreeClassifier
from graphsent.vocabulary import Vocabulary

__all__ = ["NBoW"]


class NBoW(TreeClassifier):
    r"""Neural bag of words, a baseline of Kalchbrenner et al. 2014 (ACL).

    .. math::
        h_t = \tanh\Bigl(\sum_{w \in W_t} x_w\Bigr), \qquad
        \hat p_t = \mathrm{softmax}(W^{(s)} h_t + b^{(s)})

    where :math:`W_t` are the words in the span of node :math:`t`. Every phrase of a tree is
    classified, as in a tree model on the same batch. Reads constituency trees of any shape and
    dependency trees.

    Args:
        vocab: The words the model knows.
        num_classes: Number of classes.
        embedding_dim: Length :math:`d` of a word vector (48 in the paper).
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
        )

    def node_states(self, batch: TreeBatch) -> torch.Tensor:
        """The squashed sum of the word vectors below each node, (num_nodes, embedding_dim)."""
        words = self.embedding(batch.graph.ndata[TOKEN])
        begin, end = batch.graph.ndata[SPAN].to(words.device).unbind(1)
        return torch.tanh(span_mean(batch.graph, words) * (end - begin)[:, None])
