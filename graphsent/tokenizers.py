"""Tokenizers of raw text."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

__all__ = ["TOKENIZERS", "tokenize_treebank", "tokenize_tweet"]

_ASCII = str.maketrans({"“": " `` ", "”": " '' ", "‘": " ` ", "’": "'", "…": " ... ", "—": " -- "})
# A closing quote needs an opening one, so apostrophes are left alone.
_IN_SINGLE_QUOTES = re.compile(r"(?<![^\s(\[{<])'(\w[^']*[^\s'])'(?![^\s.,;:!?)\]}>])")

# These are NLTK's rules; importing NLTK takes longer than a prediction.
_TREEBANK = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # Opening quotes.
        (r"^\"", "``"),
        (r"``", r" \g<0> "),
        (r"([ (\[{<])\"", r"\1 `` "),
        # Punctuation; of full stops, only the last one.
        (r"([:,])([^\d])", r" \1 \2"),
        (r"([:,])$", r" \1 "),
        (r"\.\.\.", " ... "),
        (r"[;@#$%&]", r" \g<0> "),
        (r"([^.])(\.)([\])}>\"']*)\s*$", r"\1 \2\3 "),
        (r"[?!]", r" \g<0> "),
        (r"([^'])' ", r"\1 ' "),
        (r"[\]\[(){}<>]", r" \g<0> "),
        (r"--", " -- "),
        (r"\A|\Z", " "),
        # Closing quotes and contractions.
        (r"''", " '' "),
        (r'"', " '' "),
        (r"([^' ])('[sSmMdD]|') ", r"\1 \2 "),
        (r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r"\1 \2 "),
        # Two words written as one.
        (r"(?i)\b(can)(not)\b", r" \1 \2 "),
        (r"(?i)\b(d)('ye)\b", r" \1 \2 "),
        (r"(?i)\b(gim)(me)\b", r" \1 \2 "),
        (r"(?i)\b(gon)(na)\b", r" \1 \2 "),
        (r"(?i)\b(got)(ta)\b", r" \1 \2 "),
        (r"(?i)\b(lem)(me)\b", r" \1 \2 "),
        (r"(?i)\b(more)('n)\b", r" \1 \2 "),
        (r"(?i)\b(wan)(na)(?=\s)", r" \1 \2 "),
        (r"(?i) ('t)(is)\b", r" \1 \2 "),
        (r"(?i) ('t)(was)\b", r" \1 \2 "),
    )
]

_USER, _URL = "username", "url"
_A_USER = re.compile(r"@\w+")
_AN_URL = re.compile(r"\b(https?://|www\.)\S+", re.IGNORECASE)
_REPEATED_LETTER = re.compile(r"([^\W\d_])\1{2,}")
_CONTRACTION = re.compile(r"(?<=\w)(n't|'(?:s|m|d|re|ve|ll))$")


def tokenize_treebank(text: str) -> list[str]:
    r"""Tokenizes a sentence as in the Penn Treebank.

    Punctuation and contractions are split off, and quotes become \`\` and ''. Brackets are not
    escaped. Text that is already tokenized in this way nearly always stays unchanged. The rules are
    those of Robert MacIntyre's treebank script, as implemented in NLTK, except that a '' by itself
    stays a closing quote, and that any whitespace counts as a space. Typographic quotes, dashes and
    ellipses are first converted to ASCII.

    Example:
        >>> tokenize_treebank('They don\'t "support" it (yet).')
        ['They', 'do', "n't", '``', 'support', "''", 'it', '(', 'yet', ')', '.']
    """
    text = _IN_SINGLE_QUOTES.sub(r" ` \1 ' ", _single_spaced(text).translate(_ASCII))
    for pattern, replacement in _TREEBANK:
        text = pattern.sub(replacement, text)
    return text.split()


def tokenize_tweet(text: str) -> list[str]:
    """Tokenizes and lowercases a tweet, with the preprocessing of Go et al. 2009.

    User names become *username* and addresses *url*; a letter repeated more than twice is reduced
    to two (*looooong*, *loong*). Beyond the paper, HTML entities are decoded, and contractions are
    split as in the Penn Treebank, to match word vectors.

    Example:
        >>> tokenize_tweet("@anna I don't like Moooondays :( http://a.b/c &amp; you?")
        ['username', 'i', 'do', "n't", 'like', 'moondays', ':(', 'url', '&', 'you', '?']
    """
    words: list[str] = []
    text = _AN_URL.sub(f" {_URL} ", _single_spaced(text))
    for token in _tweet_tokenizer().tokenize(text):
        if _A_USER.fullmatch(token):
            words.append(_USER)
        else:
            token = _REPEATED_LETTER.sub(r"\1\1", token)
            words += filter(None, _CONTRACTION.split(token))
    return words


TOKENIZERS: dict[str, Callable[[str], list[str]]] = {
    "treebank": tokenize_treebank,
    "tweet": tokenize_tweet,
    "whitespace": str.split,
}
"""Tokenizers by name; "whitespace" splits at whitespace only."""


def _single_spaced(text: str) -> str:
    """The text with single spaces, which rules expect: a table may hold newlines, for instance."""
    return " ".join(text.split())


@functools.cache
def _tweet_tokenizer() -> Any:
    from nltk.tokenize import TweetTokenizer

    return TweetTokenizer(preserve_case=False)
