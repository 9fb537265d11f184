"""Trees of a fixed shape for raw text, for models trained on such trees."""

from __future__ import annotations

from graphsent.parsing.errors import ParserError
from graphsent.parsing.parser import Parser, TreeSource, check_kind
from graphsent.tokenizers import TOKENIZERS
from graphsent.trees import (
    SHAPES,
    DependencyTree,
    Tree,
    relabel,
    shaped_dependency_tree,
    shaped_tree,
)
from graphsent.trees.shapes import TREE_KINDS

__all__ = ["load"]

_LABEL = "X"  # of all nodes: the Penn Treebank's label for unknown constituents
_VERSION = "1"  # to change whenever a sentence gets a different tree


def load(shape: str, kind: str | None, num_threads: int | None) -> Parser:
    """Makes a parser that tokenizes as in the Penn Treebank and builds trees of a shape.

    Args:
        shape: One of :data:`graphsent.trees.SHAPES`.
        kind: The kind of trees.
        num_threads: Must be None: there is only one thread.

    Raises:
        ParserError: There is no such shape, or ``num_threads`` is given.
    """
    name = f"shape:{shape}"
    if shape not in SHAPES:
        raise ParserError(f"unknown parser {name!r}: expected shape:{' or shape:'.join(SHAPES)}")
    if num_threads is not None:
        raise ParserError(f"{name} computes in one thread")
    kind = check_kind(name, TREE_KINDS, kind)

    def parse(texts: list[str]) -> list[Tree | DependencyTree]:
        return [_tree(text) for text in texts]

    def _tree(text: str) -> Tree | DependencyTree:
        words = TOKENIZERS["treebank"](text)
        if kind == "dependency":
            return shaped_dependency_tree(words, shape)
        tree = shaped_tree(words, shape)
        return relabel(tree, lambda _: _LABEL)

    return Parser(TreeSource(kind, name, _VERSION), parse)
