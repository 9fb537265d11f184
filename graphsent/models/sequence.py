"""Sequential baselines: the sentence as a row of words."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from graphsent.layers import SequenceEncoder
from graphsent.models.arguments import check_sizes
from graphsent.models.batches.pairs import WordPairBatch
from graphsent.models.embeddings.table import WordEmbedding
from graphsent.models.heads.sentence import SentenceClassifier, SequenceBatch
from graphsent.vocabulary import Vocabulary

__all__ = ["SequenceBatch", "SequenceClassifier", "sequence_states"]


class SequenceClassifier(SentenceClassifier):
    r"""LSTM or GRU, of one or both directions, over the words of a sentence or phrase.

    .. math::
        \hat p = \mathrm{softmax}(W h + b)

    with dropout on h, the last state of :class:`~graphsent.layers.SequenceEncoder`, zero for a
    sentence without words. Of a tree only the words are read, and which spans of them are phrases:
    every labelled phrase is an example of its own, from a zero state. With torch's two biases a
    gate an LSTM of 300 / 168 has 315,840 parameters, as Tai et al. 2015 report, and 845 for five
    classes.

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
        check_sizes(hidden=hidden)
        super().__init__(
            vocab,
            num_classes,
            embedding_dim=embedding_dim,
            num_features=2 * hidden if bidirectional else hidden,
            dropout=dropout,
            embedding_dropout=embedding_dropout,
            sparse_embedding=sparse_embedding,
            label_names=label_names,
            phrases=phrases,
        )
        self.encoder = SequenceEncoder(
            embedding_dim, hidden, cell=cell, bidirectional=bidirectional
        )

    def node_states(self, batch: SequenceBatch) -> torch.Tensor:
        """The last state of each sequence, (num_units, hidden), or twice that."""
        return sequence_states(self.encoder, self.embedding, batch)


def sequence_states(
    encoder: SequenceEncoder,
    embedding: WordEmbedding,
    batch: SequenceBatch | WordPairBatch,
) -> torch.Tensor:
    """The last state of each sequence of words of a batch, (num_sequences, features)."""
    if not batch.tokens.is_cpu:
        return encoder(embedding(batch.tokens, batch.context), batch.ranges)
    words = embedding.indexed(batch.tokens, batch.context)
    return encoder(words.rows, batch.ranges, words.index)
