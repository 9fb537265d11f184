r"""The Penn Treebank's escapes: ``-LRB-`` for a bracket, ``\/`` for a slash and so on."""

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
_ESCAPES = re.compile("|".join(map(re.escape, _CHARACTER_OF_ESCAPE)))


def unescape(token: str) -> str:
    r"""A token with its escapes undone, also where they are only a part of it.

    Quotes (\`\` and '') are no escapes: word vectors have them as they are.

    Example:
        >>> unescape("-LRB-"), unescape(r"actor\/director")
        ('(', 'actor/director')
    """
    if "-" not in token and "\\" not in token:
        return token
    return _ESCAPES.sub(lambda match: _CHARACTER_OF_ESCAPE[match[0]], token)


def escape(token: str) -> str:
    r"""A token as the Penn Treebank writes it; undone by :func:`unescape`.

    Example:
        >>> escape(":-)"), escape("and/or")
        (':--RRB-', 'and\\/or')
    """
    return "".join(_ESCAPE_OF_CHARACTER.get(character, character) for character in token)
