"""Pairs of sentences: conversion of user inputs, and batches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, SupportsFloat

import torch

from graphsent.errors import ModelError
from graphsent.graphs.symbols import label_indices
from graphsent.models.batches.forms import (
    Parse,
    Tokenize,
    as_sentences,
    as_trees,
    check_several,
    with_texts_parsed,
)
from graphsent.models.batches.trees import SiblingBatch, TreeBatch
from graphsent.models.batches.words import SequenceBatch
from graphsent.pairs import TreePair
from graphsent.trees import Tree

__all__ = ["PairBatch", "as_pairs", "gold_of_pairs"]


class PairBatch(NamedTuple):
    """A batch of sentence pairs; each pair is a unit.

    Attributes:
        sentences: The first sentences of all pairs, followed by the second sentences.
        gold: (batch_size,) float32, the score of each pair, NaN if unknown; or int64, its class,
            -1 if unlabelled.
        roots: (batch_size,) int64, the unit of each pair: 0, 1, ...
    """

    sentences: TreeBatch | SiblingBatch | SequenceBatch
    gold: torch.Tensor
    roots: torch.Tensor

    def to(self, device: torch.device | str) -> PairBatch:
        """The batch on another device; a graph in it is not moved."""
        sentences, gold, roots = self
        return PairBatch(sentences.to(device), gold.to(device), roots.to(device))


def as_pairs(
    inputs: Iterable[Any],
    parse: Parse | None = None,
    tokenize: Tokenize | None = None,
) -> list[TreePair]:
    """Converts inputs in any supported form to pairs of trees or sentences.

    Args:
        inputs: Each a :class:`~graphsent.pairs.TreePair`, or a tuple or list of two trees and
            optionally a score and a class; trees as in
            :func:`~graphsent.models.batches.forms.as_trees`.
        parse: Parses raw text; None if there is no parser.
        tokenize: Splits raw text into words for models that need no trees; sentences are then as in
            :func:`~graphsent.models.batches.forms.as_sentences`. None if trees are needed.

    Raises:
        ModelError: An input has another type, or the kinds of trees are mixed. The message gives
            the number of the input, from 1.
    """
    check_several(inputs, "pairs")
    items = list(inputs)
    for number, item in enumerate(items, start=1):
        problem = _problem(item, "trees" if tokenize is None else "sentences")
        if problem:
            raise ModelError(f"pair {number}: {problem}")
    if parse is not None:
        both = [side for item in items for side in item[:2]]
        sides = iter(with_texts_parsed(both, parse))
        items = [(next(sides), next(sides), *item[2:]) for item in items]
    pairs = []
    for number, item in enumerate(items, start=1):
        try:
            if tokenize is None:
                read: Sequence[Any] = as_trees(item[:2])
            else:
                read = as_sentences(item[:2], tokenize)
        except ModelError as error:
            raise ModelError(f"pair {number}: {error}") from None
        pairs.append(TreePair(read[0], read[1], *item[2:]))
    if tokenize is None and len({isinstance(pair.first, Tree) for pair in pairs}) > 1:
        raise ModelError("constituency and dependency trees cannot be mixed in one call")
    return pairs


def _problem(item: Any, what: str) -> str | None:
    """What is wrong with an input that is to be a pair; None if nothing is."""
    is_sequence = isinstance(item, tuple) or type(item) is list  # an nltk.Tree is a list
    if not is_sequence or len(item) not in (2, 3, 4):
        found = f"{type(item).__name__} of {len(item)}" if is_sequence else type(item).__name__
        return f"expected a tuple of two {what} and optionally a score, got {found}"
    _, _, score, label = TreePair(*item)
    if score is not None and not isinstance(score, SupportsFloat):
        return f"expected two {what} and optionally a score, got {score!r:.40} as the score"
    if not isinstance(label, str):
        return f"expected the number of a class as a string, got {label!r:.40}"
    return None


def gold_of_pairs(pairs: Sequence[TreePair], goal: str) -> torch.Tensor:
    """The ``gold`` of a :class:`PairBatch`: scores for ``"regression"``, else classes."""
    if goal == "regression":
        scores = [math.nan if pair.score is None else pair.score for pair in pairs]
        return torch.tensor(scores, dtype=torch.float32, device="cpu")
    return torch.from_numpy(label_indices((pair.label for pair in pairs), None, len(pairs)))
