"""Errors for malformed trees, one class per kind of error.

A reader's message starts with ``source:line:column``, with line and column from 1, and says what
was found there and what was expected. For errors of constructors, these three are None.
"""

from __future__ import annotations

from graphsent.errors import GraphsentError


class TreeError(GraphsentError, ValueError):
    """A tree is malformed. Base class of the errors in this module.

    Attributes:
        message: What was found and what was expected, without source, line and column.
        source: Name of the file, or None.
        line: Line of the offending bracket, token or field, from 1, or None.
        column: Its column in characters, from 1, or None.
    """

    def __init__(
        self,
        message: str,
        source: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        # All four are passed on, so that the error survives pickling between processes.
        super().__init__(message, source, line, column)
        self.message = message
        self.source = source
        self.line = line
        self.column = column

    def __str__(self) -> str:
        place = [str(part) for part in (self.source, self.line, self.column) if part is not None]
        return ": ".join([":".join(place), self.message]) if place else self.message


class UndecodableText(TreeError):
    """A file has bytes that are not text in the given encoding."""


class UnwritableTree(TreeError):
    """A label, token or comment has characters that the file format cannot hold."""


class InvalidStructure(TreeError):
    """Labels, tokens and parents do not describe one tree in preorder."""


# Brackets


class UnclosedTree(TreeError):
    """An opening bracket is never closed."""


class ExtraCloseBracket(TreeError):
    """A closing bracket closes nothing."""


class TextOutsideTree(TreeError):
    """There is text before, between or after the trees."""


class MissingLabel(TreeError):
    """A node inside a tree, or one with several children, has no label."""


class EmptyNode(TreeError):
    """A node has neither a token nor children."""


class SeveralTokens(TreeError):
    """A node has more than one token."""


class MixedChildren(TreeError):
    """A node has both a token and child nodes."""


class WrongTreeCount(TreeError):
    """There is not exactly one tree where one was expected."""


# Dependencies


class WrongColumns(TreeError):
    """A line does not have ten tab-separated columns, or a column is empty."""


class BadNumber(TreeError):
    """A word id or head is not the expected integer."""


class EmptySentence(TreeError):
    """A line is empty, or a sentence has comments but no words."""


class HeadOutOfRange(TreeError):
    """A head is not the id of a word of the sentence."""


class NoRoot(TreeError):
    """No word of a sentence is its root."""


class SeveralRoots(TreeError):
    """More than one word of a sentence is its root."""


class Cycle(TreeError):
    """A word is its own ancestor."""


# N-best lists


class MalformedNBest(TreeError):
    """An n-best list is malformed."""
