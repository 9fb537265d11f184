"""Word vectors in word2vec's binary format."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from graphsent.errors import DataError
from graphsent.tasks.vectors.files import FileVectors, open_binary, parse_header

_CHUNK_BYTES = 1 << 20
_LONGEST_WORD = 1 << 20


def read_binary(path: Path, wanted: Collection[str]) -> FileVectors:
    """Reads the vectors of the wanted words from a word2vec binary file, in chunks.

    The file starts with a line of two integers, the number of words and the dimension. Each entry
    is a word in UTF-8, one space, the vector as little-endian float32, and, depending on the
    program that wrote it, a newline. If a word has several vectors, the first counts.

    Args:
        path: A binary file, ``.gz`` or plain.
        wanted: The words to keep.

    Raises:
        DataError: There is no such header, or the file has fewer or more words than it says.
    """
    wanted_words = {word.encode("utf-8", "surrogatepass"): word for word in wanted}
    rows: dict[str, np.ndarray] = {}
    with open_binary(path) as stream:
        header = parse_header(stream.readline(_CHUNK_BYTES))
        if header is None or header[1] == 0:
            raise DataError(
                f"{path}:1: expected a header of two positive integers, the number of words and "
                "the dimension; is this a binary word2vec file?"
            )
        count, dimension = header
        for word, numbers in _records(path, stream, count, 4 * dimension):
            if word in wanted_words and wanted_words[word] not in rows:
                rows[wanted_words[word]] = np.frombuffer(numbers, "<f4")
    return FileVectors(dimension, rows)


def _records(
    path: Path, stream: BinaryIO, count: int, num_bytes: int
) -> Iterator[tuple[bytes, bytes]]:
    """Pairs of a word and the ``num_bytes`` bytes of its vector."""
    buffer = b""
    begin = 0
    for number in range(1, count + 1):
        while True:
            blank = buffer.find(b" ", begin)
            end = blank + 1 + num_bytes
            if blank >= 0 and end <= len(buffer):
                break
            if blank < 0 and len(buffer) - begin > _LONGEST_WORD:
                raise DataError(f"{path}: word {number} of {count} is longer than a MiB")
            chunk = stream.read(_CHUNK_BYTES)
            if not chunk:
                raise DataError(f"{path}: truncated: the file ends in word {number} of {count}")
            buffer = buffer[begin:] + chunk
            begin = 0
        yield buffer[begin:blank].lstrip(b"\n"), buffer[blank + 1 : end]
        begin = end
    if (buffer[begin:] + stream.read(2)).strip(b"\n"):
        raise DataError(f"{path}: continues after the {count} words that the header announces")
