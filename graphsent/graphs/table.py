"""The arrays of many trees in contiguous memory, for fast batches of any of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from graphsent._dgl import dgl
from graphsent.graphs.flat import FlatTrees, at_nodes, flat_graph, flat_trees
from graphsent.graphs.symbols import SymbolIndex, token_indices
from graphsent.trees import DependencyTree, Tree

_PIECE = 1024  # number of trees whose arrays are computed at once


class TreeTable:
    """The nodes and edges of many trees of one kind, from which batches are taken by index.

    Batches equal ``constituency_batch`` or ``dependency_batch`` of the same trees. Those functions
    read the arrays cached on each tree, so a batch of trees from all over a corpus incurs cache
    misses at every tree; here the arrays of a tree are contiguous rows.

    Args:
        trees: The trees.
        vocab: Maps words to integers.
        direction: Direction of the edges.
    """

    def __init__(
        self, trees: Sequence[Tree | DependencyTree], vocab: SymbolIndex, direction: str
    ) -> None:
        firsts = range(0, max(1, len(trees)), _PIECE)
        pieces = [_encoded(trees[i : i + _PIECE], vocab, direction) for i in firsts]
        nodes, edges, num_nodes, num_edges = zip(*pieces, strict=True)
        self._direction = direction
        self._nodes = _Columns(nodes, num_nodes)
        self._edges = _Columns(edges, num_edges)

    def graph(self, numbers: Sequence[int]) -> dgl.DGLGraph:
        """The batched graph of the trees with these indices, in their order."""
        nodes, num_nodes = self._nodes.of(numbers)
        edges, num_edges = self._edges.of(numbers)
        flat = FlatTrees(nodes[:-1], edges, num_nodes, num_edges)
        return flat_graph(flat, nodes[-1], self._direction)


class _Columns:
    """Columns stored as rows, tree by tree."""

    def __init__(self, pieces: Sequence[np.ndarray], sizes: Sequence[np.ndarray]) -> None:
        self._rows = np.concatenate(pieces)
        self._sizes = np.concatenate(sizes)
        self._firsts = np.cumsum(self._sizes) - self._sizes

    def of(self, numbers: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """The columns of the given trees, (num_columns, num_rows) int64, and the count of each."""
        sizes = self._sizes[numbers]
        rows = np.repeat(self._firsts[numbers] - (np.cumsum(sizes) - sizes), sizes)
        rows += np.arange(len(rows))
        return np.ascontiguousarray(self._rows.take(rows, axis=0).T, dtype=np.int64), sizes


def _encoded(
    trees: Sequence[Tree | DependencyTree], vocab: SymbolIndex, direction: str
) -> tuple[np.ndarray, ...]:
    """Nodes with words, (num_nodes, 8), edges, (num_edges, 4), and the counts of both per tree."""
    flat = flat_trees(trees, direction)
    words = chain.from_iterable(tree.words for tree in trees)
    count = sum(len(tree.words) for tree in trees)
    token = at_nodes([token_indices(words, vocab, count)], flat)
    columns = np.vstack((flat.nodes, token)), flat.edges
    return (*(_narrow(each.T) for each in columns), flat.num_nodes, flat.num_edges)


def _narrow(rows: np.ndarray) -> np.ndarray:
    """The rows, contiguous, as int32 if all numbers fit and else int64."""
    fits = rows.max(initial=0) <= np.iinfo(np.int32).max  # and none is below -1
    return np.ascontiguousarray(rows, np.int32 if fits else np.int64)
