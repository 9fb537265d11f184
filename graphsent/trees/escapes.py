r"""Penn Treebank escapes: ``-LRB-`` for a bracket, ``\/`` for a slash and so on."""

from __future__ import annotations

import re

_CHARACTER_OF_ESCAPE = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LCB-": "{",
    "-RCB-": "}",
    "-LSB-": "[",
    "-RSB-": "]",
    r"\/": "/",
    r"\*": "*",
}
_ESCAPE_OF_CHARACTER = {character: escape for escape, character in _CHARACTER_OF_ESCAPE.items()}
_OF_ROUND_BRACKETS = str.maketrans({each: _ESCAPE_OF_CHARACTER[each] for each in "()"})
_ESCAPES = re.compile("|".join(map(re.escape, _CHARACTER_OF_ESCAPE)))
_UNBLANK = re.compile(r"\S+", re.ASCII)  # other whitespace does not separate in brackets


def unescape(token: str) -> str:
    r"""Undoes the escapes in a token, even if they are only a part of it.

    Quotes (\`\` and '') are not escapes: word vectors also have them.

    Example:
        >>> unescape("-LRB-"), unescape(r"actor\/director")
        ('(', 'actor/director')
    """
    if "-" not in token and "\\" not in token:
        return token
    return _ESCAPES.sub(lambda match: _CHARACTER_OF_ESCAPE[match[0]], token)


def escape(token: str) -> str:
    r"""Escapes a token as in the Penn Treebank; undone by :func:`unescape`.

    Example:
        >>> escape(":-)"), escape("and/or")
        (':--RRB-', 'and\\/or')
    """
    return "".join(_ESCAPE_OF_CHARACTER.get(character, character) for character in token)


def bracket_token(word: str) -> str:
    """A word as bracketed trees have it: parentheses are escaped as in the Penn Treebank.

    Underscores replace ASCII whitespace. Other characters, such as no-break spaces, are unchanged,
    as in the parses of the benchmark corpora.

    Example:
        >>> bracket_token(":-)"), bracket_token("[a]"), bracket_token("-LRB-")
        (':--RRB-', '[a]', '-LRB-')
    """
    return "_".join(_UNBLANK.findall(word)).translate(_OF_ROUND_BRACKETS)


def as_label(name: str) -> str:
    """The label that stands for the name of a class in a bracketed tree.

    Example:
        >>> as_label("very positive")
        'very_positive'
    """
    return bracket_token(name)
