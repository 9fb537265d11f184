"""Names that do not exist, and the one that was meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["nearest", "unknown"]

_LIKENESS = 0.5  # of difflib: 1 for the same name
_MOST_LISTED = 20
_LIKEST = 5


def unknown(what: str, name: str, valid: Iterable[str]) -> str:
    """The message that there is no such name; of many valid ones it names those most like it.

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
    """A question that ends a message: which name was meant; nothing if none is like it."""
    known = {each.lower(): each for each in valid}
    found = difflib.get_close_matches(str(name).lower(), known, 1, _LIKENESS)
    return f"; did you mean {known[found[0]]!r}?" if found else ""
