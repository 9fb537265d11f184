"""Batches of sentences and phrases as sequences of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from graphsent.graphs.flat import joined, word_numbers
from graphsent.graphs.symbols import label_indices
from graphsent.models.batches.context import Context
from graphsent.models.batches.units import examples_of
from graphsent.sentences import Sentence
from graphsent.trees import DependencyTree, Tree

__all__ = ["FlatUnits", "SequenceBatch", "flat_units", "sequence_batch"]


class SequenceBatch(NamedTuple):
    """A batch of word sequences to classify.

    Attributes:
        tokens: (num_words,) int64, vocabulary indices of the words of all sentences in order.
        ranges: (num_units, 2) int64, half-open word range of each sequence.
        gold: (num_units,) int64, the class of each sequence, -1 if unlabelled.
        roots: (batch_size,) int64, the unit of each whole sentence.
        context: Contextual features of the words of all sentences in order, or the encoder's input
            for them; None without contextual features.
    """

    tokens: torch.Tensor
    ranges: torch.Tensor
    gold: torch.Tensor
    roots: torch.Tensor
    context: Context | None = None

    def to(self, device: torch.device | str) -> SequenceBatch:
        """The batch on another device."""
        return SequenceBatch(
            self.tokens.to(device),
            self.ranges.to(device),
            self.gold.to(device),
            self.roots.to(device),
            None if self.context is None else self.context.to(device),
        )

    def sentences(self) -> SequenceBatch:
        """The batch with the sentences as its only units."""
        return examples_of(self, phrases=False)

    def of_units(self, chosen: torch.Tensor) -> SequenceBatch:
        """The batch restricted to some of its units, which must include the sentences.

        Args:
            chosen: (num_units,) bool.
        """
        unit = torch.cumsum(chosen, 0) - 1
        return self._replace(
            ranges=self.ranges[chosen], gold=self.gold[chosen], roots=unit[self.roots]
        )


class FlatUnits(NamedTuple):
    """The arrays cached on a tree for the word sequences of its nodes.

    Attributes:
        rows: (4, num_nodes) integers: class or -1, first and last + 1 word, and 1 at the root, else
            0.
    """

    rows: np.ndarray


def sequence_batch(
    trees: Sequence[Sentence | Tree | DependencyTree], vocab: Any, context: Context | None
) -> SequenceBatch:
    """Builds the batch with one word sequence per tree node; a plain sentence is one node.

    Args:
        trees: Sentences and trees of any kind.
        vocab: Maps words to integers, ``vocab[word]``.
        context: Context of the words of all sentences in order.
    """
    numbers, units = word_numbers(trees, vocab), flat_units(trees)
    num_words = np.array([len(part) for part in numbers], np.int64)
    num_units = np.array([part.rows.shape[1] for part in units], np.int64)
    gold, *ranges, is_root = joined([part.rows for part in units], 4)
    first_word = np.repeat(np.cumsum(num_words) - num_words, num_units)
    tokens = np.concatenate([np.zeros(0, np.int64), *numbers], dtype=np.int64)
    return SequenceBatch(
        torch.from_numpy(tokens),
        torch.from_numpy(np.stack(ranges, axis=1) + first_word[:, None]),
        torch.from_numpy(gold),
        torch.from_numpy(np.flatnonzero(is_root)),
        context,
    )


def flat_units(trees: Sequence[Sentence | Tree | DependencyTree]) -> list[FlatUnits]:
    """The arrays of each tree; missing ones are computed and cached on the tree."""
    name = "units"
    found: list[Any] = [tree.derived.get(name) for tree in trees]
    missing = [place for place, units in enumerate(found) if units is None]
    labels = label_indices(
        (label for place in missing for label in trees[place].labels),
        None,
        sum(trees[place].num_nodes for place in missing),
    )
    end = 0
    for place in missing:
        tree = trees[place]
        begin, end = end, end + tree.num_nodes
        rows = np.zeros((4, tree.num_nodes), np.int64)
        rows[0], rows[1:3] = labels[begin:end], tree.spans.T
        rows[3, tree.root] = 1
        found[place] = tree.derived[name] = FlatUnits(rows)
    return found
