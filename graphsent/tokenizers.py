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

_USER, _URL = "username", "url"
_A_USER = re.compile(r"@\w+")
_AN_URL = re.compile(r"\b(https?://|www\.)\S+", re.IGNORECASE)
_REPEATED_LETTER = re.compile(r"([^\W\d_])\1{2,}")
_CONTRACTION = re.compile(r"(?<=\w)(n't|'(?:s|m|d|re|ve|ll))$")


def tokenize_treebank(text: str) -> list[str]:
    r"""The words of a sentence, divided as in the Penn Treebank.

    Punctuation and what is left of a contracted word stand by themselves, and quotes are \`\` and
    ''. Brackets are not escaped. Text that is divided in this way already stays nearly always as it
    is. NLTK's tokenizer does it; typographic quotes, dashes and ellipses are made ASCII first.

    Example:
        >>> tokenize_treebank('They don\'t "support" it (yet).')
        ['They', 'do', "n't", '``', 'support', "''", 'it', '(', 'yet', ')', '.']
    """
    text = _IN_SINGLE_QUOTES.sub(r" ` \1 ' ", text.translate(_ASCII))
    return _treebank_tokenizer().tokenize(text)


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
def _treebank_tokenizer() -> Any:
    from nltk.tokenize import TreebankWordTokenizer

    class Tokenizer(TreebankWordTokenizer):
        # Without that of NLTK that makes an opening quote of a '' that stands by itself.
        STARTING_QUOTES = (
            (re.compile(r"^\""), r"``"),
            (re.compile(r"(``)"), r" \1 "),
            (re.compile(r"([ (\[{<])\""), r"\1 `` "),
        )

    return Tokenizer()


@functools.cache
def _tweet_tokenizer() -> Any:
    from nltk.tokenize import TweetTokenizer

    return TweetTokenizer(preserve_case=False)
