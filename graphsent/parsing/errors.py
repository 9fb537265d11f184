"""Errors of parsers and of the sentences that they parse."""

from __future__ import annotations

from graphsent.errors import FailedError, GraphsentError

__all__ = ["ParserError", "ParserFailed", "UnparsedSentence", "WrongKind"]


class ParserError(GraphsentError, ValueError):
    """There is no such parser or model, or it returns another kind of trees."""


class WrongKind(ParserError):
    """A parser returns another kind of trees than needed."""


class ParserFailed(FailedError):
    """A parser cannot work: its package is not installed, or its server does not answer."""


class UnparsedSentence(GraphsentError, ValueError):
    """The parser has no tree for a sentence."""
