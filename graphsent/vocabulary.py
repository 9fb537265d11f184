"""Words and their integer indices."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any, Protocol

from graphsent._files import atomic_path
from graphsent.errors import DataError

__all__ = ["UNKNOWN", "Vocabulary"]

UNKNOWN = "<unk>"
_FORMAT_VERSION = 1


class _HasWords(Protocol):
    @property
    def words(self) -> Sequence[str]: ...


class Vocabulary:
    """An immutable numbering of words; index 0 is ``<unk>`` and stands for every unknown word.

    Words are kept as they come: case and unusual characters count. The unknown word may lead
    ``words`` or be left out, so that ``Vocabulary(vocab.words) == vocab``.

    Args:
        words: Distinct words in the order of their indices, from 1.

    Raises:
        DataError: If a word comes twice, is empty or is no string.

    Example:
        >>> vocab = Vocabulary(["good", "film"])
        >>> len(vocab), vocab["film"], vocab["Film"], vocab.words
        (3, 2, 0, ('<unk>', 'good', 'film'))
    """

    __slots__ = ("_indices", "_words")

    def __init__(self, words: Iterable[str]) -> None:
        if isinstance(words, str):
            raise DataError(f"expected a sequence of words, got one string: {words!r}")
        words = tuple(words)
        if words[:1] != (UNKNOWN,):
            words = (UNKNOWN, *words)
        self._words: tuple[str, ...] = words
        self._indices: dict[str, int] = {}
        for index, word in enumerate(words):
            if not isinstance(word, str) or not word:
                raise DataError(f"word {index}: expected a non-empty string, got {word!r}")
            if self._indices.setdefault(word, index) != index:
                raise DataError(
                    f"word {index}: {word!r} is in the vocabulary already, as word "
                    f"{self._indices[word]}"
                )

    @classmethod
    def from_trees(cls, trees: Iterable[_HasWords], min_count: int = 1) -> Vocabulary:
        """Collects the words of trees in the order of their first appearance.

        Args:
            trees: Objects with a sequence ``words``, of any kind.
            min_count: Words that come less often are left out.

        Raises:
            DataError: If ``min_count`` is below 1.
        """
        if min_count < 1:
            raise DataError(f"min_count: expected at least 1, got {min_count}")
        counts: Counter[str] = Counter()
        for tree in trees:
            counts.update(tree.words)
        del counts[UNKNOWN]
        return cls(word for word, count in counts.items() if count >= min_count)

    def union(self, words: Iterable[str]) -> Vocabulary:
        """A vocabulary with the new ones among ``words`` after the present ones, in their order."""
        return Vocabulary(dict.fromkeys((*self._words, *words)))

    @property
    def words(self) -> tuple[str, ...]:
        """All words by index, ``<unk>`` first."""
        return self._words

    def __getitem__(self, word: str) -> int:
        return self._indices.get(word, 0)

    def indices(self, words: Iterable[str]) -> Iterator[int]:
        """``self[word]`` for each of some words, faster."""
        return map(self._indices.get, words, repeat(0))

    def __contains__(self, word: object) -> bool:
        return word in self._indices

    def __len__(self) -> int:
        return len(self._words)

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self._words == other._words

    def __hash__(self) -> int:
        return hash(self._words)

    def __reduce__(self) -> tuple[type[Vocabulary], tuple[tuple[str, ...]]]:
        return Vocabulary, (self._words,)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} words)"

    def to_json(self) -> str:
        """A JSON object with ``format_version`` and ``words``, one word a line."""
        content = {"format_version": _FORMAT_VERSION, "words": self._words}
        return json.dumps(content, ensure_ascii=False, indent=0) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Vocabulary:
        """Inverse of :meth:`to_json`.

        Raises:
            DataError: If ``text`` is not such an object, or its words are no vocabulary.
        """
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataError(f"expected a vocabulary in JSON: {error}") from None
        return cls(_checked_words(content))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the vocabulary to one JSON file, whole or not at all."""
        with atomic_path(path) as temporary:
            temporary.write_text(self.to_json(), encoding="utf-8", newline="\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Vocabulary:
        """Reads what :meth:`save` wrote.

        Raises:
            DataError: If the file cannot be read or holds no vocabulary.
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
    return words
