"""Many trees in one piece, for batches of any of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from graphsent._dgl import dgl
from graphsent.graphs import constituency, dependency
from graphsent.graphs.flat import FlatTrees, MakeForest, at_nodes, flat_graph, flat_trees
from graphsent.graphs.symbols import SymbolIndex, token_indices
from graphsent.trees import DependencyTree, Tree

_PIECE = 1024  # trees whose arrays are made at once


class TreeTable:
    """The nodes and edges of many trees, all of one kind, of which batches are taken by number.

    Equal to ``constituency_batch`` or ``dependency_batch`` of the same trees. Their arrays are kept
    with each tree, and a batch of trees from all over a corpus waits for memory at every one of
    them; here those of a tree are one row after the other.

    Args:
        trees: The trees.
        vocab: Numbers the words.
        direction: Of the edges.
    """

    def __init__(
        self, trees: Sequence[Tree | DependencyTree], vocab: SymbolIndex, direction: str
    ) -> None:
        of_words = bool(trees) and isinstance(trees[0], DependencyTree)
        make = dependency.make_forest if of_words else constituency.make_forest
        firsts = range(0, max(1, len(trees)), _PIECE)
        pieces = [_encoded(trees[i : i + _PIECE], vocab, direction, make) for i in firsts]
        nodes, edges, num_nodes, num_edges = zip(*pieces, strict=True)
        self._direction = direction
        self._nodes = _Columns(nodes, num_nodes)
        self._edges = _Columns(edges, num_edges)

    def graph(self, numbers: Sequence[int]) -> dgl.DGLGraph:
        """The batched graph of the trees of some numbers, in their order."""
        nodes, num_nodes = self._nodes.of(numbers)
        edges, num_edges = self._edges.of(numbers)
        flat = FlatTrees(nodes[:-1], edges, num_nodes, num_edges)
        return flat_graph(flat, nodes[-1], self._direction)


class _Columns:
    """Columns that are rows in memory, those of one tree after those of another."""

    def __init__(self, pieces: Sequence[np.ndarray], sizes: Sequence[np.ndarray]) -> None:
        self._rows = np.concatenate(pieces)
        self._sizes = np.concatenate(sizes)
        self._firsts = np.cumsum(self._sizes) - self._sizes

    def of(self, numbers: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """The columns of some trees, (num_columns, num_rows) int64, and how many each has."""
        sizes = self._sizes[numbers]
        rows = np.repeat(self._firsts[numbers] - (np.cumsum(sizes) - sizes), sizes)
        rows += np.arange(len(rows))
        return np.ascontiguousarray(self._rows.take(rows, axis=0).T, dtype=np.int64), sizes


def _encoded(
    trees: Sequence[Tree | DependencyTree],
    vocab: SymbolIndex,
    direction: str,
    make_forest: MakeForest,
) -> tuple[np.ndarray, ...]:
    """Nodes with their words, (num_nodes, 8), edges, (num_edges, 4), and the numbers of both."""
    flat = flat_trees(trees, make_forest, direction)
    words = chain.from_iterable(tree.words for tree in trees)
    count = sum(len(tree.words) for tree in trees)
    token = at_nodes([token_indices(words, vocab, count)], flat)
    columns = np.vstack((flat.nodes, token)), flat.edges
    return (*(_narrow(each.T) for each in columns), flat.num_nodes, flat.num_edges)


def _narrow(rows: np.ndarray) -> np.ndarray:
    """The rows one after the other in memory, in half of it where numbers are not huge."""
    fits = rows.max(initial=0) <= np.iinfo(np.int32).max  # and none is below -1
    return np.ascontiguousarray(rows, np.int32 if fits else np.int64)
