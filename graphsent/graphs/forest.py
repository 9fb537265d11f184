"""The structure of many trees as flat arrays, with or without separate nodes for words.

Every step is vectorized over all trees: no loops over trees, nodes or levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphsent.graphs import fields
from graphsent.graphs.symbols import NOTHING
from graphsent.trees import DependencyTree, Tree
from graphsent.trees.structure import (
    child_index,
    concatenated,
    depths,
    heights,
    subtree_ends,
    word_spans,
)


class Forest(NamedTuple):
    """The nodes of trees, grouped by tree and in each tree's own node order.

    All arrays are int64 and have one row per node.
    """

    tree: np.ndarray  # (num_nodes,) index of the tree the node belongs to, ascending
    parent: np.ndarray  # (num_nodes,) row of the parent, -1 at roots
    child_index: np.ndarray  # (num_nodes,) index among the children of the parent, 0 at roots
    depth: np.ndarray  # (num_nodes,)
    span: np.ndarray  # (num_nodes, 2) half-open range of word positions within the sentence
    position: np.ndarray  # (num_nodes,) position of the node's word, -1 without a word


class Edges(NamedTuple):
    """The edges of a forest from child to parent, or from sibling to sibling.

    There is one edge per non-root node, its source. Edges are ordered by source; in sibling graphs
    the edges to siblings come before the others of their tree. All arrays are int64.
    """

    source: np.ndarray  # (num_edges,) row of the source node
    target: np.ndarray  # (num_edges,) row of the target node
    child_index: np.ndarray  # (num_edges,) child index of the source
    kind: np.ndarray  # (num_edges,) SIBLING_EDGE or CHILD_EDGE


def forest_of(trees: Sequence[Tree | DependencyTree], direction: str) -> Forest:
    """The nodes of the graph of trees of one kind in a direction; those of the trees come first."""
    is_sibling = direction == fields.SIBLING
    if trees and isinstance(trees[0], DependencyTree):
        forest = _dependency_forest(trees)
        return _split_tokens(_split_heads(forest)) if is_sibling else forest
    forest = _constituency_forest(trees)
    return _split_tokens(forest) if is_sibling else forest


def _constituency_forest(trees: Sequence[Any]) -> Forest:
    parent, tree, starts = concatenated([tree.parents for tree in trees])
    ends = subtree_ends(parent)
    has_word = ends == np.arange(1, len(tree) + 1)
    words_before = np.concatenate(([0], np.cumsum(has_word)))
    first_word = words_before[starts][tree]
    span = np.stack((words_before[:-1], words_before[ends]), axis=1) - first_word[:, None]
    return Forest(
        tree=tree,
        parent=parent,
        child_index=child_index(parent),
        depth=depths(parent),
        span=span,
        position=np.where(has_word, span[:, 0], NOTHING),
    )


def _dependency_forest(trees: Sequence[Any]) -> Forest:
    head, tree, starts = concatenated([tree.heads for tree in trees])
    position = np.arange(len(tree)) - starts[tree]
    return Forest(
        tree=tree,
        parent=head,
        child_index=child_index(head),
        depth=depths(head),
        span=word_spans(head, position),
        position=position,
    )


def _append(forest: Forest, added: Forest) -> Forest:
    """Appends nodes to a forest, each after the existing nodes of its tree.

    ``added.parent`` refers to rows of ``forest`` followed by those of ``added``.
    """
    joined = Forest(*map(np.concatenate, zip(forest, added, strict=True)))
    order = np.argsort(joined.tree, kind="stable")
    row = np.empty_like(order)
    row[order] = np.arange(len(order))
    parent = np.where(joined.parent < 0, NOTHING, row[joined.parent])
    return Forest(*(column[order] for column in joined._replace(parent=parent)))


def _split_heads(forest: Forest) -> Forest:
    """Adds a child for the word of every node with dependents, at its place among them.

    A word with dependents becomes a phrase without a word; the new nodes carry the words.
    """
    children = np.flatnonzero(forest.parent >= 0)
    heads = np.unique(forest.parent[children])  # rows, ascending
    new_row = np.full(len(forest.parent), NOTHING)
    new_row[heads] = np.arange(len(heads))

    is_left = forest.position[children] < forest.position[forest.parent[children]]
    num_left = np.bincount(new_row[forest.parent[children[is_left]]], minlength=len(heads))
    child_index = forest.child_index.copy()
    child_index[children[~is_left]] += 1
    return _with_words_below(forest._replace(child_index=child_index), heads, num_left)


def _split_tokens(forest: Forest) -> Forest:
    """Moves every word to a new node below the node that carried it, in sentence order."""
    owners = np.flatnonzero(forest.position >= 0)
    owners = owners[np.lexsort((forest.position[owners], forest.tree[owners]))]
    return _with_words_below(forest, owners, np.zeros(len(owners), np.int64))


def _with_words_below(forest: Forest, owners: np.ndarray, child_index: np.ndarray) -> Forest:
    """Moves the words of some nodes to new children, which have the given indices among others."""
    position = forest.position[owners]
    added = Forest(
        tree=forest.tree[owners],
        parent=owners,
        child_index=child_index,
        depth=forest.depth[owners] + 1,
        span=np.stack((position, position + 1), axis=1),
        position=position,
    )
    emptied = forest.position.copy()
    emptied[owners] = NOTHING
    return _append(forest._replace(position=emptied), added)


def _next_sibling(forest: Forest, children: np.ndarray) -> np.ndarray:
    """Row of the right sibling of each of ``children``, -1 for a rightmost child."""
    parent, child_index = forest.parent[children], forest.child_index[children]
    num_children = np.bincount(parent)
    first_slot = np.cumsum(num_children) - num_children
    slot = first_slot[parent] + child_index
    child_at = np.empty_like(children)
    child_at[slot] = children
    has_next = child_index + 1 < num_children[parent]
    following = np.full(len(children), NOTHING)
    following[has_next] = child_at[slot[has_next] + 1]
    return following


def edges_of(forest: Forest, *, sibling: bool) -> Edges:
    """The edges of a forest: to the parent, or to the right sibling (from the last, the parent)."""
    source = np.flatnonzero(forest.parent >= 0)
    target = forest.parent[source]
    kind = np.full(len(source), fields.CHILD_EDGE)
    if sibling:
        following = _next_sibling(forest, source)
        kind = np.where(following >= 0, fields.SIBLING_EDGE, fields.CHILD_EDGE)
        target = np.where(following >= 0, following, target)
        # A node receives from its left sibling before its rightmost child.
        order = np.argsort(2 * forest.tree[source] + kind, kind="stable")
        source, target, kind = source[order], target[order], kind[order]
    return Edges(source, target, forest.child_index[source], kind)


def path_lengths(edges: Edges, num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of the longest paths ending and starting at each node, both (num_nodes,) int64."""
    successor = np.full(num_nodes, NOTHING)
    successor[edges.source] = edges.target
    return heights(successor), depths(successor)
