"""Examples as they are in a user's file, before a model interprets them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from graphsent.sentences import Sentence
from graphsent.trees import DependencyTree, Tree, unescape

__all__ = ["BadLine", "Content", "OwnExample", "text_of", "with_labels"]

Content = str | Sentence | Tree | DependencyTree


class BadLine(NamedTuple):
    """What is wrong at a line of a file: the message names both."""

    line: int
    message: str


class OwnExample(NamedTuple):
    """An example as it is in the file.

    Attributes:
        line: Number of the line where it begins, from 1.
        label: As written, without surrounding whitespace.
        contents: A sentence or, in a pair, two: raw text, words, or trees. Labels of trees are
            labels of phrases, ``""`` where there are none; trees of a table have none.
    """

    line: int
    label: str
    contents: tuple[Content, ...]


def text_of(content: Content) -> str:
    """A sentence as text; the words of a tree, without escapes."""
    if isinstance(content, str):
        return content
    return " ".join(map(unescape, content.words))


def with_labels(tree: Tree | DependencyTree, labels: Sequence[str]) -> Tree | DependencyTree:
    """A tree with other labels at its nodes."""
    if isinstance(tree, Tree):
        return Tree(labels, tree.tokens, tree.parents)
    return tree.replace(labels=labels)
