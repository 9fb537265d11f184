"""To and from ``nltk.Tree``; nltk is imported only when a tree is converted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphsent.trees.errors import EmptyNode, MixedChildren, SeveralTokens, TreeError
from graphsent.trees.structure import children_lists
from graphsent.trees.tree import Tree

if TYPE_CHECKING:
    import nltk


def from_nltk(tree: nltk.Tree) -> Tree:
    """See :meth:`Tree.from_nltk`."""
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
            _check_children(children, label, type(tree))
            stack.extend((child, len(labels)) for child in reversed(children))
        labels.append(label)
        tokens.append(children[0] if is_leaf else None)
        parents.append(parent)
    return Tree(labels, tokens, parents)


def _check_children(children: list, label: str, tree_type: type) -> None:
    if not children:
        raise EmptyNode(f"node {label!r} has no children: expected a token or child nodes")
    leaves = [child for child in children if not hasattr(child, "label")]
    if not leaves:
        return
    if not isinstance(leaves[0], str):
        raise TreeError(f"node {label!r} has leaf {leaves[0]!r}: expected a str")
    if len(leaves) == len(children):
        raise SeveralTokens(f"node {label!r} has tokens {leaves!r}: expected one in each node")
    raise MixedChildren(f"node {label!r} has token {leaves[0]!r} beside child nodes")


def to_nltk(tree: Tree) -> nltk.Tree:
    """See :meth:`Tree.to_nltk`."""
    import nltk

    children = children_lists(tree.parents)
    nodes: dict[int, nltk.Tree] = {}
    for node in range(tree.num_nodes - 1, -1, -1):  # children before their parents
        token = tree.tokens[node]
        below = [nodes[child] for child in children[node]] if token is None else [token]
        nodes[node] = nltk.Tree(tree.labels[node], below)
    return nodes[0]
