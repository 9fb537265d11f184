"""The word inputs of a model: a table of word vectors, or other inputs in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import nn

from graphsent.contextual import Encoder, WordSpan
from graphsent.errors import ModelError
from graphsent.models.arguments import check_rates, check_sizes
from graphsent.models.batches.context import Context
from graphsent.models.embeddings.contextual import ContextualFeatures
from graphsent.models.embeddings.inputs import Inputs, WordInputs
from graphsent.models.embeddings.table import WordEmbedding
from graphsent.pairs import sides
from graphsent.sentences import Phrase
from graphsent.vocabulary import Vocabulary

__all__ = ["EmbedsWords"]


class EmbedsWords(nn.Module):
    """Base class of models: the word inputs.

    Args:
        vocab: The vocabulary; unknown words share the vector of ``<unk>``.
        embedding_dim: Size of the word vectors.
        embedding_dropout: Dropout probability of the word vectors.
        sparse_embedding: Whether the gradient of the word table is sparse, with only the rows in
            use.

    Raises:
        ModelError: The size is not positive, or the dropout rate is not a probability.
    """

    name: str
    vocab: Vocabulary

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
        """Initializes the word vectors.

        Args:
            matrix: (len(vocab), embedding_dim), row i for word i of the vocabulary.

        Raises:
            ModelError: The matrix has the wrong shape.
        """
        self.embedding.init_vectors(matrix)

    @property
    def inputs(self) -> Inputs | None:
        """The word inputs; None for a plain table of word vectors."""
        return self.embedding.inputs if isinstance(self.embedding, WordInputs) else None

    def unknown_words(self, words: Iterable[str]) -> Iterator[str]:
        """The words without a vector of their own; none if all inputs are contextual."""
        if self.inputs is not None and not self.inputs.word_dim:
            return iter(())
        return self.vocab.unknown(words)

    def set_inputs(self, inputs: Inputs, encoder: Encoder | None = None) -> None:
        """Replaces the table of word vectors by other inputs, with a new word table.

        The size that the model reads, its argument ``embedding_dim``, does not change, nor do
        device, precision and mode. The inputs are saved with the model.

        Args:
            inputs: The word inputs.
            encoder: The encoder of their contextual features. Without it, call
                :meth:`attach_encoder` before use.

        Raises:
            ModelError: The inputs were already replaced, or their size does not fit.
        """
        if isinstance(self.embedding, WordInputs):
            raise ModelError(f"this {self.name} has its inputs already: {self.inputs}")
        table = self.embedding
        self.embedding = WordInputs(inputs, table).to(table.weight).train(table.training)
        if encoder is not None:
            self.attach_encoder(encoder)

    def attach_encoder(self, encoder: Encoder) -> None:
        """Attaches the encoder of the model's contextual features.

        Raises:
            ModelError: The model has no contextual features.
        """
        features = self._contextual
        if features is None:
            raise ModelError(f"this {self.name} has no contextual features")
        features.attach(encoder)

    def keep_features(
        self, examples: Iterable[Any], report: Callable[[int], None] | None = None
    ) -> None:
        """Precomputes the features of a frozen encoder and caches them on disk.

        They are stored in ``features`` in the cache directory, by the SHA-256 of encoder and words.
        Without a frozen encoder this does nothing; without this call, features are computed for
        each batch.

        Args:
            examples: Trees, sentences, or pairs of trees.
            report: Called with the number of sentences computed so far.
        """
        if self._contextual is None:
            return
        trees = chain.from_iterable(map(sides, examples))
        sentences = (self._span(tree).sentence for tree in trees)
        self._contextual.keep(sentences, report)

    def context(self, trees: Iterable[Any]) -> Context | None:
        """The context of the words in a batch, in the order of its sentences.

        The words of a phrase are read in the context of its sentence.

        Args:
            trees: The sentences of the batch.

        Returns:
            The context; None for models without contextual features.
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
