"""Words, and the sentence that they stand in."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["WordSpan"]


class WordSpan(NamedTuple):
    """A stretch of words of a sentence, whose features depend on all of its words.

    Attributes:
        sentence: All words.
        begin: The first one of the stretch.
        end: The last one + 1.
    """

    sentence: tuple[str, ...]
    begin: int
    end: int
