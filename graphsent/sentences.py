"""A sentence without a tree."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import Any

import numpy as np

from graphsent.errors import DataError

__all__ = ["Phrase", "Sentence"]


class Sentence:
    """The words of a sentence, and its label.

    It has the structure-independent attributes of a tree, as a single node over all words, so that
    code that reads the words of trees also accepts sentences. Unlike a tree, it may be empty.

    Args:
        words: The words in order.
        label: Its label, in a corpus a decimal class index; ``""`` if it has none.

    Raises:
        DataError: A word is empty or not a string, ``words`` is a single string, or the label is
            not a string.

    Example:
        >>> sentence = Sentence(["a", "lovely", "film"], "3")
        >>> sentence.words, sentence.labels, sentence.spans.tolist()
        (['a', 'lovely', 'film'], ('3',), [[0, 3]])
    """

    words: list[str]
    label: str

    def __init__(self, words: Iterable[str], label: str = "") -> None:
        if isinstance(words, str):
            raise DataError(f"expected the words of a sentence, got one string: {words!r}")
        if not isinstance(label, str):
            raise DataError(f"label: expected a string, got {label!r}")
        self.words = list(words)
        self.label = label
        for number, word in enumerate(self.words, start=1):
            if not isinstance(word, str) or not word:
                raise DataError(f"word {number}: expected a non-empty string, got {word!r}")

    @property
    def labels(self) -> tuple[str, ...]:
        """The label of the single node."""
        return (self.label,)

    @property
    def num_nodes(self) -> int:
        """The number of nodes, 1."""
        return 1

    @cached_property
    def parents(self) -> np.ndarray:
        """The parent of the node, -1 as for a root."""
        return np.array([-1], np.int64)

    @property
    def root(self) -> int:
        """Index of the node, 0."""
        return 0

    @cached_property
    def depths(self) -> np.ndarray:
        """The depth of the node, 0."""
        return np.array([0], np.int64)

    @property
    def spans(self) -> np.ndarray:
        """The span of the node, which has all words, (1, 2) int64."""
        return np.array([[0, len(self.words)]], np.int64)

    @property
    def derived(self) -> dict[Hashable, Any]:
        """Always empty; nothing is derived from a sentence, since it is mutable, unlike a tree."""
        return {}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sentence):
            return NotImplemented
        return self.words == other.words and self.label == other.label

    def __hash__(self) -> int:
        return hash((*self.words, self.label))

    def __repr__(self) -> str:
        return f"Sentence({' '.join(self.words)!r}.split(), {self.label!r})"


class Phrase(Sentence):
    """A phrase of a longer sentence, as a separate example.

    Args:
        sentence: All words of the sentence.
        begin: Index of the first word of the phrase.
        end: Index after its last word.
        label: Label of the phrase.

    Raises:
        DataError: As for :class:`Sentence`.
    """

    sentence: tuple[str, ...]
    begin: int

    def __init__(self, sentence: tuple[str, ...], begin: int, end: int, label: str = "") -> None:
        super().__init__(sentence[begin:end], label)
        self.sentence = sentence
        self.begin = begin
