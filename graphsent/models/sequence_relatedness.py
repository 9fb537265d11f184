"""Sequential baselines as models of relatedness."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

from graphsent.layers import SequenceEncoder
from graphsent.models.arguments import check_sizes
from graphsent.models.base.words_of_text import WordsOfText
from graphsent.models.batches.forms import as_sentences, as_trees
from graphsent.models.batches.pairs import WordPairBatch, as_pairs, word_pair_batch
from graphsent.models.heads.relatedness import RelatednessModel
from graphsent.models.heads.sentence import sequence_batch
from graphsent.models.sequence import sequence_states
from graphsent.pairs import TreePair
from graphsent.vocabulary import Vocabulary

__all__ = ["SequenceRelatedness"]


class SequenceRelatedness(WordsOfText, RelatednessModel):
    """Relatedness by an LSTM or GRU over the words: the paper's sequential baselines.

    Sentences need no trees; of a tree the words are read. A model that was saved when it was given
    trees, with the parser that they are from, has that parser divide raw text.

    Args:
        vocab: The words the model knows.
        num_classes: The highest score, or the number of classes; see
            :class:`~graphsent.models.heads.relatedness.RelatednessModel`.
        embedding_dim: Length of a word vector.
        hidden: Length of the state of each direction.
        comparison: Length of the hidden layer of the head.
        cell: ``"lstm"`` or ``"gru"``.
        bidirectional: See :class:`~graphsent.layers.SequenceEncoder`.
        dropout: Dropout on the vectors of the sentences.
        embedding_dropout: Dropout on word vectors.
        sparse_embedding: Whether the gradient of the word table holds only the rows in use.
        label_names: Names of the scores or classes.
        goal: ``"regression"`` for scores, or ``"classification"``.

    Raises:
        ModelError: There is no such cell.
    """

    name = "sequence-relatedness"
    unsaved_tokenizer = "treebank"  # that of the trees of SICK

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int = 5,
        embedding_dim: int = 300,
        hidden: int = 150,
        comparison: int = 50,
        *,
        cell: str = "lstm",
        bidirectional: bool = False,
        dropout: float = 0.0,
        embedding_dropout: float = 0.0,
        sparse_embedding: bool = False,
        label_names: Sequence[str] | None = None,
        goal: str = "regression",
    ) -> None:
        check_sizes(hidden=hidden)
        super().__init__(
            vocab,
            num_classes,
            goal=goal,
            embedding_dim=embedding_dim,
            num_features=2 * hidden if bidirectional else hidden,
            comparison=comparison,
            dropout=dropout,
            embedding_dropout=embedding_dropout,
            sparse_embedding=sparse_embedding,
            label_names=label_names,
        )
        self.encoder = SequenceEncoder(
            embedding_dim, hidden, cell=cell, bidirectional=bidirectional
        )

    def pair_states(self, batch: WordPairBatch) -> torch.Tensor:
        """The last state of each sentence, (2 * num_pairs, hidden), or twice that."""
        return sequence_states(self.encoder, self.embedding, batch)

    def _read(self, inputs: Iterable[Any]) -> list[Any]:
        if self.reads_text:
            return as_trees(inputs, self.parse)
        return as_sentences(inputs, self.tokenize)

    def _read_pairs(self, inputs: Iterable[Any]) -> list[TreePair]:
        if self.reads_text:
            return as_pairs(inputs, self.parse)
        return as_pairs(inputs, tokenize=self.tokenize)

    def _batch(self, pairs: Sequence[TreePair]) -> WordPairBatch:
        return word_pair_batch(pairs, self.vocab, self.goal, self.context)

    def _sentence_vectors(self, sentences: Sequence[Any]) -> np.ndarray:
        batch = sequence_batch(sentences, self.vocab)
        batch = batch._replace(ranges=batch.ranges[batch.roots], context=self.context(sentences))
        states = sequence_states(self.encoder, self.embedding, batch.to(self._device))
        return states.float().cpu().numpy()

    @staticmethod
    def _size(sentence: Any) -> int:
        return len(sentence.words)
