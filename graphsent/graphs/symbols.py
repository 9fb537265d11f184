"""Words and labels as integers: one lookup per distinct string of a batch."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np

from graphsent.errors import DataError
from graphsent.vocabulary import Vocabulary

NOTHING = -1  # index of a missing word and of a missing label
_LONGEST_INTEGER = 18  # decimal digits that always fit int64


class SymbolIndex(Protocol):
    """Anything that maps strings to integers: a Vocabulary, a dict, a custom object."""

    def __getitem__(self, symbol: str, /) -> int: ...


class _Memory(dict):
    """Caches ``find(symbol)``, so that a slow lookup runs once per distinct symbol."""

    def __init__(self, find: Callable[[str], int]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, symbol: str) -> int:
        index = self[symbol] = self._find(symbol)
        return index


def _indices(symbols: Iterable[str], find: Callable[[str], int], count: int) -> np.ndarray:
    return np.fromiter(map(_Memory(find).__getitem__, symbols), np.int64, count)


def _finder(index: SymbolIndex, what: str, hint: str) -> Callable[[str], int]:
    def find(symbol: str) -> int:
        try:
            found = index[symbol]
        except LookupError:
            raise DataError(f"{what} {symbol!r} is missing from {hint}") from None
        try:
            return operator.index(found)
        except TypeError:
            raise DataError(f"{what} {symbol!r}: expected an integer, got {found!r}") from None

    return find


def token_indices(words: Iterable[str], vocab: SymbolIndex, count: int) -> np.ndarray:
    """``vocab[word]`` for each of ``count`` words, (count,) int64.

    Raises:
        DataError: The vocabulary has no entry, or a non-integer one, for a word.
    """
    if isinstance(vocab, Vocabulary):
        return np.fromiter(vocab.indices(words), np.int64, count)
    return _indices(words, _finder(vocab, "word", "the vocabulary"), count)


def label_indices(labels: Iterable[str], label_index: SymbolIndex | None, count: int) -> np.ndarray:
    """Class of each of ``count`` labels: ``label_index[label]``, or the decimal number it spells.

    The empty label is -1 (unlabelled). Without ``label_index``, so is any label that is not a
    decimal number; with it, every label needs an entry (a ``defaultdict`` can provide the rest).

    Returns:
        (count,) int64.

    Raises:
        DataError: ``label_index`` has no entry, or a non-integer one, for a label.
    """
    if label_index is None:
        return _indices(labels, _decimal, count)
    find = _finder(label_index, "label", "label_index")

    def find_unless_empty(label: str) -> int:
        return find(label) if label else NOTHING

    return _indices(labels, find_unless_empty, count)


def _decimal(label: str) -> int:
    is_number = label.isascii() and label.isdigit() and len(label) <= _LONGEST_INTEGER
    return int(label) if is_number else NOTHING
