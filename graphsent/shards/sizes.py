"""Sizes of examples, for batches of examples of similar size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphsent.pairs import TreePair
from graphsent.sentences import Sentence

__all__ = ["depth_of", "size_of"]


def size_of(example: Any) -> int:
    """The number of nodes of a tree, or of words of a sentence; for pairs, the total."""
    return _of_example(example, lambda tree: tree.num_nodes, sum)


def depth_of(example: Any) -> int:
    """The number of levels of a tree, or of words of a sentence; for pairs, the maximum."""
    return _of_example(example, lambda tree: int(tree.depths.max()) + 1, max)


def _of_example(example: Any, of_tree: Callable[[Any], int], of_pair: Callable[..., int]) -> int:
    if isinstance(example, TreePair):
        return of_pair(_of_example(side, of_tree, of_pair) for side in example[:2])
    return len(example.words) if isinstance(example, Sentence) else of_tree(example)
