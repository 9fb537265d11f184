"""The text that parsers read, and the words that they return."""

from __future__ import annotations

import functools
from typing import Any

from graphsent.trees import unescape

__all__ = ["as_text", "split_sentences", "word_token"]

# English ones, without the final full stop. After other words, a full stop ends the sentence unless
# a lower-case letter follows.
_ABBREVIATIONS = (
    "adj al approx apr asst aug ave capt cf co col corp dec dept dr e.g est etc feb fig gen gov "
    "hon i.e inc jan jr lt ltd maj messrs mr mrs ms mt no nov oct p.m a.m ph.d pres prof rep rev "
    "sen sept sgt sr st u.k u.n u.s vol vs"
)


def as_text(text: str) -> str:
    r"""The text as parsers expect it: single spaces, and no Penn Treebank escapes.

    Example:
        >>> as_text("  A film -LRB- 1993 -RRB-  and\ta sequel ")
        'A film ( 1993 ) and a sequel'
    """
    return " ".join(map(unescape, text.split()))


def word_token(word: str) -> str:
    """A word as dependency trees have it: without spaces, which some tokenizers leave inside.

    Example:
        >>> word_token("1 000")
        '1_000'
    """
    return "_".join(word.split())


def split_sentences(texts: list[str]) -> list[list[str]]:
    """Splits texts into sentences by NLTK's Punkt without a model, for parsers that do not.

    Example:
        >>> split_sentences(["Mr. Smith goes to Washington. A classic!"])
        [['Mr. Smith goes to Washington.', 'A classic!']]
    """
    splitter = _punkt()
    return [splitter.tokenize(text) for text in texts]


@functools.cache
def _punkt() -> Any:
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    parameters = PunktParameters()
    parameters.abbrev_types = set(_ABBREVIATIONS.split())
    return PunktSentenceTokenizer(parameters)
