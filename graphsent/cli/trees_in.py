"""Trees from a file or standard input, labelled or not."""

from __future__ import annotations

import sys

from graphsent.errors import DataError
from graphsent.trees import (
    DependencyTree,
    Tree,
    parse_conllu,
    parse_trees,
    read_conllu,
    read_trees,
)

__all__ = ["trees_from"]

_STDIN = "standard input"
_ANY_TREES = {"empty_nodes": "token", "require_labels": False}
_CONLLU = (".conllu", ".conllu.gz")


def trees_from(path: str) -> list[Tree] | list[DependencyTree]:
    """The trees of a file, of standard input for ``-``.

    They are dependency trees in CoNLL-U if the file is named ``*.conllu`` or ``*.conllu.gz``, or if
    standard input starts with a comment or a number, and bracketed trees otherwise.

    Raises:
        TreeError: A tree is malformed; file, line and column are named.
        DataError: The file cannot be read, or is no text in UTF-8.
    """
    if path != "-":
        return read_conllu(path) if path.endswith(_CONLLU) else read_trees(path, **_ANY_TREES)
    data = sys.stdin.buffer.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{_STDIN}:{line}: expected text in UTF-8: {error.reason}") from None
    if text.lstrip()[:1] in {"#", *"0123456789"}:
        return parse_conllu(text, _STDIN)
    return parse_trees(text, _STDIN, **_ANY_TREES)
