"""Word lists written as text."""

from __future__ import annotations


def listed(text: str) -> tuple[str, ...]:
    """The blank-separated words of a text."""
    return tuple(text.split())
