"""Sequential baselines: the sentence as a row of words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch

from graphsent.graphs import TOKEN, word_ranges
from graphsent.layers import SequenceEncoder
from graphsent.models.classifier import TreeClassifier
from graphsent.trees import DependencyTree, Tree
from graphsent.vocabulary import Vocabulary

__all__ = ["SequenceBatch", "SequenceClassifier"]


class SequenceBatch(NamedTuple):
    """Sequences of words to classify.

    Attributes:
        tokens: (num_words,) int64, vocabulary indices of the words of all sentences in order.
        ranges: (num_units, 2) int64, first and last + 1 word of each sequence.
        labels: (num_units,) int64, the class of each sequence, -1 where it has none.
        roots: (batch_size,) int64, the unit of each sentence as a whole.
    """

    tokens: torch.Tensor
    ranges: torch.Tensor
    labels: torch.Tensor
    roots: torch.Tensor

    def to(self, device: torch.device | str) -> SequenceBatch:
        """The batch on another device."""
        return SequenceBatch(*(tensor.to(device) for tensor in self))


class SequenceClassifier(TreeClassifier):
    r"""LSTM or GRU, of one or both directions, over the words of a sentence or phrase.

    .. math::
        \hat p = \mathrm{softmax}(W h + b)

    with dropout on h, the last state of :class:`~graphsent.layers.SequenceEncoder`. Of a tree only
    the words are read, and which spans of them are phrases: every labelled phrase is an example of
    its own, from a zero state. With torch's two biases a gate an LSTM of 300 / 168 has 315,840
    parameters, as Tai et al. 2015 report, and 845 for five classes.

    Args:
        vocab: The words the model knows.
        num_classes: Number of classes.
        embedding_dim: Length of a word vector.
        hidden: Length of the state of each direction.
        cell: ``"lstm"`` or ``"gru"``.
        bidirectional: Whether there is a second network from right to left; h is then the last
            states of both.
        phrases: Whether labelled phrases are examples; if not, only sentences are.
        dropout: Dropout on h.
        embedding_dropout: Dropout on word vectors.
        sparse_embedding: Whether the gradient of the word table holds only the rows in use.
        label_names: Names of the classes; by default their numbers.

    Raises:
        ModelError: There is no such cell.
    """

    name = "sequence"

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int,
        embedding_dim: int = 300,
        hidden: int = 168,
        *,
        cell: str = "lstm",
        bidirectional: bool = False,
        phrases: bool = True,
        dropout: float = 0.5,
        embedding_dropout: float = 0.0,
        sparse_embedding: bool = False,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(
            vocab,
            num_classes,
            embedding_dim=embedding_dim,
            num_features=2 * hidden if bidirectional else hidden,
            dropout=dropout,
            embedding_dropout=embedding_dropout,
            sparse_embedding=sparse_embedding,
            label_names=label_names,
        )
        self.phrases = phrases
        self.encoder = SequenceEncoder(
            embedding_dim, hidden, cell=cell, bidirectional=bidirectional
        )

    def collate(self, trees: Iterable[Any]) -> SequenceBatch:
        """The sentences of some trees, and their labelled phrases unless ``phrases`` is False.

        Arguments and errors as in :meth:`TreeClassifier.collate`.
        """
        batch = super().collate(trees)
        chosen = batch.labels >= 0 if self.phrases else torch.zeros_like(batch.labels, dtype=bool)
        chosen[batch.roots] = True
        unit = torch.cumsum(chosen, 0) - 1
        return batch._replace(
            ranges=batch.ranges[chosen], labels=batch.labels[chosen], roots=unit[batch.roots]
        )

    def node_states(self, batch: SequenceBatch) -> torch.Tensor:
        """The last state of each sequence, (num_units, hidden), or twice that."""
        words = self.embedding(batch.tokens)
        return self.encoder(words, batch.ranges)

    def _batch(self, trees: Sequence[Tree] | Sequence[DependencyTree]) -> SequenceBatch:
        """A sequence for each node of the trees."""
        batch = super()._batch(trees)
        nodes, ranges = word_ranges(batch.graph)
        tokens = batch.graph.ndata[TOKEN][nodes]
        return SequenceBatch(tokens, ranges, batch.labels, batch.roots)
