"""What the readers of word vector files share: opening, errors that name the file, the result."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from graphsent.errors import DataError

_BUFFER_BYTES = 1 << 20


class FileVectors(NamedTuple):
    """The wanted part of one file: ``rows[word]`` is (dimension,), a floating type."""

    dimension: int
    rows: dict[str, np.ndarray]


@contextmanager
def open_binary(path: Path) -> Iterator[BinaryIO]:
    """Opens a plain or (by its name, ``.gz``) compressed file for reading bytes.

    Raises:
        DataError: The file cannot be opened, or its compressed data are damaged or cut off. Both
            may show only while the file is read, so this also holds for the block.
    """
    try:
        with path.open("rb") as raw:
            if path.suffix == ".gz":
                with io.BufferedReader(gzip.GzipFile(fileobj=raw), _BUFFER_BYTES) as stream:
                    yield stream
            else:
                yield raw
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path}: damaged or truncated gzip file: {error}") from None
    except OSError as error:
        raise DataError(
            f"{path}: cannot read the word vectors: {error.strerror or error}"
        ) from None


def parse_header(line: bytes) -> tuple[int, int] | None:
    """The number of words and the dimension, if ``line`` is a word2vec header: two integers."""
    fields = line.split()
    if len(fields) == 2 and all(field.isdigit() for field in fields):
        return int(fields[0]), int(fields[1])
    return None


def format_suffix(path: str | os.PathLike[str]) -> str:
    """The suffix that names the format, lower-cased, without ``.gz``: ``a.BIN.gz`` -> ``.bin``."""
    name = os.fspath(path).lower()
    return Path(name.removesuffix(".gz")).suffix
