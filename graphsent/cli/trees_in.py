"""Trees from a file or standard input, labelled or not."""

from __future__ import annotations

import sys

from graphsent.trees import Tree, parse_trees, read_trees

__all__ = ["trees_from"]

_ANY_TREES = {"empty_nodes": "token", "require_labels": False}


def trees_from(path: str) -> list[Tree]:
    """The bracketed trees of a file, of standard input for ``-``.

    Raises:
        TreeError: A tree is malformed; file, line and column are named.
        DataError: The file cannot be read.
    """
    if path != "-":
        return read_trees(path, **_ANY_TREES)
    text = sys.stdin.buffer.read().decode("utf-8-sig", errors="surrogateescape")
    return parse_trees(text, "standard input", **_ANY_TREES)
