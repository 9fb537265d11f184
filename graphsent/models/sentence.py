"""What models have in common that read the words of a sentence, and no tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from graphsent.errors import ModelError
from graphsent.graphs.symbols import label_indices, token_indices
from graphsent.models.batch import chosen_units
from graphsent.models.classifier import TreeClassifier
from graphsent.models.inputs import as_sentences
from graphsent.sentences import Sentence
from graphsent.tokenizers import TOKENIZERS
from graphsent.trees import DependencyTree, Tree, escape

__all__ = ["SentenceClassifier", "SequenceBatch"]


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


class SentenceClassifier(TreeClassifier):
    """Base of models that classify sentences and phrases by their words.

    They read sentences without a tree. Of a tree they read the words, and which spans of them are
    labelled phrases: these are examples too, each by itself.

    Args:
        *args: Those of :class:`~graphsent.models.TreeClassifier`.
        phrases: Whether labelled phrases are examples; if not, only sentences are.
        **options: Those of :class:`~graphsent.models.TreeClassifier`.
    """

    tree_kind = "words"
    _tokenizer = "treebank"

    def __init__(self, *args: Any, phrases: bool, **options: Any) -> None:
        super().__init__(*args, **options)
        self.phrases = phrases

    @property
    def tokenizer(self) -> str:
        """How raw text becomes words, one of :data:`graphsent.tokenizers.TOKENIZERS`.

        It is ``"treebank"`` unless set, and saved with the model; models that were saved before
        there was a choice have ``"whitespace"``.

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

    def collate(self, trees: Iterable[Any]) -> SequenceBatch:
        """The batch of some sentences, and of their labelled phrases unless ``phrases`` is False.

        Args:
            trees: See :func:`~graphsent.models.inputs.as_sentences`.

        Raises:
            ModelError: Something is no sentence and no tree; or a label is no class.
        """
        batch = super().collate(trees)
        chosen = chosen_units(batch.labels, batch.roots, phrases=self.phrases)
        unit = torch.cumsum(chosen, 0) - 1
        return batch._replace(
            ranges=batch.ranges[chosen], labels=batch.labels[chosen], roots=unit[batch.roots]
        )

    def _read(self, inputs: Iterable[Any]) -> list[Any]:
        return as_sentences(inputs, self.tokenize)

    def _batch(self, trees: Sequence[Sentence | Tree | DependencyTree]) -> SequenceBatch:
        """A sequence for each node of the trees."""
        return sequence_batch(trees, self.vocab)


def sequence_batch(trees: Sequence[Sentence | Tree | DependencyTree], vocab: Any) -> SequenceBatch:
    """A sequence of words for each node of some trees; a sentence without a tree is one node.

    Args:
        trees: Sentences and trees of any kind.
        vocab: ``vocab[word]`` is the index of a word.
    """
    words = [word for tree in trees for word in tree.words]
    labels = [label for tree in trees for label in tree.labels]
    num_words = np.array([len(tree.words) for tree in trees], np.int64)
    num_nodes = np.array([tree.num_nodes for tree in trees], np.int64)
    first_word, first_node = np.cumsum(num_words) - num_words, np.cumsum(num_nodes) - num_nodes
    spans = [tree.spans for tree in trees] or [np.zeros((0, 2), np.int64)]
    ranges = np.concatenate(spans) + np.repeat(first_word, num_nodes)[:, None]
    roots = [
        node if isinstance(tree, Tree) else node + int(np.argmin(tree.depths))
        for tree, node in zip(trees, first_node.tolist(), strict=True)
    ]
    return SequenceBatch(
        torch.from_numpy(token_indices(words, vocab, len(words))),
        torch.from_numpy(ranges),
        torch.from_numpy(label_indices(labels, None, len(labels))),
        torch.tensor(roots, dtype=torch.int64),
    )
