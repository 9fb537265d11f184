"""From raw text to words."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

__all__ = ["TOKENIZERS", "tokenize_treebank", "tokenize_tweet"]

_ASCII = str.maketrans({"“": " `` ", "”": " '' ", "‘": " ` ", "’": "'", "…": " ... ", "—": " -- "})
# A closing quote belongs to an opening one: an apostrophe stays where it is.
_IN_SINGLE_QUOTES = re.compile(r"(?<![^\s(\[{<])'(\w[^']*[^\s'])'(?![^\s.,;:!?)\]}>])")

# Importing NLTK, whose rules these are, takes longer than a model of words needs to answer.
_TREEBANK = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # Opening quotes.
        (r"^\"", "``"),
        (r"``", r" \g<0> "),
        (r"([ (\[{<])\"", r"\1 `` "),
        # Punctuation; of full stops the last one.
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
        # Closing quotes, and what is left of a contracted word.
        (r"''", " '' "),
        (r'"', " '' "),
        (r"([^' ])('[sSmMdD]|') ", r"\1 \2 "),
        (r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r"\1 \2 "),
        # Words that are two.
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
    r"""The words of a sentence, divided as in the Penn Treebank.

    Punctuation and what is left of a contracted word stand by themselves, and quotes are \`\` and
    ''. Brackets are not escaped. Text that is divided in this way already stays nearly always as it
    is. The rules are those of Robert MacIntyre's script for the treebank as NLTK has them, but a ''
    by itself stays a closing quote. Typographic quotes, dashes and ellipses are made ASCII first.

    Example:
        >>> tokenize_treebank('They don\'t "support" it (yet).')
        ['They', 'do', "n't", '``', 'support', "''", 'it', '(', 'yet', ')', '.']
    """
    text = _IN_SINGLE_QUOTES.sub(r" ` \1 ' ", text.translate(_ASCII))
    for pattern, replacement in _TREEBANK:
        text = pattern.sub(replacement, text)
    return text.split()


def tokenize_tweet(text: str) -> list[str]:
    """The words of a tweet in lower case, prepared as by Go et al. 2009.

    A user's name becomes *username* and an address *url*; of a letter that is repeated two are
    left (*looooong*, *loong*). Beyond the paper, entities of HTML are decoded and contractions are
    split as in the Penn Treebank, as word vectors have them.

    Example:
        >>> tokenize_tweet("@anna I don't like Moooondays :( http://a.b/c &amp; you?")
        ['username', 'i', 'do', "n't", 'like', 'moondays', ':(', 'url', '&', 'you', '?']
    """
    words: list[str] = []
    text = _AN_URL.sub(f" {_URL} ", text)
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
"""How raw text becomes words, by name; "whitespace" divides at blanks alone."""


@functools.cache
def _tweet_tokenizer() -> Any:
    from nltk.tokenize import TweetTokenizer

    return TweetTokenizer(preserve_case=False)
