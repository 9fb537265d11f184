"""Batches of trees, assembled from the arrays of each tree, which are cached on the tree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch

from graphsent._dgl import dgl
from graphsent.graphs import fields
from graphsent.graphs.forest import Edges, edges_of, forest_of, path_lengths
from graphsent.graphs.notes import note_edge_ends, note_levels
from graphsent.graphs.symbols import NOTHING, SymbolIndex, label_indices, token_indices
from graphsent.sentences import Sentence
from graphsent.trees import DependencyTree, Tree
from graphsent.vocabulary import Vocabulary

Trees = Sequence[Tree | DependencyTree]
Texts = Sequence[Tree | DependencyTree | Sentence]


class _Nodes(NamedTuple):
    """All node data that needs no vocabulary, each (num_nodes,) int64."""

    label: np.ndarray  # the decimal number that the label spells
    depth: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    position: np.ndarray
    ending: np.ndarray  # length of the longest path ending here, along edges from child to parent
    starting: np.ndarray  # length of the longest path starting here


class FlatTree(NamedTuple):
    """The arrays cached on a tree: ``_Nodes`` and ``Edges``, one array each, rows from 0.

    They may be of any integer type; batches are int64.
    """

    nodes: np.ndarray  # (7, num_nodes)
    edges: np.ndarray  # (4, num_edges)


class FlatTrees(NamedTuple):
    """As :class:`FlatTree`, for several trees, their columns concatenated."""

    nodes: np.ndarray  # (7, num_nodes)
    edges: np.ndarray  # (4, num_edges)
    num_nodes: np.ndarray  # (num_trees,)
    num_edges: np.ndarray  # (num_trees,)


def trees_to_graph(
    trees: Trees,
    direction: str,
    vocab: SymbolIndex | None,
    label_index: SymbolIndex | None,
) -> dgl.DGLGraph:
    """Builds the batched graph of trees in one direction.

    Args:
        trees: Trees of one kind.
        direction: One of ``fields.DIRECTIONS``.
        vocab: Maps words to integers.
        label_index: Maps labels to integers.
    """
    parts = _kept_trees(trees, direction)
    flat = FlatTrees(
        joined([part.nodes for part in parts], len(_Nodes._fields)),
        joined([part.edges for part in parts], len(Edges._fields)),
        np.array([part.nodes.shape[1] for part in parts], np.int64),
        np.array([part.edges.shape[1] for part in parts], np.int64),
    )
    if label_index is not None:
        flat.nodes[0] = _labels(trees, flat.num_nodes, label_index)
    words = [] if vocab is None else word_numbers(trees, vocab)
    return flat_graph(flat, at_nodes(words, flat), direction)


def flat_graph(flat: FlatTrees, token: np.ndarray, direction: str) -> dgl.DGLGraph:
    """Builds the batched graph of trees from their arrays.

    Args:
        flat: The arrays of the trees, int64.
        token: (num_nodes,) int64, vocabulary index of the word at each node.
        direction: The direction that the arrays were made for.
    """
    nodes, edges = _Nodes(*flat.nodes), Edges(*flat.edges)
    num_nodes, num_edges = flat.num_nodes, flat.num_edges
    first = np.repeat(np.cumsum(num_nodes) - num_nodes, num_edges)
    ends = edges.source + first, edges.target + first
    if direction == fields.TOP_DOWN:
        ends = ends[::-1]

    graph = dgl.graph(tuple(map(torch.from_numpy, ends)), num_nodes=int(num_nodes.sum()))
    graph.set_batch_num_nodes(torch.from_numpy(num_nodes))
    graph.set_batch_num_edges(torch.from_numpy(num_edges))
    graph.ndata.update(
        {
            fields.TOKEN: torch.from_numpy(token),
            fields.LABEL: torch.from_numpy(nodes.label),
            fields.POSITION: torch.from_numpy(nodes.position),
            fields.DEPTH: torch.from_numpy(nodes.depth),
            fields.SPAN: torch.from_numpy(np.stack((nodes.begin, nodes.end), axis=1)),
        }
    )
    if direction == fields.SIBLING:
        graph.edata[fields.KIND] = torch.from_numpy(edges.kind)
    graph.edata[fields.CHILD_INDEX] = torch.from_numpy(edges.child_index)
    note_edge_ends(graph, *ends)
    levels = nodes.ending, nodes.starting
    note_levels(graph, *(levels[::-1] if direction == fields.TOP_DOWN else levels))
    return graph


def flat_trees(trees: Trees, direction: str) -> FlatTrees:
    """The int64 arrays of trees, without caching; arguments as in :func:`trees_to_graph`."""
    forest = forest_of(trees, direction)
    edges = edges_of(forest, sibling=direction == fields.SIBLING)
    levels = path_lengths(edges, len(forest.parent))
    num_nodes = np.bincount(forest.tree)
    labels = _labels(trees, num_nodes, None)
    nodes = np.stack((labels, forest.depth, *forest.span.T, forest.position, *levels))
    of_edge = forest.tree[edges.source]
    first = (np.cumsum(num_nodes) - num_nodes)[of_edge]
    local = (edges.source - first, edges.target - first, edges.child_index, edges.kind)
    return FlatTrees(nodes, np.stack(local), num_nodes, np.bincount(of_edge, minlength=len(trees)))


def _kept_trees(trees: Trees, direction: str) -> list[FlatTree]:
    """The arrays cached on each tree; missing ones are computed together."""
    name = "sibling_graph" if direction == fields.SIBLING else "graph"
    missing = [tree for tree in trees if name not in tree.derived]
    if missing:
        flat = flat_trees(missing, direction)
        parts = zip(
            missing,
            _split(flat.nodes, flat.num_nodes),
            _split(flat.edges, flat.num_edges),
            strict=True,
        )
        for tree, own_nodes, own_edges in parts:
            tree.derived[name] = FlatTree(own_nodes, own_edges)
    return [tree.derived[name] for tree in trees]


def _split(columns: np.ndarray, sizes: np.ndarray) -> list[np.ndarray]:
    """Copies of the columns of each tree, so that no tree keeps the memory of all alive."""
    return [part.copy() for part in np.split(columns, np.cumsum(sizes)[:-1], axis=1)]


def joined(parts: Sequence[np.ndarray], num_rows: int) -> np.ndarray:
    """The columns of all parts, concatenated, (num_rows, num_columns) int64."""
    if not parts:
        return np.zeros((num_rows, 0), np.int64)
    return np.concatenate(parts, axis=1, dtype=np.int64)


def at_nodes(words: Sequence[np.ndarray], flat: FlatTrees) -> np.ndarray:
    """Scatters word indices, in sentence order, to the nodes with words; -1 at the others."""
    position = _Nodes(*flat.nodes).position
    token = np.full(len(position), NOTHING, np.int64)
    if words:
        # Nodes with words are in sentence order.
        token[position >= 0] = np.concatenate(words, dtype=np.int64)
    return token


def word_numbers(trees: Texts, vocab: SymbolIndex) -> list[np.ndarray]:
    """The indices of the words of each tree or sentence, each an integer array (num_words,).

    Indices in a Vocabulary, which is immutable, are cached on the tree.
    """
    kept: list[tuple[Any, Any]] = [tree.derived.get("words", (None, None)) for tree in trees]
    parts: list[np.ndarray] = [part for _, part in kept]
    missing = [place for place, (of, _) in enumerate(kept) if of is not vocab]
    if missing:
        words = [trees[place].words for place in missing]
        ends = np.cumsum([len(each) for each in words], dtype=np.int64)
        found = token_indices(chain.from_iterable(words), vocab, int(ends[-1]))
        is_lasting = isinstance(vocab, Vocabulary)
        for place, part in zip(missing, np.split(found, ends[:-1]), strict=True):
            parts[place] = part
            if is_lasting and not isinstance(trees[place], Sentence):
                trees[place].derived["words"] = (vocab, part.copy())
    return parts


def _labels(trees: Trees, num_nodes: np.ndarray, label_index: SymbolIndex | None) -> np.ndarray:
    """Class of each node, -1 at nodes added to the tree's own."""
    num_own = np.array([tree.num_nodes for tree in trees], np.int64)
    own = label_indices(
        chain.from_iterable(tree.labels for tree in trees), label_index, int(num_own.sum())
    )
    if np.array_equal(num_own, num_nodes):
        return own
    counts = np.column_stack((num_own, num_nodes - num_own)).ravel()  # per tree: own, added
    is_own = np.repeat(np.tile((True, False), len(trees)), counts)
    label = np.full(len(is_own), NOTHING)
    label[is_own] = own
    return label
