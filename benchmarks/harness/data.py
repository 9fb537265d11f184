"""The trees of the benchmarks."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from graphsent._dgl import dgl
from graphsent.errors import DataError, GraphsentError
from graphsent.graphs import constituency_batch
from graphsent.tasks.data_dir import resolve_data_dir
from graphsent.trees import Tree, read_trees
from graphsent.vocabulary import Vocabulary

FILES = ("sst/train.txt", "sentiment/train.txt")
NUM_CLASSES = 5
NODES_A_ROUND = 10_000


class Batch(NamedTuple):
    """Trees, their graph, and a function that builds a new graph."""

    trees: tuple[Tree, ...]
    graph: dgl.DGLGraph
    new_graph: Callable[[], dgl.DGLGraph]


class Corpus:
    """Trees in random order, the same in every run, of which a round has ``trees_a_round``.

    Exits with a message if they cannot be read.
    """

    def __init__(self, data_dir: str | Path | None, trees_a_round: int) -> None:
        self.trees_a_round = trees_a_round
        try:
            directory = resolve_data_dir(data_dir)
            found = [name for name in FILES if (directory / name).is_file()]
            if not found:
                raise DataError(f"no {' or '.join(FILES)} in {directory}")
            self.name = found[0]
            self.path = directory / self.name
            self.trees = read_trees(self.path)
        except GraphsentError as error:
            raise SystemExit(f"error: {error}") from error
        self.vocab = Vocabulary.from_trees(self.trees)
        random.Random(0).shuffle(self.trees)

    def batch(self, trees: Sequence[Tree], direction: str = "bottom_up") -> Batch:
        """A batch of some trees."""
        new_graph = partial(constituency_batch, tuple(trees), direction, self.vocab)
        return Batch(tuple(trees), new_graph(), new_graph)

    def batches(self, size: int, direction: str = "bottom_up") -> list[Batch]:
        """The batches of one round: several if they are small, fewer trees if they are tiny."""
        count = max(1, min(self.trees_a_round // size, self.trees_a_round // 5))
        return self._cut(size, count, direction)

    def of_nodes(self, num_nodes: int) -> list[Batch]:
        """Batches of about ``num_nodes`` nodes, for one round; trees are repeated if necessary."""
        average = sum(tree.num_nodes for tree in self.trees) / len(self.trees)
        return self._cut(max(1, round(num_nodes / average)), max(1, NODES_A_ROUND // num_nodes))

    def _cut(self, size: int, count: int, direction: str = "bottom_up") -> list[Batch]:
        trees = (self.trees * -(-count * size // len(self.trees)))[: count * size]
        return [
            self.batch(trees[first : first + size], direction)
            for first in range(0, len(trees), size)
        ]


def chain(depth: int, word: str) -> Tree:
    """A tree of ``depth`` levels with one node each; the last has the word."""
    labels = [str(level % NUM_CLASSES) for level in range(depth)]
    return Tree(labels, [None] * (depth - 1) + [word], list(range(-1, depth - 1)))


def star(words: Sequence[str]) -> Tree:
    """A root with one leaf per word."""
    labels = [str(number % NUM_CLASSES) for number in range(len(words) + 1)]
    return Tree(labels, [None, *words], [-1] + [0] * len(words))
