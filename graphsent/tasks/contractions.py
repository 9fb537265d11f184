"""Splits contractions and quotes, in corpora that are otherwise tokenized."""

from __future__ import annotations

import re

__all__ = ["divide"]

# do n 't and don 't, as some corpora have them.
_SPLIT_NOT = re.compile(r"(?<!\S)([a-z]*)n 't(?!\S)")
# Elisions (rock 'n' roll, the '70s, makin') keep their apostrophe; endings already split stay.
_WHOLE = re.compile(
    r"'(?:n'?|em|til|tis|hood)|(?:ol|lil|[\w-]+in)'|'(?:s|m|d|re|ve|ll|t|')", re.IGNORECASE
)
_QUOTED_LETTER = re.compile(r"(')(\w)(')")
_OPENING = re.compile(r"(''|'(?=[a-z].))(.+)", re.IGNORECASE)
_ENDING = re.compile(
    r"(?:(can)(not)|(.*[^'])(n't|(?<=[!-~])'(?:s|m|d|re|ve|ll)|(?<=.[^'])'))", re.IGNORECASE
)


def divide(line: str) -> list[str]:
    """The words of a line, with contractions and possessives split as in the Penn Treebank.

    Single quotes at the edge of a word are separate words. A lone backslash becomes a slash, since
    it is an escape character in bracketed trees.

    Example:
        >>> divide("isn't the film's 'comedy' about the '70s ?")
        ['is', "n't", 'the', 'film', "'s", "'", 'comedy', "'", 'about', 'the', "'70s", '?']
    """
    words = (word for token in _SPLIT_NOT.sub(r"\1n't", line).split() for word in _split(token))
    return ["/" if word == "\\" else word for word in words]


def _split(token: str) -> list[str]:
    if "'" not in token and token.lower() != "cannot":  # most words
        return [token]
    if _WHOLE.fullmatch(token):
        return [token]
    if match := _QUOTED_LETTER.fullmatch(token):
        return list(match.groups())
    if match := _OPENING.fullmatch(token):
        return [match[1], *_split(match[2])]
    if match := _ENDING.fullmatch(token):
        first, ending = filter(None, match.groups())
        return [*_split(first), ending]
    return [token]
