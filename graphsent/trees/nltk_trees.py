"""Converts tree fields to and from ``nltk.Tree``; nltk is imported only to make one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from graphsent.trees.errors import EmptyNode, MixedChildren, SeveralTokens, TreeError
from graphsent.trees.structure import children_lists

if TYPE_CHECKING:
    import nltk


def from_nltk(tree: nltk.Tree) -> tuple[list[str], list[str | None], list[int]]:
    """Labels, tokens and parents of the nodes, in preorder.

    Raises:
        TreeError: A node is empty, or has a leaf among several children.
    """
    labels: list[str] = []
    tokens: list[str | None] = []
    parents: list[int] = []
    stack = [(tree, -1)]
    while stack:
        node, parent = stack.pop()
        label = "" if node.label() is None else str(node.label())
        children = list(node)
        is_leaf = len(children) == 1 and isinstance(children[0], str)
        if not is_leaf:
            _check_children(children, label)
            stack.extend((child, len(labels)) for child in reversed(children))
        labels.append(label)
        tokens.append(children[0] if is_leaf else None)
        parents.append(parent)
    return labels, tokens, parents


def _check_children(children: list, label: str) -> None:
    if not children:
        raise EmptyNode(f"node {label!r} has no children: expected a token or child nodes")
    leaves = [child for child in children if not hasattr(child, "label")]
    if not leaves:
        return
    if not isinstance(leaves[0], str):
        raise TreeError(f"node {label!r} has leaf {leaves[0]!r}: expected a str")
    if len(leaves) == len(children):
        raise SeveralTokens(f"node {label!r} has tokens {leaves!r}: expected one per node")
    raise MixedChildren(f"node {label!r} has both token {leaves[0]!r} and child nodes")


def to_nltk(labels: Sequence[str], tokens: Sequence[str | None], parents: np.ndarray) -> nltk.Tree:
    """The tree of N labels, tokens and parents, (N,) int64, built without recursion."""
    import nltk

    children = children_lists(parents)
    nodes: dict[int, nltk.Tree] = {}
    for node in reversed(range(len(labels))):  # children before their parents
        token = tokens[node]
        below = [nodes[child] for child in children[node]] if token is None else [token]
        nodes[node] = nltk.Tree(labels[node], below)
    return nodes[0]
