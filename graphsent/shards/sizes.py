"""Sizes of examples, for batches of examples of similar size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphsent.pairs import TreePair
from graphsent.sentences import Sentence
from graphsent.trees.nbest import ParseList

__all__ = ["depth_of", "size_of"]


def size_of(example: Any) -> int:
    """The number of nodes of a tree, or of words of a sentence; the total of pairs and lists."""
    return _of_example(example, lambda tree: tree.num_nodes, sum)


def depth_of(example: Any) -> int:
    """The number of levels of a tree, or of words of a sentence; the maximum of pairs and lists."""
    return _of_example(example, lambda tree: int(tree.depths.max()) + 1, max)


def _of_example(example: Any, of_tree: Callable[[Any], int], of_several: Callable[..., int]) -> int:
    if isinstance(example, TreePair):
        return of_several(_of_example(side, of_tree, of_several) for side in example[:2])
    if isinstance(example, ParseList):
        return of_several(of_tree(each.tree) for each in example.candidates)
    return len(example.words) if isinstance(example, Sentence) else of_tree(example)
