"""Pre-trained word vectors for a list of words, from one or more files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphsent._unpacking import format_suffix
from graphsent.errors import DataError
from graphsent.tasks.vectors.binary import read_binary
from graphsent.tasks.vectors.coverage import Coverage
from graphsent.tasks.vectors.files import FileVectors
from graphsent.tasks.vectors.npz import read_npz
from graphsent.tasks.vectors.text import read_text
from graphsent.trees import unescape
from graphsent.vocabulary import UNKNOWN

__all__ = ["WordVectors", "load_vectors"]

_UNKNOWN_BOUND = 0.05  # words without a vector are drawn from U(-bound, bound)
_READERS = {".npz": read_npz, ".bin": read_binary}  # by file name; text otherwise
_Path = str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class WordVectors:
    """One vector per word of a list.

    Attributes:
        words: The words, including ``<unk>`` if it was requested.
        matrix: (num_words, dimension) float32, row i for ``words[i]``.
        found: (num_words,) bool, False where no file has the word and the row is random.
        sources: Name and dimension of each file, in column order.
    """

    words: tuple[str, ...]
    matrix: np.ndarray
    found: np.ndarray
    sources: tuple[tuple[str, int], ...]

    @property
    def dimension(self) -> int:
        """Length of a vector, summed over the files."""
        return self.matrix.shape[1]

    def select(self, words: Iterable[str]) -> WordVectors:
        """The vectors, including random ones, of some of the words, in the given order.

        Args:
            words: A ``Vocabulary`` or words, all in ``self.words``.

        Raises:
            DataError: A word was not loaded.
        """
        wanted = tuple(words)
        rows = {word: row for row, word in enumerate(self.words)}
        try:
            order = np.array([rows[word] for word in wanted], np.int64)
        except KeyError as error:
            raise DataError(f"no vector was loaded for the word {error.args[0]!r}") from None
        return WordVectors(wanted, self.matrix[order], self.found[order], self.sources)

    def coverage(self, counts: Mapping[str, int] | None = None) -> Coverage:
        """How many words have a pre-trained vector.

        Args:
            counts: How often each word occurs in a corpus. Its words that are not in ``self.words``
                count as not found. Without it, every word but ``<unk>`` counts once, and tokens are
                not counted.
        """
        found = {word for word, is_found in zip(self.words, self.found, strict=True) if is_found}
        if counts is None:
            found.discard(UNKNOWN)
            return Coverage(len(set(self.words) - {UNKNOWN}), len(found))
        return Coverage(
            types=len(counts),
            types_found=sum(word in found for word in counts),
            tokens=sum(counts.values()),
            tokens_found=sum(count for word, count in counts.items() if word in found),
        )

    def summary(self, counts: Mapping[str, int] | None = None) -> str:
        """One line for people: files, dimensions and :meth:`coverage`."""
        files = " + ".join(f"{name} ({dimension})" for name, dimension in self.sources)
        return f"word vectors {files}: {self.coverage(counts)}"


def load_vectors(
    paths: _Path | Sequence[_Path], words: Iterable[str], *, seed: int = 0
) -> WordVectors:
    """Reads the vectors of ``words`` from one file, or concatenates those of several.

    The file name, with or without a final ``.gz``, gives the format: ``.npz`` (see
    :func:`~graphsent.tasks.vectors.npz.read_npz`), ``.bin`` (word2vec binary), anything else text
    (GloVe or word2vec). Text and binary files are streamed; only wanted vectors are kept in memory.

    A word is looked up as written, then lowercased, then without its Penn Treebank escapes, then
    without them and lowercased. A word that only some files have is zero in the columns of the
    others, so that they add no noise; a word that no file has is drawn from U(-0.05, 0.05) in all
    columns (as in Tai et al. 2015, ARNN and TreeNet).

    Args:
        paths: One or more files.
        words: A ``Vocabulary``, or distinct words; row i of the result belongs to word i.
        seed: Seed of the random vectors, which otherwise depend only on the order of the words.

    Raises:
        DataError: No file is given, one cannot be read or is malformed, or a vector that is needed
            is not finite.
    """
    files = [Path(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    if not files:
        raise DataError("expected at least one file of word vectors, got none")
    words = tuple(words)
    forms = [_forms(word) for word in words]
    wanted = {form for alternatives in forms for form in alternatives}

    columns, known, sources = [], [], []
    for path in files:
        file = _READERS.get(format_suffix(path), read_text)(path, wanted)
        of_file, is_known = _columns(path, file, forms)
        columns.append(of_file)
        known.append(is_known)
        sources.append((path.name, file.dimension))
    matrix = np.concatenate(columns, axis=1)
    found = np.logical_or.reduce(known)
    generator = np.random.default_rng(seed)
    missing = int(np.count_nonzero(~found)), matrix.shape[1]
    matrix[~found] = generator.uniform(-_UNKNOWN_BOUND, _UNKNOWN_BOUND, missing)
    return WordVectors(words, matrix, found, tuple(sources))


def _forms(word: str) -> tuple[str, ...]:
    """The spellings under which a word is looked up, in order of preference."""
    plain = unescape(word)
    return tuple(dict.fromkeys((word, word.lower(), plain, plain.lower())))


def _columns(
    path: Path, file: FileVectors, forms: Sequence[tuple[str, ...]]
) -> tuple[np.ndarray, np.ndarray]:
    """One file's columns, zero for words that it lacks, and which words it has."""
    columns = np.zeros((len(forms), file.dimension), np.float32)
    is_known = np.zeros(len(forms), bool)
    for row, alternatives in enumerate(forms):
        for form in alternatives:
            if form in file.rows:
                columns[row] = file.rows[form]
                is_known[row] = True
                break
    finite = np.isfinite(columns).all(axis=1)
    if not finite.all():
        word = forms[int(np.argmin(finite))][0]
        raise DataError(f"{path}: the vector of {word!r} is not finite")
    return columns, is_known
