"""Names and texts in messages, and suggestions for unknown names."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence

__all__ = ["check_choice", "listed", "message_of", "nearest", "quoted", "unknown"]

_LIKENESS = 0.5  # difflib ratio: 1 for identical names
_MOST_LISTED = 20
_LIKEST = 5


def check_choice(what: str, name: str, valid: Collection[str], error: type[Exception]) -> None:
    """Raises an error, with the message of :func:`unknown`, unless a name is a valid one."""
    if name not in valid:
        raise error(unknown(what, name, valid))


def unknown(what: str, name: str, valid: Iterable[str]) -> str:
    """The message for an unknown name; of many valid names, it lists the most similar.

    Example:
        >>> unknown("model", "treelsm", ["nbow", "treelstm"])
        "unknown model 'treelsm': expected one of nbow, treelstm; did you mean 'treelstm'?"
    """
    valid = list(valid)
    shown = ", ".join(valid)
    if len(valid) > _MOST_LISTED:
        likest = difflib.get_close_matches(name, valid, _LIKEST, 0)
        shown = f"{len(valid)}, such as {', '.join(likest)}"
    return f"unknown {what} {name!r}: expected one of {shown}{nearest(name, valid)}"


def listed(names: Sequence[str], most: int) -> str:
    """Names separated by commas; of more than ``most``, the first ones and ``...``."""
    return ", ".join([*names[:most], *(["..."] if len(names) > most else [])])


def nearest(name: str, valid: Iterable[str]) -> str:
    """The end of a message, suggesting the most similar name; empty if none is similar."""
    known = {each.lower(): each for each in valid}
    found = difflib.get_close_matches(str(name).lower(), known, 1, _LIKENESS)
    return f"; did you mean {known[found[0]]!r}?" if found else ""


def quoted(text: str, longest: int = 60) -> str:
    """A text in quotation marks; of one with more than ``longest`` characters, the beginning."""
    return repr(text if len(text) <= longest else text[: longest - 3] + "...")


def message_of(error: BaseException) -> str:
    """The message of an exception in one line; the name of its class if it has none."""
    return " ".join(str(error).split()) or type(error).__name__
