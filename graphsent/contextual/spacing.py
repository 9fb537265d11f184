"""Detokenization: text from the words of a tree, with the character range of each word."""

from __future__ import annotations

from collections.abc import Sequence

from graphsent.trees import unescape

__all__ = ["text_of_words"]

_QUOTES = {"``": '"', "''": '"', "`": "'"}
# Penn Treebank tokens written without a space before them, and without a space after them.
_CONTRACTED = frozenset(("n't", "'s", "'m", "'d", "'re", "'ve", "'ll"))
_CLOSING = _CONTRACTED | {",", ".", ":", ";", "!", "?", "...", "%", ")", "]", "}", "''", "'"}
_OPENING = frozenset(("(", "[", "{", "``", "`", "$", "#"))


def text_of_words(words: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    r"""Reconstructs the text that words were tokenized from, as far as possible.

    Escapes and quotes of the Penn Treebank are undone. Punctuation and clitics such as ``n't`` are
    attached to their neighbours; all other words are separated by spaces.

    Args:
        words: The words of a sentence.

    Returns:
        The text, and the half-open character range of each word.

    Example:
        >>> text, _ = text_of_words("They do n't `` stop '' -LRB- yet -RRB- .".split())
        >>> print(text)
        They don't "stop" (yet).
    """
    pieces: list[str] = []
    spans: list[tuple[int, int]] = []
    end, is_open = 0, True  # nothing stands before the first word
    for word in words:
        plain = unescape(word)
        if not is_open and plain.lower() not in _CLOSING:
            pieces.append(" ")
            end += 1
        is_open = plain in _OPENING
        pieces.append(_QUOTES.get(plain, plain))
        spans.append((end, end + len(pieces[-1])))
        end = spans[-1][1]
    return "".join(pieces), spans
