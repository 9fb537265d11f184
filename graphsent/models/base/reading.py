"""The two kinds of model input, trees and word sequences; each can be combined with any head."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from graphsent._names import check_choice
from graphsent.errors import ModelError
from graphsent.models.base.model import Model
from graphsent.models.batches.context import Context
from graphsent.models.batches.forms import as_sentences, as_trees
from graphsent.models.batches.pairs import as_pairs
from graphsent.models.batches.trees import tree_batch
from graphsent.models.batches.words import SequenceBatch, sequence_batch
from graphsent.models.encoders.tree import TreeEncoder
from graphsent.pairs import TreePair
from graphsent.sentences import Sentence
from graphsent.tokenizers import TOKENIZERS
from graphsent.trees import DependencyTree, Tree, escape

__all__ = ["ReadsTrees", "ReadsWords"]


class ReadsTrees(Model):
    """Mixin of models that read trees.

    Attributes:
        encoder: The module that computes the vectors of the nodes of a graph.
    """

    encoder: TreeEncoder

    def shape_tree(self, tree: Tree | DependencyTree) -> Tree | DependencyTree:
        """Converts a tree to the shape that the model reads, keeping its words and all its spans.

        Raises:
            ModelError: The model cannot read the tree.
        """
        return self.encoder.shape_tree(tree)

    def node_states(self, batch: Any) -> torch.Tensor:
        """The vector of each node of the trees, (num_nodes, num_features)."""
        words = self.embedding.of_nodes(batch.graph)
        return batch.unit_states(self.encoder(batch.graph, words, engine=self.engine))

    def _read(self, inputs: Iterable[Any]) -> list[Any]:
        return as_trees(inputs, self.parse_if_able, self.node_labels)

    def _read_pairs(self, inputs: Iterable[Any]) -> list[TreePair]:
        return as_pairs(inputs, self.parse_if_able)

    def _batch(self, trees: Sequence[Any]) -> Any:
        encoder = self.encoder
        return tree_batch(
            trees,
            self.vocab,
            encoder.direction,
            both_ways=encoder.both_ways,
            context=self.context(trees),
        )

    @staticmethod
    def _size(tree: Tree | DependencyTree) -> int:
        return tree.num_nodes


class ReadsWords(Model):
    """Mixin of models that need no trees: of a tree they read only the words and spans.

    Attributes:
        encoder: The module that computes the vectors of word sequences, (num_units, num_features),
            from word vectors, (num_rows, embedding_dim); the ranges of the sequences, (num_units,
            2) int64; and the row of each word, (num_words,) int64, or None if they are in order.
        unsaved_tokenizer: The tokenizer of models saved without one.
    """

    tree_kind = "words"
    unsaved_tokenizer = "whitespace"  # the only one before there was a choice
    _tokenizer = "treebank"

    @property
    def tokenizer(self) -> str:
        """The tokenizer of raw text, one of :data:`graphsent.tokenizers.TOKENIZERS`.

        The default is ``"treebank"``. It is saved with the model; models saved before there was a
        choice use :attr:`unsaved_tokenizer`.

        Raises:
            ModelError: On assignment, if there is no such tokenizer.
        """
        return self._tokenizer

    @tokenizer.setter
    def tokenizer(self, tokenizer: str) -> None:
        check_choice("tokenizer", tokenizer, TOKENIZERS, ModelError)
        self._tokenizer = tokenizer

    def tokenize(self, text: str) -> list[str]:
        r"""Tokenizes raw text.

        With the tokenizer ``"treebank"``, words that are in the vocabulary only in their Penn
        Treebank escape are escaped: ``-LRB-`` for a bracket, ``\/`` for a slash.
        """
        return self._in_known_form(TOKENIZERS[self.tokenizer](text))

    def as_tokenized(self, example: Any) -> Any:
        """See the base class; the words are those of :meth:`tokenize`."""
        if not isinstance(example, Sentence):
            return super().as_tokenized(example)
        return Sentence(self._in_known_form(example.words), example.label)

    def _in_known_form(self, words: list[str]) -> list[str]:
        if self.tokenizer != "treebank":
            return words
        return [
            escape(word) if not self.vocab[word] and self.vocab[escape(word)] else word
            for word in words
        ]

    def word_vectors(self, tokens: torch.Tensor, context: Context | None = None) -> torch.Tensor:
        """The input vectors of words, (num_words, embedding_dim).

        Args:
            tokens: (num_words,) int64, vocabulary indices.
            context: The context of these words, see :class:`SequenceBatch`.
        """
        return self.embedding(tokens, context)

    def node_states(self, batch: SequenceBatch) -> torch.Tensor:
        """The vector of each sequence of words, (num_units, num_features)."""
        tokens, words = self.embedding.distinct(batch.tokens)
        rows = self.word_vectors(tokens, batch.context)
        if not len(batch.ranges):
            return rows.new_zeros(0, self.num_features)
        return self.encoder(rows, batch.ranges, words)

    def _read(self, inputs: Iterable[Any]) -> list[Any]:
        return as_sentences(inputs, self.tokenize, self.node_labels)

    def _read_pairs(self, inputs: Iterable[Any]) -> list[TreePair]:
        return as_pairs(inputs, tokenize=self.tokenize)

    def _batch(self, sentences: Sequence[Any]) -> SequenceBatch:
        """The batch with one sequence per node of the trees."""
        return sequence_batch(sentences, self.vocab, self.context(sentences))

    @staticmethod
    def _size(sentence: Sentence | Tree | DependencyTree) -> int:
        return len(sentence.words)
