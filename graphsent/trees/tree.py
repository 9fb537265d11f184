"""Constituency trees as flat arrays."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from graphsent._derived import Unchanging
from graphsent.trees import nltk_trees, structure
from graphsent.trees.brackets import parse_one
from graphsent.trees.errors import (
    EmptyNode,
    InvalidStructure,
    MixedChildren,
    TreeError,
)

if TYPE_CHECKING:
    import nltk

_REPR_WIDTH = 60
TreeLike = Union["Tree", "nltk.Tree", str]
"""A tree, or what :func:`as_tree` converts to one."""


class Tree(Unchanging):
    """An immutable constituency tree.

    A node is a pair of brackets; a word is the *token* of the node around it, not a separate node.
    A node has either one token or at least one child. Nodes are numbered in preorder, the order of
    their opening brackets, so the root is node 0. Since the representation is flat, a tree may be
    many thousands of levels deep.

    Args:
        labels: Label of each node; ``""`` if unlabelled.
        tokens: Token of each node; None for nodes with children.
        parents: Parent of each node, -1 at the root.

    Raises:
        TreeError: The three do not describe one tree in preorder.

    Example:
        >>> tree = Tree.from_string("(3 (2 a) (3 (3 lovely) (2 film)))")
        >>> tree.labels
        ('3', '2', '3', '3', '2')
        >>> tree.tokens
        (None, 'a', None, 'lovely', 'film')
        >>> tree.parents
        array([-1,  0,  0,  2,  2])
    """

    labels: tuple[str, ...]
    tokens: tuple[str | None, ...]
    parents: np.ndarray

    def __init__(
        self,
        labels: Iterable[str],
        tokens: Iterable[str | None],
        parents: Iterable[int] | np.ndarray,
    ) -> None:
        if not isinstance(parents, np.ndarray):
            parents = np.array(list(parents))
        # Not setattr, which is blocked.
        self.__dict__.update(labels=tuple(labels), tokens=tuple(tokens), parents=parents)
        self._validate()

    @classmethod
    def _trusted(
        cls, labels: tuple[str, ...], tokens: tuple[str | None, ...], parents: np.ndarray
    ) -> Tree:
        """A tree of fields known to be valid; takes over ``parents``, which must be int64."""
        tree = cls.__new__(cls)
        tree.__dict__.update(labels=labels, tokens=tokens, parents=structure.read_only(parents))
        return tree

    def _validate(self) -> None:
        sizes = len(self.labels), len(self.tokens), len(self.parents)
        if not sizes[0] or len(set(sizes)) > 1:
            raise InvalidStructure(
                "expected as many labels as tokens and parents, at least one; "
                f"got {sizes[0]}, {sizes[1]} and {sizes[2]}"
            )
        self.__dict__["parents"] = _preorder(self.parents)
        nodes = zip(self.labels, self.tokens, self.num_children.tolist(), strict=True)
        for node, (label, token, num_children) in enumerate(nodes):
            if not isinstance(label, str):
                raise InvalidStructure(f"node {node}: expected a str as the label, got {label!r}")
            if num_children and token is not None:
                raise MixedChildren(
                    f"node {node}, {label!r}: expected a token or children, "
                    f"got token {token!r} and {num_children} children"
                )
            if not num_children and (not isinstance(token, str) or not token):
                raise EmptyNode(f"node {node}, {label!r}: expected a token, got {token!r}")

    @classmethod
    def from_string(
        cls, text: str, *, empty_nodes: str = "error", require_labels: bool = True
    ) -> Tree:
        """Parses a bracketed string with one tree; see ``parse_trees`` for the arguments.

        Raises:
            TreeError: The string is not one well-formed tree.
        """
        return cls._trusted(*parse_one(text, empty_nodes, require_labels))

    @classmethod
    def from_nltk(cls, tree: nltk.Tree) -> Tree:
        """Converts an ``nltk.Tree`` in which every leaf is the only child of its parent.

        Raises:
            TreeError: A node is empty, or has a leaf among several children.
        """
        return cls(*nltk_trees.from_nltk(tree))

    def to_nltk(self) -> nltk.Tree:
        """Converts the tree to an ``nltk.Tree``, without recursion.

        Most methods of NLTK recurse, and fail on trees deeper than Python's recursion limit.
        """
        return nltk_trees.to_nltk(self.labels, self.tokens, self.parents)

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return len(self.labels)

    @property
    def words(self) -> list[str]:
        """The tokens, from left to right."""
        return [token for token in self.tokens if token is not None]

    @property
    def root(self) -> int:
        """Index of the root, 0."""
        return 0

    @cached_property
    def depths(self) -> np.ndarray:
        """Distance of each node from the root, (N,) int64."""
        return structure.read_only(structure.depths(self.parents))

    @cached_property
    def child_index(self) -> np.ndarray:
        """Index of each node among its siblings, from the left, (N,) int64; 0 at the root."""
        return structure.read_only(structure.child_index(self.parents))

    @cached_property
    def num_children(self) -> np.ndarray:
        """Number of children of each node, (N,) int64."""
        return structure.read_only(structure.num_children(self.parents))

    @cached_property
    def spans(self) -> np.ndarray:
        """Half-open range of word positions below each node, (N, 2) int64."""
        ends = structure.subtree_ends(self.parents)
        words_before = np.concatenate(([0], np.cumsum(self.num_children == 0, dtype=np.int64)))
        return structure.read_only(np.stack((words_before[:-1], words_before[ends]), axis=1))

    def replace(self, **arguments: Any) -> Tree:
        """A copy of the tree with some constructor arguments replaced."""
        columns = {"labels": self.labels, "tokens": self.tokens, "parents": self.parents}
        return Tree(**{**columns, **arguments})

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Tree is immutable: cannot set {name!r}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return (
            self.labels == other.labels
            and self.tokens == other.tokens
            and np.array_equal(self.parents, other.parents)
        )

    def __hash__(self) -> int:
        return hash((self.labels, self.tokens, self.parents.tobytes()))

    def __reduce__(self) -> tuple:
        return Tree._trusted, (self.labels, self.tokens, self.parents)

    def bracket_pieces(self) -> list[str]:
        """The bracketed form, cut before opening brackets; join the pieces by any whitespace."""
        leaf_ends = np.where(self.num_children == 0, structure.num_closed(self.depths), 0)
        pieces = [
            f"({label}" if token is None else f"({label} {token}" + ")" * num_closed
            for label, token, num_closed in zip(
                self.labels, self.tokens, leaf_ends.tolist(), strict=True
            )
        ]
        if not self.labels[0] and self.num_children[0] == 1:
            # Readers remove one outer bracket without a label: add it for them.
            pieces[0] = "( " + pieces[0]
            pieces[-1] += ")"
        return pieces

    def __str__(self) -> str:
        """The bracketed form in one line."""
        return " ".join(self.bracket_pieces())

    def __repr__(self) -> str:
        text = str(self)
        if len(text) > _REPR_WIDTH:
            text = text[: _REPR_WIDTH - 3] + "..."
        return f"Tree({text!r}, num_nodes={self.num_nodes})"


def as_tree(tree: TreeLike) -> Tree:
    """Converts an ``nltk.Tree`` or a bracketed string; returns a ``Tree`` unchanged.

    Raises:
        TreeError: The string or the ``nltk.Tree`` is malformed, or the argument has another type.
    """
    if isinstance(tree, Tree):
        return tree
    if isinstance(tree, str):
        return Tree.from_string(tree)
    if _is_of_nltk(tree):
        return Tree.from_nltk(tree)
    raise TreeError(
        f"expected a Tree, an nltk.Tree or a bracketed string, got {type(tree).__name__}"
    )


def as_trees(trees: Iterable[TreeLike]) -> list[Tree]:
    """Converts each of several trees as :func:`as_tree` does.

    Raises:
        TreeError: One of them is malformed, or there is one tree instead of several.
    """
    if isinstance(trees, Tree | str) or _is_of_nltk(trees):
        raise TreeError("expected several trees, got one: put it in a list")
    return [as_tree(tree) for tree in trees]


def _is_of_nltk(tree: Any) -> bool:
    nltk = sys.modules.get("nltk.tree")  # without this module, there is no nltk.Tree
    return nltk is not None and isinstance(tree, nltk.Tree)


def _preorder(parents: np.ndarray) -> np.ndarray:
    """A read-only int64 copy of the parents of one tree in preorder.

    Raises:
        InvalidStructure: They are not the parents of one tree in preorder.
    """
    if not np.issubdtype(parents.dtype, np.integer):
        raise InvalidStructure(f"expected integer parents, got {parents.dtype}")
    path: list[int] = []  # from the root to the previous node
    for node, parent in enumerate(parents.tolist()):
        while path and path[-1] != parent:
            path.pop()
        if parent != structure.NO_PARENT if node == 0 else not path:
            raise InvalidStructure(
                f"node {node} has parent {parent}: expected nodes in preorder, "
                "the root first with parent -1 and every subtree in one piece"
            )
        path.append(node)
    return structure.read_only(parents.astype(np.int64))
