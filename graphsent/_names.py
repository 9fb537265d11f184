"""Messages about unknown names, with suggestions."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["nearest", "unknown"]

_LIKENESS = 0.5  # difflib ratio: 1 for identical names
_MOST_LISTED = 20
_LIKEST = 5


def unknown(what: str, name: str, valid: Iterable[str]) -> str:
    """The message for an unknown name; of many valid names, it lists the most similar.

    Example:
        >>> unknown("model", "treelsm", ["nbow", "treelstm"])
        "unknown model 'treelsm': expected one of nbow, treelstm; did you mean 'treelstm'?"
    """
    valid = list(valid)
    listed = ", ".join(valid)
    if len(valid) > _MOST_LISTED:
        likest = difflib.get_close_matches(name, valid, _LIKEST, 0)
        listed = f"{len(valid)}, such as {', '.join(likest)}"
    return f"unknown {what} {name!r}: expected one of {listed}{nearest(name, valid)}"


def nearest(name: str, valid: Iterable[str]) -> str:
    """The end of a message, suggesting the most similar name; empty if none is similar."""
    known = {each.lower(): each for each in valid}
    found = difflib.get_close_matches(str(name).lower(), known, 1, _LIKENESS)
    return f"; did you mean {known[found[0]]!r}?" if found else ""
