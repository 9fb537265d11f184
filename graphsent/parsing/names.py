"""The names of parsers."""

from __future__ import annotations

import re
from typing import NamedTuple

from graphsent._names import nearest
from graphsent.parsing.errors import ParserError

__all__ = ["PARSERS", "is_own", "is_safe", "shape_of", "unknown_parser"]


class Family(NamedTuple):
    """What follows the name and a colon, and the module whose ``load`` makes the parser."""

    argument: str
    module: str


PARSERS = {
    "benepar": Family("DIRECTORY", "graphsent.parsing.benepar_parser"),
    "corenlp": Family("URL", "graphsent.parsing.corenlp_parser"),
    "shape": Family("SHAPE", "graphsent.parsing.shape_parser"),
    "spacy": Family("MODEL", "graphsent.parsing.spacy_parser"),
    "stanza": Family("LANGUAGE", "graphsent.parsing.stanza_parser"),
}
_PACKAGE = re.compile(r"\w+")
# Only a path may follow the host: clients differ in which part of other URLs is the host.
_ON_THIS_MACHINE = re.compile(
    r"https?://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?(/.*)?", re.IGNORECASE
)


def unknown_parser(name: str, reason: str = "") -> ParserError:
    """The error for an unknown parser, with all forms of names.

    Args:
        name: The given name.
        reason: Why the module or function of that name cannot be used.
    """
    forms = ", ".join(f"{family}:{each.argument}" for family, each in PARSERS.items())
    family = name.partition(":")[0]
    because = f" ({reason})" if reason else ""
    return ParserError(
        f"unknown parser {name!r}{because}: expected {forms} or module:function"
        f"{nearest(family, PARSERS) if family not in PARSERS else ''}"
    )


def is_own(name: str) -> bool:
    """Whether a parser is named as ``module:function``, from outside the package."""
    return name.partition(":")[0] not in PARSERS


def shape_of(name: str) -> str | None:
    """The shape of the trees of a ``shape`` parser: ``"left"`` for ``shape:left``; else None."""
    family, _, shape = name.partition(":")
    return shape if family == "shape" else None


def is_safe(name: str) -> bool:
    """Whether a parser named by an untrusted file may be used without the user's consent.

    Importing a module may run arbitrary code, as may a spaCy pipeline in a directory; and a remote
    server would be sent the user's text.

    Example:
        >>> is_safe("spacy:en_core_web_sm"), is_safe("my_module:parse")
        (True, False)
        >>> is_safe("corenlp:http://localhost:9000"), is_safe("corenlp:http://example.org")
        (True, False)
    """
    family, _, argument = name.partition(":")
    if family == "spacy":
        return _PACKAGE.fullmatch(argument) is not None
    if family == "corenlp":
        return _ON_THIS_MACHINE.fullmatch(argument) is not None
    return family in PARSERS
