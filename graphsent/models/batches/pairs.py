"""Pairs of sentences, as users pass them and as models read them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from graphsent._dgl import dgl
from graphsent.errors import ModelError
from graphsent.graphs import root_nodes
from graphsent.graphs.flat import word_numbers
from graphsent.graphs.symbols import label_indices
from graphsent.models.batches.forms import (
    Parse,
    Tokenize,
    as_sentences,
    as_trees,
    with_texts_parsed,
)
from graphsent.models.batches.trees import tree_graph
from graphsent.models.embeddings.contextual import Context
from graphsent.pairs import TreePair
from graphsent.trees import Tree
from graphsent.vocabulary import Vocabulary

__all__ = ["PairBatch", "WordPairBatch", "as_pairs", "pair_batch", "word_pair_batch"]


class PairBatch(NamedTuple):
    """A batch of pairs of sentences. A unit is a pair.

    Attributes:
        graph: One batched graph of the first sentences of all pairs and then the second ones.
        sentences: (2, batch_size) int64, the root node of each first and each second sentence.
        labels: (batch_size,) float32, the score of each pair, nan where it is not known; or int64,
            its class, -1 where it has none.
        roots: (batch_size,) int64, the unit of each pair: 0, 1, ...
    """

    graph: dgl.DGLGraph
    sentences: torch.Tensor
    labels: torch.Tensor
    roots: torch.Tensor

    def to(self, device: torch.device | str) -> PairBatch:
        """The batch with its tensors on another device; the graph stays where it is."""
        return PairBatch(self.graph, *(tensor.to(device) for tensor in self[1:]))


class WordPairBatch(NamedTuple):
    """A batch of pairs of sentences without trees. A unit is a pair.

    Attributes:
        tokens: (num_words,) int64, vocabulary indices of the words of the first sentences of all
            pairs and then the second ones.
        ranges: (2 * batch_size, 2) int64, first and last + 1 word of each sentence in that order.
        labels: As in :class:`PairBatch`.
        roots: (batch_size,) int64, the unit of each pair: 0, 1, ...
        context: What an encoder knows or reads of the words; None where words are looked up alone.
    """

    tokens: torch.Tensor
    ranges: torch.Tensor
    labels: torch.Tensor
    roots: torch.Tensor
    context: Context | None = None

    def to(self, device: torch.device | str) -> WordPairBatch:
        """The batch on another device."""
        return WordPairBatch(*(part if part is None else part.to(device) for part in self))


def as_pairs(
    inputs: Iterable[Any], parse: Parse | None = None, tokenize: Tokenize | None = None
) -> list[TreePair]:
    """Pairs of trees, or of sentences, in any form that graphsent takes.

    Args:
        inputs: Each a :class:`~graphsent.pairs.TreePair`, or a tuple of two trees and perhaps a
            score and a class; trees as in :func:`~graphsent.models.batches.forms.as_trees`.
        parse: Parses raw text; None if no parser is there.
        tokenize: Divides raw text into words for a model that needs no trees: the sentences of a
            pair are as in :func:`~graphsent.models.batches.forms.as_sentences`. None if trees are
            needed.

    Raises:
        ModelError: One of them is something else, or the kinds of trees are mixed. The number of
            the input, from 1, is named.
    """
    if isinstance(inputs, str | TreePair):
        raise ModelError(f"expected a list of pairs, got one {type(inputs).__name__}: put it in []")
    items = list(inputs)
    for number, item in enumerate(items, start=1):
        if not isinstance(item, tuple) or len(item) not in (2, 3, 4):
            sides = "trees" if tokenize is None else "sentences"
            raise ModelError(
                f"pair {number}: expected a tuple of two {sides} and perhaps a score, got "
                f"{type(item).__name__}"
            )
    if parse is not None:
        sides = iter(with_texts_parsed([side for item in items for side in item[:2]], parse))
        items = [(next(sides), next(sides), *item[2:]) for item in items]
    pairs = []
    for number, item in enumerate(items, start=1):
        try:
            both = as_trees(item[:2]) if tokenize is None else as_sentences(item[:2], tokenize)
        except ModelError as error:
            raise ModelError(f"pair {number}: {error}") from None
        pairs.append(TreePair(*both, *item[2:]))
    if tokenize is None and len({isinstance(pair.first, Tree) for pair in pairs}) > 1:
        raise ModelError("constituency and dependency trees cannot be mixed in one call")
    return pairs


def pair_batch(
    pairs: Sequence[TreePair],
    vocab: Vocabulary,
    goal: str,
    read: Callable[[Sequence[Any]], Context | None] | None = None,
) -> PairBatch:
    """The batch of some pairs.

    Args:
        pairs: The pairs.
        vocab: Numbers the words.
        goal: ``"regression"``, they have scores, or ``"classification"``, classes.
        read: Gives the context of the words of some sentences.
    """
    trees = [pair.first for pair in pairs] + [pair.second for pair in pairs]
    graph = tree_graph(trees, vocab, context=None if read is None else read(trees))
    sentences = root_nodes(graph).view(2, len(pairs))
    return PairBatch(graph, sentences, _labels(pairs, goal), torch.arange(len(pairs)))


def word_pair_batch(
    pairs: Sequence[TreePair],
    vocab: Vocabulary,
    goal: str,
    read: Callable[[Sequence[Any]], Context | None],
) -> WordPairBatch:
    """The batch of some pairs for a model that needs no trees; arguments as above."""
    sentences = [pair.first for pair in pairs] + [pair.second for pair in pairs]
    numbers = word_numbers(sentences, vocab)
    num_words = np.array([len(part) for part in numbers], np.int64)
    ends = np.cumsum(num_words)
    tokens = np.concatenate([np.zeros(0, np.int64), *numbers], dtype=np.int64)
    ranges = np.stack([ends - num_words, ends], axis=1)
    return WordPairBatch(
        torch.from_numpy(tokens),
        torch.from_numpy(ranges),
        _labels(pairs, goal),
        torch.arange(len(pairs)),
        read(sentences),
    )


def _labels(pairs: Sequence[TreePair], goal: str) -> torch.Tensor:
    if goal == "regression":
        scores = [math.nan if pair.score is None else pair.score for pair in pairs]
        return torch.tensor(scores, dtype=torch.float32)
    return torch.from_numpy(label_indices((pair.label for pair in pairs), None, len(pairs)))
