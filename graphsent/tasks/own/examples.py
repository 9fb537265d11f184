"""Examples as they are in a user's file, with labels as written."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from graphsent.sentences import Sentence
from graphsent.trees import DependencyTree, Tree

__all__ = ["BadLine", "Content", "OwnExample", "OwnRow"]

Content = str | Sentence | Tree | DependencyTree


class BadLine(NamedTuple):
    """A bad line of a file; the message names file and line."""

    line: int
    message: str


class OwnExample(NamedTuple):
    """An example as it is in the file.

    Attributes:
        line: Number of its first line, from 1.
        label: As written, without surrounding whitespace.
        contents: One sentence, or two of a pair: raw text, words, or trees. Node labels of trees
            are phrase labels, ``""`` for unlabelled phrases; trees in tables have none.
    """

    line: int
    label: str
    contents: tuple[Content, ...]


OwnRow = tuple[Path, OwnExample | BadLine]
"""An example, or a bad line in its place, with its file."""
