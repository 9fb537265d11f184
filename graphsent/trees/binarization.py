"""Binarization of trees of any arity, and its inverse."""

from __future__ import annotations

import numpy as np

from graphsent._names import check_choice
from graphsent.errors import DataError
from graphsent.trees import structure
from graphsent.trees.errors import InvalidStructure
from graphsent.trees.head_rules import COLLINS, HeadRules
from graphsent.trees.heads import head_children
from graphsent.trees.transforms import select_nodes
from graphsent.trees.tree import Tree, TreeLike, as_tree

METHODS = ("left", "right", "head")


def binarize(
    tree: TreeLike,
    method: str = "left",
    *,
    rules: HeadRules = COLLINS,
    marker: str = "@",
) -> Tree:
    """Binarizes a tree by splitting nodes of more than two children with marked nodes.

    ``"left"`` nests the marked nodes on the left, ``"right"`` on the right, ``"head"`` outward from
    the head child (here H), first over its right siblings, then over its left ones::

        (A b c H d)   "left"    (A (@A (@A b c) H) d)
                      "right"   (A b (@A c (@A H d)))
                      "head"    (A b (@A c (@A H d)))

        (A b H c d)   "head"    (A b (@A (@A H c) d))

    Nodes with one child are unchanged, see ``collapse_unary``. :func:`debinarize` is the inverse.

    Args:
        tree: A tree, an NLTK tree or a bracketed string.
        method: ``"left"``, ``"right"`` or ``"head"``.
        rules: Head rules, for ``"head"``.
        marker: Prefix of the labels of new nodes, followed by the label of the split node.

    Raises:
        DataError: The method is unknown.
        TreeError: A label already starts with the marker, or the tree is malformed.

    Example:
        >>> print(binarize("(NP (DT a) (JJ fine) (NN film))"))
        (NP (@NP (DT a) (JJ fine)) (NN film))
    """
    check_choice("method", method, METHODS, DataError)
    tree = as_tree(tree)
    for label in tree.labels:
        if label.startswith(marker):
            raise InvalidStructure(
                f"label {label!r} starts with {marker!r}, the marker of new nodes: "
                "expected another marker"
            )
    return _split_nodes(tree, _head_places(tree, method, rules), marker)


def _head_places(tree: Tree, method: str, rules: HeadRules) -> list[int]:
    """Index among the children of each node of the one around which new nodes are nested."""
    if method == "left":
        return [0] * tree.num_nodes
    if method == "right":
        return (tree.num_children - 1).tolist()
    return tree.child_index[head_children(tree, rules)].tolist()


def _split_nodes(tree: Tree, head_places: list[int], marker: str) -> Tree:
    children = structure.children_lists(tree.parents)
    labels: list[str] = []
    tokens: list[str | None] = []
    parents: list[int] = []
    # A node of the new tree: its parent there, its original node, and the range of the original
    # node's children that it covers.
    stack = [(-1, 0, 0, len(children[0]))]
    while stack:
        parent, node, first, end = stack.pop()
        is_whole = end - first == len(children[node])
        row = len(labels)
        labels.append(tree.labels[node] if is_whole else marker + tree.labels[node])
        tokens.append(tree.tokens[node])
        parents.append(parent)
        if end - first > 2:
            if first < head_places[node]:
                parts = [(first, first + 1), (first + 1, end)]
            else:
                parts = [(first, end - 1), (end - 1, end)]
        else:
            parts = [(place, place + 1) for place in range(first, end)]
        for low, high in reversed(parts):
            child = children[node][low]
            if high - low == 1:
                stack.append((row, child, 0, len(children[child])))
            else:
                stack.append((row, node, low, high))
    return Tree(labels, tokens, parents)


def debinarize(tree: TreeLike, marker: str = "@") -> Tree:
    """Inverse of :func:`binarize`: attaches the children of marked nodes to the node above.

    Raises:
        TreeError: The root or a node with a token is marked.
    """
    tree = as_tree(tree)
    keep = np.array([not label.startswith(marker) for label in tree.labels])
    is_needed = (tree.num_children == 0) | (tree.parents < 0)
    wrong = np.flatnonzero(is_needed & ~keep)
    if wrong.size:
        node = int(wrong[0])
        raise InvalidStructure(
            f"node {node} is marked by its label {tree.labels[node]!r}: expected only inner nodes "
            "below the root to be marked"
        )
    return select_nodes(tree, keep, tree.labels, tree.tokens)
