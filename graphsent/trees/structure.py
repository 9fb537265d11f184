"""Properties of forests, each computed in a few vectorized operations at any depth.

A forest is an array of parents, (N,) int64: ``parents[i]`` is the row of the parent of node ``i``,
-1 at roots. It may be one tree, or the concatenated trees of a batch, with parents as rows of the
whole batch. Results are (N,) int64 unless stated otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

NO_PARENT = -1


def concatenated(parents: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The forest of several trees, one after the other.

    Args:
        parents: The parents of each tree's nodes, by their rows in the tree.

    Returns:
        The parents by their rows in the forest, (N,) int64; the tree of each node, (N,) int64; and
        the row of the first node of each tree, (num_trees,) int64.
    """
    sizes = np.array([len(each) for each in parents], np.int64)
    starts = np.cumsum(sizes) - sizes
    tree = np.repeat(np.arange(len(sizes)), sizes)
    joined = np.concatenate([np.zeros(0, np.int64), *parents])
    return np.where(joined < 0, NO_PARENT, joined + starts[tree]), tree, starts


def depths(parents: np.ndarray) -> np.ndarray:
    """Number of steps from each node up to its root, (N,) int64; for nodes in any order.

    Pointer jumping: after ``k`` rounds every node knows its ``2**k``-th ancestor and the number of
    steps to it, which takes O(N log depth) time.
    """
    ancestor = parents.astype(np.int64)
    depth = (ancestor >= 0).astype(np.int64)
    while (below := np.flatnonzero(ancestor >= 0)).size:
        above = ancestor[below]
        depth[below] += depth[above]
        ancestor[below] = ancestor[above]
    return depth


def heights(parents: np.ndarray) -> np.ndarray:
    """Steps from each node down to its deepest descendant, (N,) int64; for nodes in any order.

    Pointer jumping as in :func:`depths`: after ``k`` rounds every node knows its descendants up to
    ``2**k - 1`` steps below.
    """
    ancestor = parents.astype(np.int64)
    height = np.zeros(len(parents), np.int64)
    steps = 1
    while (below := np.flatnonzero(ancestor >= 0)).size:
        above = ancestor[below]
        np.maximum.at(height, above, height[below] + steps)
        ancestor[below] = ancestor[above]
        steps *= 2
    return height


def num_children(parents: np.ndarray) -> np.ndarray:
    """Number of children of each node, (N,) int64; for nodes in any order."""
    return np.bincount(parents[parents >= 0], minlength=len(parents)).astype(np.int64)


def child_index(parents: np.ndarray) -> np.ndarray:
    """Index of each node among its siblings, (N,) int64, 0 at roots; for nodes in any order.

    Siblings are ordered by row: in preorder, from left to right.
    """
    by_parent = np.argsort(parents, kind="stable")
    ordered = parents[by_parent]
    index = np.empty(len(parents), np.int64)
    index[by_parent] = np.arange(len(parents)) - np.searchsorted(ordered, ordered)
    index[parents < 0] = 0
    return index


def parents_from_depths(depth: np.ndarray) -> np.ndarray:
    """Parents of a forest in preorder, (N,) int64, from the depth of each node, (N,) int64.

    The parent is the last preceding node with a depth smaller by one; -1 at depth 0.
    """
    rows = np.arange(len(depth))
    keys = depth * len(depth) + rows  # sorted: by depth, then by row
    order = np.argsort(depth, kind="stable")
    last_before = np.searchsorted(keys[order], keys - len(depth)) - 1
    return np.where(depth > 0, order[last_before], NO_PARENT)


def num_closed(depth: np.ndarray) -> np.ndarray:
    """Number of brackets that close between each opening bracket and the next, (N,) int64.

    The depths, (N,) int64, are in preorder. The number is 0 if the next node is a child; the total
    is the number of nodes.
    """
    following = np.append(depth[1:], 0)[: len(depth)]
    return depth - following + 1


def subtree_ends(parents: np.ndarray) -> np.ndarray:
    """One past the last row of each node's subtree, (N,) int64, for a forest in preorder.

    The subtree of node ``i`` is the rows ``i`` to ``subtree_ends(parents)[i] - 1``.
    """
    depth = depths(parents)
    closed = num_closed(depth)
    # One row per closing bracket: the depth of its node, and how many brackets opened before it.
    # At each depth, opening and closing brackets alternate: the first closes the first.
    opened = np.repeat(np.arange(len(depth)), closed)
    among_closed = np.arange(len(depth)) - (np.cumsum(closed) - closed)[opened]
    close_depth = depth[opened] - among_closed
    ends = np.empty(len(depth), np.int64)
    ends[np.argsort(depth, kind="stable")] = opened[np.argsort(close_depth, kind="stable")] + 1
    return ends


def has_words(parents: np.ndarray, is_word: np.ndarray) -> np.ndarray:
    """Whether each node of a preorder forest has a word in its subtree, (N,) bool."""
    before = np.concatenate(([0], np.cumsum(is_word)))
    return before[subtree_ends(parents)] > before[:-1]


def word_spans(parents: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Half-open range ``[min, max + 1)`` of the positions in each node's subtree, (N, 2) int64.

    For nodes in any order, each with its own position (the words of dependency trees). If the tree
    is not projective, a range may include positions outside the subtree. Takes O(N log depth) time.
    """
    low, high = positions.astype(np.int64), positions.astype(np.int64)
    ancestor = parents.astype(np.int64)
    while (below := np.flatnonzero(ancestor >= 0)).size:
        above = ancestor[below]
        np.minimum.at(low, above, low[below])
        np.maximum.at(high, above, high[below])
        ancestor[below] = ancestor[above]
    return np.stack((low, high + 1), axis=1)


def node_on_cycle(parents: np.ndarray) -> int | None:
    """A node that is its own ancestor; None if the parents, (N,) int64, form a forest."""
    ancestor = parents.astype(np.int64)
    for _ in range(len(parents).bit_length()):
        below = np.flatnonzero(ancestor >= 0)
        ancestor[below] = ancestor[ancestor[below]]
    # After at least len(parents) steps, nodes that have not passed a root lead into a cycle.
    cyclic = ancestor[ancestor >= 0]
    return int(cyclic.min()) if cyclic.size else None


def without(parents: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """Parents of the M nodes to keep, renumbered, (M,) int64; for nodes in any order.

    The parent of a node becomes its nearest kept ancestor; -1 if there is none.

    Args:
        parents: Parent of each node, (N,) int64.
        keep: Whether to keep each node, (N,) bool.
    """
    ancestor = parents.astype(np.int64)
    while (dropped := np.flatnonzero((ancestor >= 0) & ~keep[ancestor])).size:
        # Dropped nodes jump too, so that each round doubles the number of steps.
        ancestor[dropped] = ancestor[ancestor[dropped]]
    # The last entry is for row -1.
    new_row = np.append(np.cumsum(keep, dtype=np.int64) - 1, NO_PARENT)
    return new_row[ancestor[keep]]


def read_only(array: np.ndarray) -> np.ndarray:
    """Makes an array, (...), read-only and returns it."""
    array.flags.writeable = False
    return array


def children_lists(parents: np.ndarray) -> list[list[int]]:
    """The children of each node, ordered by row; the parents are (N,) int64."""
    children: list[list[int]] = [[] for _ in range(len(parents))]
    for node, parent in enumerate(parents.tolist()):
        if parent >= 0:
            children[parent].append(node)
    return children
