"""What stands for words in a model: a table of vectors, or other inputs in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import nn

from graphsent.contextual import Encoder, WordSpan
from graphsent.errors import ModelError
from graphsent.models.arguments import check_rates, check_sizes
from graphsent.models.batches.trees import Context
from graphsent.models.embeddings.contextual import ContextualFeatures
from graphsent.models.embeddings.inputs import Inputs, WordInputs
from graphsent.models.embeddings.table import WordEmbedding
from graphsent.pairs import TreePair
from graphsent.sentences import Phrase
from graphsent.vocabulary import Vocabulary

__all__ = ["EmbedsWords"]


class EmbedsWords(nn.Module):
    """Base of models: what they compute from of words.

    Args:
        vocab: The words the model knows; others share the vector of ``<unk>``.
        embedding_dim: Length of a word vector.
        embedding_dropout: Probability with which an element of a word vector is dropped.
        sparse_embedding: Whether the gradient of the word table holds only the rows in use.

    Raises:
        ModelError: The length is not positive, or the dropout is no probability.
    """

    name: str
    vocab: Vocabulary
    _inputs: Inputs | None = None

    def __init__(
        self,
        vocab: Vocabulary,
        embedding_dim: int,
        *,
        embedding_dropout: float = 0.0,
        sparse_embedding: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(vocab, Vocabulary):
            raise ModelError(f"expected a Vocabulary as vocab, got {type(vocab).__name__}")
        check_sizes(embedding_dim=embedding_dim)
        check_rates(embedding_dropout=embedding_dropout)
        self.vocab = vocab
        self.embedding: WordEmbedding | WordInputs = WordEmbedding(
            len(vocab), embedding_dim, dropout=embedding_dropout, sparse=sparse_embedding
        )

    def init_embeddings(self, matrix: torch.Tensor | np.ndarray) -> None:
        """Starts from given word vectors.

        Args:
            matrix: (len(vocab), embedding_dim), row i for word i of the vocabulary.

        Raises:
            ModelError: The matrix has another shape.
        """
        self.embedding.init_vectors(matrix)

    @property
    def inputs(self) -> Inputs | None:
        """What stands for words; None for the vectors of a table as they are."""
        return self._inputs

    def set_inputs(self, inputs: Inputs, encoder: Encoder | None = None) -> None:
        """Puts other inputs, with a new word table, in place of the table of word vectors.

        The length that the model reads stays: its argument ``embedding_dim``. They are saved with
        the model.

        Args:
            inputs: What stands for words.
            encoder: That of their contextual features. Without it there are none before
                :meth:`attach_encoder`.

        Raises:
            ModelError: The model has other inputs already, or these do not fit.
        """
        if isinstance(self.embedding, WordInputs):
            raise ModelError(f"this {self.name} has its inputs already: {self._inputs}")
        self.embedding = WordInputs(inputs, self.embedding)
        self._inputs = inputs
        if encoder is not None:
            self.attach_encoder(encoder)

    def attach_encoder(self, encoder: Encoder) -> None:
        """Gives the model the encoder of its contextual features.

        Raises:
            ModelError: It has no contextual features.
        """
        features = self._contextual
        if features is None:
            raise ModelError(f"this {self.name} has no contextual features")
        features.attach(encoder)

    def keep_features(
        self, examples: Iterable[Any], report: Callable[[int], None] | None = None
    ) -> None:
        """Computes the features of a frozen encoder once for all, and keeps them on disk.

        They are in ``features`` of the cache directory, by the SHA-256 of encoder and words.
        Without such an encoder nothing is done; without this call features are computed for each
        batch.

        Args:
            examples: Trees, sentences, or pairs of trees.
            report: Is given how many sentences have been computed.
        """
        if self._contextual is None:
            return
        parts = (each[:2] if isinstance(each, TreePair) else (each,) for each in examples)
        sentences = (self._span(tree).sentence for trees in parts for tree in trees)
        self._contextual.keep(sentences, report)

    def context(self, trees: Iterable[Any]) -> Context | None:
        """What a batch carries for the words of its sentences, in their order.

        The words of a phrase that stands in a sentence are read in that sentence.

        Args:
            trees: The sentences of the batch.

        Returns:
            None where words are looked up by themselves.
        """
        return self.embedding.read(map(self._span, trees))

    @property
    def _contextual(self) -> ContextualFeatures | None:
        return self.embedding.contextual if isinstance(self.embedding, WordInputs) else None

    def _span(self, tree: Any) -> WordSpan:
        if isinstance(tree, Phrase):
            begin, words = tree.begin, tree.sentence
        else:
            begin, words = 0, tree.words
        normal = tuple(map(self.vocab.normal, words))
        return WordSpan(normal, begin, begin + len(tree.words))
