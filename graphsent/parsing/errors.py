"""What can be wrong with a parser, and with a sentence that it is given."""

from __future__ import annotations

from graphsent.errors import FailedError, GraphsentError

__all__ = ["ParserError", "ParserFailed", "UnparsedSentence", "WrongKind"]


class ParserError(GraphsentError, ValueError):
    """There is no such parser or model of it, or it gives another kind of trees."""


class WrongKind(ParserError):
    """A parser gives another kind of trees than is needed."""


class ParserFailed(FailedError):
    """A parser cannot work: its package is not installed, or its server does not answer."""


class UnparsedSentence(GraphsentError, ValueError):
    """The parser has no tree for a sentence."""
