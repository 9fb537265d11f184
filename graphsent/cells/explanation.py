"""Which way a cell runs, and why not a faster one."""

from __future__ import annotations

from typing import NamedTuple

from graphsent.propagation.found import Found


class Explanation(NamedTuple):
    """How a cell runs over a graph.

    Attributes:
        way: ``"compiled"``: compiled code does all levels; ``"traced"``: operations of torch, level
            by level, by what was traced; ``"levels"``: ``combine``, once a level;
            ``"functions"``: the DGL functions, once a level.
        reason: what it is, or why it is no faster way.
    """

    way: str
    reason: str

    def __str__(self) -> str:
        return f"{self.way}: {self.reason}"


def explanation_of(found: Found | str) -> Explanation:
    """How a run goes on with what was found out about its cell."""
    if isinstance(found, str):
        return Explanation("levels", found)
    if isinstance(found.library, str):
        return Explanation("traced", found.library)
    return Explanation("compiled", "there is code that was generated from start and combine")
