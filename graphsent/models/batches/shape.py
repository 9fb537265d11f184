"""Conversion of trees to the shape that a model reads, and of results back to the given trees."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from graphsent.errors import ModelError
from graphsent.trees import DependencyTree, Tree, binarize, collapse_unary, relabel

__all__ = ["is_binary", "nodes_of_same_span", "to_binary", "with_joined_chains", "without_chains"]

# Prefix of the labels of nodes added by binarization; neither a class nor a treebank label.
_MARKER = "\0"
# In labels: the separator of joined labels, and the marker of nodes added beside these.
_RESERVED = re.compile(r"\+|^@")


def is_binary(tree: Tree) -> bool:
    """Whether every node has a token or exactly two children."""
    # This holds exactly if all nodes except the root have a sibling.
    return 2 * np.count_nonzero(tree.num_children == 2) == tree.num_nodes - 1


def to_binary(tree: Tree | DependencyTree) -> Tree:
    """Binarizes a tree to the left, with unary chains collapsed; a binary tree is unchanged.

    Chains keep their topmost label; nodes added by binarization have no label (Tai et al. 2015).
    The result is cached on the tree.

    Raises:
        ModelError: The tree is a dependency tree.
    """
    return _kept(_constituency(tree), "binary", _binarized)


def with_joined_chains(tree: Tree | DependencyTree) -> Tree:
    """Binarizes a tree, with unary chains collapsed to joined labels; cached on the tree.

    In labels that contain a plus sign, such as P+D of the French Treebank, or begin with @, an
    underscore replaces it.

    Raises:
        ModelError: The tree is a dependency tree.
    """
    return _kept(_constituency(tree), "reranked", _joined)


def without_chains(tree: Tree | DependencyTree) -> Tree | DependencyTree:
    """Collapses unary chains, cached on the tree; a dependency tree is unchanged."""
    if isinstance(tree, DependencyTree):
        return tree
    return _kept(tree, "without chains", _collapsed)


def _constituency(tree: Tree | DependencyTree) -> Tree:
    if isinstance(tree, DependencyTree):
        raise ModelError(
            "this model reads binary constituency trees, got a dependency tree; "
            "a child-sum model reads dependency trees"
        )
    return tree


def _binarized(tree: Tree) -> Tree:
    if is_binary(tree):
        return tree
    return binarize(collapse_unary(tree), "left", marker=_MARKER)


def _joined(tree: Tree) -> Tree:
    tree = relabel(tree, lambda label: _RESERVED.sub("_", label))
    return binarize(collapse_unary(tree, "join"))


def _collapsed(tree: Tree) -> Tree:
    return collapse_unary(tree) if (tree.num_children == 1).any() else tree


def _kept(tree: Tree, name: str, make: Callable[[Tree], Tree]) -> Tree:
    if name not in tree.derived:
        made = make(tree)
        # A tree that refers to itself would be freed only by the cyclic garbage collector.
        tree.derived[name] = None if made is tree else made
    return tree.derived[name] or tree


def nodes_of_same_span(tree: Tree, shaped: Tree) -> np.ndarray:
    """For each node of ``tree``, the topmost node of ``shaped`` with the same span.

    Args:
        tree: A tree.
        shaped: The same tree with unary chains collapsed and nodes added.

    Returns:
        (tree.num_nodes,) int64, node numbers of ``shaped``.
    """
    width = int(tree.spans[0, 1]) + 1
    keys, first = np.unique(shaped.spans @ (width, 1), return_index=True)
    return first[np.searchsorted(keys, tree.spans @ (width, 1))]
