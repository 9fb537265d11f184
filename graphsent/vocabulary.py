"""Words and their integer indices."""

from __future__ import annotations

import functools
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from graphsent._files import write_atomically
from graphsent.errors import DataError

__all__ = ["UNKNOWN", "Vocabulary"]

UNKNOWN = "<unk>"
_FORMAT_VERSION = 1
_FLAGS = ("lower_fallback", "lower")
_BRACKET = re.compile(r"(-[LR][RCS]B-)")  # as written in the Penn Treebank


class _Indices(dict[str, int]):
    """The index of each word; 0 for an unknown word."""

    def __missing__(self, word: str) -> int:
        return 0


class _IndicesOrLower(_Indices):
    """The index of each word, or of its lower-case form if it is unknown as written."""

    def __missing__(self, word: str) -> int:
        return self.get(word.lower(), 0)


class _LowerIndices(_Indices):
    """The index of each word in lower case."""

    def __missing__(self, word: str) -> int:
        return self.get(_lower(word), 0)


class _HasWords(Protocol):
    @property
    def words(self) -> Sequence[str]: ...


class Vocabulary:
    """An immutable mapping of words to indices; index 0 is ``<unk>``, for all unknown words.

    Words are kept unchanged: case and unusual characters matter. ``words`` may begin with ``<unk>``
    or omit it, so that ``vocab.with_words(vocab.words) == vocab``.

    Args:
        words: Distinct words in the order of their indices, from 1.
        lower_fallback: Whether a word that is not in the vocabulary as written is looked up in
            lower case before it is considered unknown; ``in`` never falls back. The flag is saved
            with the words; files without it load as False.
        lower: Whether all words are lowercase, and words are lowercased before they are looked up.
            Brackets stay as written in the Penn Treebank (``-LRB-``). Saved like
            ``lower_fallback``.

    Raises:
        DataError: If a word is duplicate, empty or not a string, or, with ``lower``, not lowercase.

    Example:
        >>> vocab = Vocabulary(["good", "film"])
        >>> len(vocab), vocab["film"], vocab["Film"], vocab.words
        (3, 2, 0, ('<unk>', 'good', 'film'))
        >>> Vocabulary(["good", "film"], lower_fallback=True)["Film"]
        2
    """

    __slots__ = ("_indices", "_lower", "_lower_fallback", "_words")

    def __init__(
        self, words: Iterable[str], *, lower_fallback: bool = False, lower: bool = False
    ) -> None:
        if isinstance(words, str):
            raise DataError(f"expected a sequence of words, got one string: {words!r}")
        words = tuple(words)
        if words[:1] != (UNKNOWN,):
            words = (UNKNOWN, *words)
        self._words: tuple[str, ...] = words
        self._lower_fallback = lower_fallback
        self._lower = lower
        self._indices: dict[str, int] = (
            _LowerIndices() if lower else _IndicesOrLower() if lower_fallback else _Indices()
        )
        for index, word in enumerate(words):
            if not isinstance(word, str) or not word:
                raise DataError(f"word {index}: expected a non-empty string, got {word!r}")
            if self.normal(word) != word:
                raise DataError(f"word {index}: expected lower case, got {word!r}")
            if self._indices.setdefault(word, index) != index:
                raise DataError(
                    f"word {index}: {word!r} is already in the vocabulary, as word "
                    f"{self._indices[word]}"
                )

    @classmethod
    def from_trees(
        cls,
        trees: Iterable[_HasWords],
        min_count: int = 1,
        *,
        lower_fallback: bool = False,
        lower: bool = False,
    ) -> Vocabulary:
        """Collects the words of trees in the order of their first occurrence.

        Args:
            trees: Any objects with a sequence ``words``.
            min_count: Words with fewer occurrences are omitted.
            lower_fallback: See the class.
            lower: Whether to lowercase words, see the class.

        Raises:
            DataError: If ``min_count`` is below 1.
        """
        counts: Counter[str] = Counter()
        for tree in trees:
            counts.update(tree.words)
        return cls.from_counts(counts, min_count, lower_fallback=lower_fallback, lower=lower)

    @classmethod
    def from_counts(
        cls,
        word_counts: Mapping[str, int],
        min_count: int = 1,
        *,
        lower_fallback: bool = False,
        lower: bool = False,
    ) -> Vocabulary:
        """Collects counted words in their order.

        Args:
            word_counts: Number of occurrences of each word as written.
            min_count: As in :meth:`from_trees`.
            lower_fallback: As in :meth:`from_trees`.
            lower: As in :meth:`from_trees`.

        Raises:
            DataError: If ``min_count`` is below 1.
        """
        if min_count < 1:
            raise DataError(f"min_count: expected at least 1, got {min_count}")
        counts: Counter[str] = Counter()
        for word, count in word_counts.items():
            counts[_lower(word) if lower else word] += count
        del counts[UNKNOWN]
        kept = (word for word, count in counts.items() if count >= min_count)
        return cls(kept, lower_fallback=lower_fallback, lower=lower)

    def union(self, words: Iterable[str]) -> Vocabulary:
        """A vocabulary that also has the new words among ``words``, appended in order."""
        return self.with_words(dict.fromkeys((*self._words, *map(self.normal, words))))

    def with_words(self, words: Iterable[str]) -> Vocabulary:
        """A vocabulary of other words with the same lookup flags."""
        return Vocabulary(words, lower_fallback=self._lower_fallback, lower=self._lower)

    @property
    def words(self) -> tuple[str, ...]:
        """All words by index, ``<unk>`` first."""
        return self._words

    @property
    def lower_fallback(self) -> bool:
        """Whether a word that is unknown as written is looked up in lower case."""
        return self._lower_fallback

    @property
    def lower(self) -> bool:
        """Whether words are lowercased before they are looked up."""
        return self._lower

    def normal(self, word: str) -> str:
        """The word as it is looked up: lowercased with ``lower``, otherwise unchanged."""
        return _lower(word) if self._lower else word

    def __getitem__(self, word: str) -> int:
        return self._indices[word]

    def indices(self, words: Iterable[str]) -> Iterator[int]:
        """``self[word]`` for each word, faster."""
        return map(self._indices.__getitem__, words)

    def unknown(self, words: Iterable[str]) -> Iterator[str]:
        """The words that map to ``<unk>``, except ``<unk>`` itself."""
        return (word for word in words if not self._indices[word] and word != UNKNOWN)

    def __contains__(self, word: object) -> bool:
        return word in self._indices

    def __len__(self) -> int:
        return len(self._words)

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self._state == other._state

    def __hash__(self) -> int:
        return hash(self._state)

    @property
    def _state(self) -> tuple[tuple[str, ...], bool, bool]:
        return self._words, self._lower_fallback, self._lower

    def __reduce__(self) -> tuple[Any, ...]:
        make = functools.partial(Vocabulary, lower_fallback=self._lower_fallback, lower=self._lower)
        return make, (self._words,)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} words)"

    def to_json(self) -> str:
        """A JSON object with ``format_version`` and ``words``, one word per line.

        ``lower_fallback`` and ``lower`` precede the words if they are true.
        """
        flags = {name: True for name in _FLAGS if getattr(self, name)}
        content = {"format_version": _FORMAT_VERSION, **flags, "words": self._words}
        return json.dumps(content, ensure_ascii=False, indent=0) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Vocabulary:
        """Inverse of :meth:`to_json`.

        Raises:
            DataError: If ``text`` is not such an object, or its words are invalid.
        """
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataError(f"expected a vocabulary in JSON: {error}") from None
        words = _checked_words(content)
        return cls(words, **{name: content.get(name, False) for name in _FLAGS})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the vocabulary to a JSON file, atomically."""
        write_atomically(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Vocabulary:
        """Reads a file written by :meth:`save`.

        Raises:
            DataError: If the file cannot be read or is not a vocabulary.
        """
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise DataError(f"{path}: cannot read the vocabulary: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise DataError(f"{path}: expected UTF-8 text: {error}") from None
        except DataError as error:
            raise DataError(f"{path}: {error}") from None


def _checked_words(content: Any) -> list[str]:
    if not isinstance(content, dict) or not {"format_version", "words"} <= content.keys():
        raise DataError("expected a JSON object with 'format_version' and 'words'")
    if content["format_version"] != _FORMAT_VERSION:
        raise DataError(
            f"expected vocabulary format {_FORMAT_VERSION}, got {content['format_version']!r}"
        )
    words = content["words"]
    if not isinstance(words, list) or words[:1] != [UNKNOWN]:
        raise DataError(f"expected 'words' to be a list that starts with {UNKNOWN!r}")
    for name in _FLAGS:
        if not isinstance(content.get(name, False), bool):
            raise DataError(f"expected {name!r} to be true or false, got {content[name]!r}")
    return words


def _lower(word: str) -> str:
    """Lowercases a word, except Penn Treebank brackets, which word vectors have as written."""
    if "B-" not in word:
        return word.lower()
    return "".join(
        part if _BRACKET.fullmatch(part) else part.lower() for part in _BRACKET.split(word)
    )
