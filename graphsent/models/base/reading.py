"""What models read: trees, or words in order. Either goes with any head."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from graphsent.errors import ModelError
from graphsent.models.base.model import Model
from graphsent.models.batches.forms import as_sentences, as_trees
from graphsent.models.batches.pairs import as_pairs
from graphsent.models.batches.trees import Context, tree_batch
from graphsent.models.batches.words import SequenceBatch, sequence_batch
from graphsent.models.encoders.tree import TreeEncoder
from graphsent.pairs import TreePair
from graphsent.sentences import Sentence
from graphsent.tokenizers import TOKENIZERS
from graphsent.trees import DependencyTree, Tree, escape

__all__ = ["ReadsTrees", "ReadsWords"]


class ReadsTrees(Model):
    """Base of models that read trees, beside that of their head.

    Attributes:
        encoder: Gives the vectors of the nodes of a graph.
    """

    encoder: TreeEncoder

    def shape_tree(self, tree: Tree | DependencyTree) -> Tree | DependencyTree:
        """The tree as the model reads it: over the same words, with a node for each old span.

        Raises:
            ModelError: The model cannot read the tree.
        """
        return self.encoder.shape_tree(tree)

    def node_states(self, batch: Any) -> torch.Tensor:
        """The vector of each node of the trees, (num_nodes, num_features)."""
        words = self.embedding.of_nodes(batch.graph)
        return batch.unit_states(self.encoder(batch.graph, words, engine=self.engine))

    def _read(self, inputs: Iterable[Any]) -> list[Any]:
        return as_trees(inputs, self.parse_if_able)

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
    """Base of models that need no trees, beside that of their head: of a tree they read the words.

    Attributes:
        encoder: From the rows of words, (num_rows, embedding_dim), the ranges of sequences of
            words, (num_units, 2) int64, and the row of each word, (num_words,) int64 or None where
            they are in order, it gives the vectors of the sequences, (num_units, num_features).
        unsaved_tokenizer: That of a model that was saved without one.
    """

    tree_kind = "words"
    unsaved_tokenizer = "whitespace"  # as before there was a choice
    _tokenizer = "treebank"

    @property
    def tokenizer(self) -> str:
        """How raw text becomes words, one of :data:`graphsent.tokenizers.TOKENIZERS`.

        It is ``"treebank"`` unless set, and saved with the model; models that were saved before
        there was a choice have :attr:`unsaved_tokenizer`.

        Raises:
            ModelError: When set, if there is no such tokenizer.
        """
        return self._tokenizer

    @tokenizer.setter
    def tokenizer(self, tokenizer: str) -> None:
        if tokenizer not in TOKENIZERS:
            valid = ", ".join(TOKENIZERS)
            raise ModelError(f"unknown tokenizer {tokenizer!r}: expected one of {valid}")
        self._tokenizer = tokenizer

    def tokenize(self, text: str) -> list[str]:
        r"""The words of raw text.

        Those of the tokenizer ``"treebank"`` that the model does not know are escaped as in the
        Penn Treebank where it knows them so: ``-LRB-`` for a bracket, ``\/`` for a slash.
        """
        words = TOKENIZERS[self.tokenizer](text)
        if self.tokenizer != "treebank":
            return words
        return [
            escape(word) if not self.vocab[word] and self.vocab[escape(word)] else word
            for word in words
        ]

    def word_vectors(self, tokens: torch.Tensor, context: Context | None = None) -> torch.Tensor:
        """What stands for words, (num_words, embedding_dim).

        Args:
            tokens: (num_words,) int64, vocabulary indices.
            context: That of the same words, see :class:`SequenceBatch`.
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
        return as_sentences(inputs, self.tokenize)

    def _read_pairs(self, inputs: Iterable[Any]) -> list[TreePair]:
        return as_pairs(inputs, tokenize=self.tokenize)

    def _batch(self, sentences: Sequence[Any]) -> SequenceBatch:
        """A sequence for each node of the trees."""
        return sequence_batch(sentences, self.vocab, self.context(sentences))

    @staticmethod
    def _size(sentence: Sentence | Tree | DependencyTree) -> int:
        return len(sentence.words)
