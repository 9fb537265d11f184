"""Spans of words within a sentence."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["WordSpan"]


class WordSpan(NamedTuple):
    """A span of words, whose contextual features depend on the whole sentence.

    Attributes:
        sentence: All words of the sentence.
        begin: Index of the first word of the span.
        end: Index of the last word + 1.
    """

    sentence: tuple[str, ...]
    begin: int
    end: int
