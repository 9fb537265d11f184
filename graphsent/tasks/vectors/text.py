"""Word vectors as text: GloVe, and word2vec's text format, which adds a header."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NoReturn

import numpy as np

from graphsent.errors import DataError
from graphsent.tasks.vectors.files import FileVectors, open_binary, parse_header

_LINE_ENDS = b" \t\r\n"


def read_text(path: Path, wanted: Collection[str]) -> FileVectors:
    """Reads the vectors of the wanted words from a text file, line by line.

    A line is a word and its numbers, separated by single spaces. A first line of two integers is
    word2vec's header (number of words, dimension); without it, the first line gives the dimension.
    Words on later lines may contain spaces, as some of GloVe 840B do. If a word has several lines,
    the first counts. The numbers of unwanted words are counted but not parsed.

    Args:
        path: A text file in UTF-8, gzipped or not.
        wanted: The words to keep.

    Raises:
        DataError: A line has too few or too many numbers, or something else in their place; the
            number of words is not the header's, or there are none. File and line are named.
    """
    # A candidate with spaces is recognized by its first part, and then checked in full.
    wanted_words = {word.encode("utf-8", "surrogatepass"): word for word in wanted}
    first_parts = {word.partition(b" ")[0] for word in wanted_words}
    rows: dict[str, np.ndarray] = {}
    with open_binary(path) as stream:
        lines = _Lines(path, stream)
        dimension = lines.dimension
        for line in lines:
            is_plain = line.count(b" ") == dimension
            if is_plain and line.partition(b" ")[0] not in first_parts:
                continue
            word, *numbers = line.rsplit(b" ", dimension)
            if not is_plain:
                _check_length(lines, word, numbers)
            if word in wanted_words and wanted_words[word] not in rows:
                rows[wanted_words[word]] = _parse_numbers(lines, numbers)
    return FileVectors(dimension, rows)


class _Lines:
    """The lines with vectors, without line ends; knows file and line for errors."""

    expected: int | None  # number of vectors that the header announces
    dimension: int

    def __init__(self, path: Path, stream: Iterator[bytes]) -> None:
        self.path = path
        self.number = 1
        self._stream = stream
        self._first = next(stream, b"").removeprefix(BOM_UTF8).rstrip(_LINE_ENDS)
        header = parse_header(self._first)
        self.expected, self.dimension = header or (None, self._first.count(b" "))
        if self.dimension == 0:
            self.fail("expected a word and its numbers, or a header of two positive integers")

    def __iter__(self) -> Iterator[bytes]:
        count = 0
        if self.expected is None:
            count = 1
            yield self._first
        for self.number, line in enumerate(self._stream, start=2):  # noqa: B020
            stripped = line.rstrip(_LINE_ENDS)
            if stripped:
                count += 1
                yield stripped
        if self.expected is not None and count != self.expected:
            raise DataError(
                f"{self.path}: the header announces {self.expected} words, but the file has {count}"
            )

    def fail(self, message: str) -> NoReturn:
        raise DataError(f"{self.path}:{self.number}: {message}")


def _check_length(lines: _Lines, word: bytes, numbers: list[bytes]) -> None:
    found = len(numbers)
    if found == lines.dimension:
        # Either the word has spaces, or the line is too long: then the word ends in a number.
        surplus = word.split(b" ")[1:]
        if not _is_number(surplus[-1]):
            return
        found += len(surplus)
    lines.fail(
        f"expected {lines.dimension} numbers after the word, as on the first line, got {found}"
    )


def _parse_numbers(lines: _Lines, numbers: list[bytes]) -> np.ndarray:
    try:
        with np.errstate(over="ignore"):  # infinite numbers are an error later
            return np.array([float(number) for number in numbers], np.float32)
    except ValueError:
        wrong = next(number for number in numbers if not _is_number(number))
        lines.fail(f"expected a number, got {wrong.decode('utf-8', 'replace')!r}")


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
