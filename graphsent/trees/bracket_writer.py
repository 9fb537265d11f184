"""Writers of bracketed trees."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

import numpy as np

from graphsent.trees.errors import UnwritableTree
from graphsent.trees.text_files import write_text
from graphsent.trees.tree import Tree, TreeLike, as_tree

_UNWRITABLE = re.compile(r"[() \t\n\r\v\f]")
_INDENT = "  "
_MAX_INDENTS = 40  # deeper lines are not indented further, so that output is linear in the nodes


def write_trees(
    path: str | os.PathLike[str],
    trees: Iterable[TreeLike],
    *,
    pretty: bool = False,
    encoding: str = "utf-8",
) -> None:
    """Writes bracketed trees, atomically.

    Args:
        path: The file; gzipped if named ``*.gz``.
        trees: The trees.
        pretty: Write indented trees, see :func:`bracketed`, instead of one line per tree.
        encoding: The encoding.

    Raises:
        UnwritableTree: A label or token has brackets or ASCII whitespace (see ``escape``), or the
            encoding lacks a character.
    """
    write_text(path, (bracketed(tree, pretty=pretty) + "\n" for tree in trees), encoding)


def bracketed(tree: TreeLike, *, pretty: bool = False) -> str:
    """A tree in brackets, in one line or indented.

    Reading it gives the same tree (with ``empty_nodes="token"`` and ``require_labels=False`` if
    nodes have no label).

    Raises:
        UnwritableTree: A label or token has brackets or ASCII whitespace (see ``escape``).

    Example:
        >>> print(bracketed(Tree.from_string("(S (NP (DT a) (NN film)) (. .))"), pretty=True))
        (S
          (NP (DT a) (NN film))
          (. .))
    """
    tree = as_tree(tree)
    for node, (label, token) in enumerate(zip(tree.labels, tree.tokens, strict=True)):
        for what, text in (("label", label), ("token", token or "")):
            if _UNWRITABLE.search(text):
                raise UnwritableTree(
                    f"node {node} has {what} {text!r}: expected one without brackets and whitespace"
                )
    if not pretty:
        return str(tree)
    return _indented(tree)


def _indented(tree: Tree) -> str:
    """One line per node, but pre-terminals among themselves stay on the line of their parent."""
    has_children = tree.num_children > 0
    has_phrases = np.zeros(tree.num_nodes, bool)
    has_phrases[tree.parents[1:][has_children[1:]]] = True
    starts_line = has_phrases[tree.parents]
    starts_line[0] = False
    indents = np.minimum(tree.depths, _MAX_INDENTS)
    separators = np.where(starts_line, indents, -1).tolist()
    return "".join(
        ("\n" + _INDENT * separator if separator >= 0 else " ") + piece
        for separator, piece in zip(separators, tree.bracket_pieces(), strict=True)
    ).lstrip(" ")
