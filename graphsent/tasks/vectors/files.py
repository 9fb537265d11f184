"""Shared by the readers of word vector files: opening them, and their result."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from graphsent._unpacking import open_unpacked
from graphsent.errors import DataError

_HEADER = re.compile(rb"\s*([0-9]{1,12})\s+([0-9]{1,6})\s*")  # no vector has more dimensions


class FileVectors(NamedTuple):
    """The wanted vectors of one file: ``rows[word]`` is (dimension,), floating point."""

    dimension: int
    rows: dict[str, np.ndarray]


@contextmanager
def open_binary(path: Path) -> Iterator[BinaryIO]:
    """Opens a file, gzipped if named ``*.gz``, for reading bytes.

    Raises:
        DataError: The file cannot be opened, or its compressed data are damaged, truncated or past
            the limit of :func:`~graphsent._unpacking.open_unpacked`; also raised inside the
            ``with`` block, since this may show only during reading.
    """
    try:
        with open_unpacked(path) as stream:
            yield stream
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path}: damaged or truncated gzip file: {error}") from None
    except OSError as error:
        raise DataError(
            f"{path}: cannot read the word vectors: {error.strerror or error}"
        ) from None


def parse_header(line: bytes) -> tuple[int, int] | None:
    """The number of words and the dimension, if ``line`` is a word2vec header: two integers."""
    match = _HEADER.fullmatch(line)
    return (int(match[1]), int(match[2])) if match else None
