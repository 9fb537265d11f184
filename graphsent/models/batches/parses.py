"""Batches of n-best lists of parses."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from graphsent._dgl import dgl
from graphsent.errors import ModelError
from graphsent.models.batches.context import Context
from graphsent.models.batches.trees import tree_graph
from graphsent.trees import ParseList, Tree, bracket_counts
from graphsent.trees.structure import concatenated
from graphsent.vocabulary import Vocabulary

__all__ = ["RerankBatch", "as_lists", "counts_of", "parse_batch", "trees_of"]

_UNKNOWN = 0  # index of labels that do not occur in training


class RerankBatch(NamedTuple):
    """The trees of n-best lists: the candidates of each list, followed by its gold tree.

    Attributes:
        graph: The batched graph of all trees, which are binary.
        inner: (num_inner,) int64, the nodes with children.
        labels: (num_inner,) int64, the label of each inner node.
        children: (num_inner, 2) int64, the labels of its children.
        trees: (num_inner,) int64, the tree of each inner node.
        base: (num_trees,) float32, the parser's score of each tree; -inf for gold trees.
        counts: (num_trees, 3) int64, bracket counts of each tree, see
            :class:`~graphsent.trees.BracketCounts`; zeros without a gold tree.
        candidates: Half-open range of trees of each list, without its gold tree.
        gold: (num_lists,) int64, the gold tree of each list, -1 if there is none.
        roots: (num_lists,) int64, the first candidate of each list.
    """

    graph: dgl.DGLGraph
    inner: torch.Tensor
    labels: torch.Tensor
    children: torch.Tensor
    trees: torch.Tensor
    base: torch.Tensor
    counts: torch.Tensor
    candidates: list[tuple[int, int]]
    gold: torch.Tensor
    roots: torch.Tensor

    def to(self, device: torch.device | str) -> RerankBatch:
        """The batch with its tensors on another device; the graph is not moved."""
        moved: dict[str, Any] = {
            name: value.to(device)
            for name, value in self._asdict().items()
            if isinstance(value, torch.Tensor)
        }
        return self._replace(**moved)


def parse_batch(
    lists: Sequence[ParseList],
    trees: Sequence[Tree],
    vocab: Vocabulary,
    label_index: Mapping[str, int],
    *,
    both_ways: bool,
    context: Context | None,
) -> RerankBatch:
    """Builds the batch of n-best lists.

    Args:
        lists: The lists.
        trees: The binary trees of all lists, each list in the order of :func:`trees_of`.
        vocab: The vocabulary.
        label_index: Maps node labels to integers from 1; unknown labels become 0.
        both_ways: Whether there will also be a pass against the edges.
        context: Context of the words of all trees in order.
    """
    sizes = [len(each.candidates) for each in lists]
    steps = [size + (each.gold is not None) for size, each in zip(sizes, lists, strict=True)]
    first = np.cumsum([0, *steps])[:-1].tolist()
    ends = [begin + size for begin, size in zip(first, sizes, strict=True)]
    golds = [-1 if each.gold is None else end for end, each in zip(ends, lists, strict=True)]
    counts = [row for each in lists for row in counts_of(each)]
    return RerankBatch(
        tree_graph(trees, vocab, both_ways=both_ways, context=context),
        *_inner_nodes(trees, label_index),
        torch.tensor([score for each in lists for score in _base_scores(each)], device="cpu"),
        torch.tensor(counts, dtype=torch.int64, device="cpu").view(-1, 3),
        [*zip(first, ends, strict=True)],
        torch.tensor(golds, dtype=torch.int64, device="cpu"),
        torch.tensor(first, dtype=torch.int64, device="cpu"),
    )


def _inner_nodes(
    trees: Sequence[Tree], label_index: Mapping[str, int]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """The fields ``inner`` to ``trees`` of a batch of binary trees."""
    parents, tree, _ = concatenated([tree.parents for tree in trees])
    numbers = [label_index.get(x, _UNKNOWN) for tree in trees for x in tree.labels]
    labels = np.array(numbers, np.int64)
    below = np.flatnonzero(parents >= 0)
    below = below[np.argsort(parents[below], kind="stable")]
    children = below.reshape(-1, 2)  # siblings, from left to right
    inner = parents[children[:, 0]]
    return (
        torch.from_numpy(inner),
        torch.from_numpy(labels[inner]),
        torch.from_numpy(labels[children]),
        torch.from_numpy(tree[inner]),
    )


def as_lists(lists: Iterable[ParseList]) -> list[ParseList]:
    """Checks that the inputs are n-best lists with scored candidates, and returns them as a list.

    Raises:
        ModelError: An input is not such a list.
    """
    lists = list(lists)
    for number, each in enumerate(lists, start=1):
        if not isinstance(each, ParseList) or not each.candidates:
            raise ModelError(
                f"list {number}: expected a ParseList with candidates, got {each!r:.80}"
            )
        for place, candidate in enumerate(each.candidates, start=1):
            if not math.isfinite(candidate.score):  # infinity marks gold trees
                raise ModelError(
                    f"list {number}, candidate {place}: expected a finite score, got "
                    f"{candidate.score}"
                )
    return lists


def trees_of(parses: ParseList) -> list[Tree]:
    """The candidates of a list, followed by its gold tree if there is one."""
    trees = [each.tree for each in parses.candidates]
    return trees if parses.gold is None else [*trees, parses.gold]


def _base_scores(parses: ParseList) -> list[float]:
    scores = [each.score for each in parses.candidates]
    return scores if parses.gold is None else [*scores, -np.inf]


def counts_of(parses: ParseList) -> Sequence[tuple[int, int, int]]:
    """The :class:`~graphsent.trees.BracketCounts` of these trees, cached on the gold tree."""
    gold = parses.gold
    if gold is None:
        return [(0, 0, 0)] * len(parses.candidates)
    derived = gold.derived
    if "bracket counts" not in derived or derived["bracket counts"][0] is not parses.candidates:
        counts = [bracket_counts(tree, gold) for tree in trees_of(parses)]
        derived["bracket counts"] = parses.candidates, counts
    return derived["bracket counts"][1]
