"""Compressed files, read up to a limit: a small file may unpack to more than fits in memory."""

from __future__ import annotations

import gzip
import io
import os
import re
import zipfile
import zlib
from pathlib import Path
from typing import Any

from graphsent.errors import DataError

__all__ = [
    "LIMIT_VARIABLE",
    "UNREADABLE",
    "check_unpacked",
    "format_suffix",
    "is_gzipped",
    "open_unpacked",
]

LIMIT_VARIABLE = "GRAPHSENT_MAX_UNPACKED"
# Raised for damaged archives; RuntimeError for a missing password or compression method.
UNREADABLE = (OSError, EOFError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error)
_DEFAULT = 1 << 30
_USUAL_RATIO = 20  # text compresses 3 to 10 times, a zip bomb about 1000 times
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_BUFFER_BYTES = 1 << 20


def is_gzipped(path: str | os.PathLike[str]) -> bool:
    """Whether a file is gzipped, judged by its name."""
    return os.fspath(path).lower().endswith(".gz")


def format_suffix(path: str | os.PathLike[str]) -> str:
    """The suffix that names the format, lowercased, without ``.gz``: ``a.BIN.gz`` -> ``.bin``."""
    return Path(os.fspath(path).lower().removesuffix(".gz")).suffix


def open_unpacked(path: Path) -> io.BufferedReader:
    """Opens a file for reading bytes, decompressed if named ``*.gz``; use it in a ``with`` block.

    A gzipped file may unpack to at most ``GRAPHSENT_MAX_UNPACKED`` bytes (an environment variable
    such as ``500M`` or ``8G``); by default to 1 GiB, or 20 times its own size if that is more.

    Raises:
        OSError: The file cannot be opened.
        DataError: The variable is not a size; or, while the file is read, it exceeds the limit.
    """
    if not is_gzipped(path):
        return path.open("rb")
    limit = _limit(path.stat().st_size)
    return io.BufferedReader(_Limited(gzip.open(path), path, limit), _BUFFER_BYTES)


def check_unpacked(archive: zipfile.ZipFile, path: Path, names: list[str]) -> None:
    """Checks that members of a zip archive stay within the limit of :func:`open_unpacked`.

    ``zipfile`` never unpacks a member to more than the size in the archive's directory.

    Args:
        archive: The archive.
        path: Its file, for the error.
        names: Members; missing ones are ignored.

    Raises:
        DataError: They exceed the limit, or the variable is not a size.
    """
    members = [member for member in archive.infolist() if member.filename in names]
    limit = _limit(sum(member.compress_size for member in members))
    if sum(member.file_size for member in members) > limit:
        raise _too_large(path, limit)


class _Limited(io.RawIOBase):
    """A stream that fails once more than a limit of bytes has been read."""

    def __init__(self, stream: gzip.GzipFile, path: Path, limit: int) -> None:
        self._stream = stream
        self._path = path
        self._limit = limit
        self._left = limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:  # a writable buffer; typed since Python 3.12
        count = self._stream.readinto(buffer)
        self._left -= count
        if self._left < 0:
            raise _too_large(self._path, self._limit)
        return count

    def close(self) -> None:
        self._stream.close()
        super().close()


def _limit(packed: int) -> int:
    given = os.environ.get(LIMIT_VARIABLE)
    if not given:
        return max(_DEFAULT, _USUAL_RATIO * packed)
    match = re.fullmatch(r"([0-9]{1,18})([KMGT]?)(?:i?B)?", given.strip(), re.IGNORECASE)
    if match is None:
        raise DataError(
            f"{LIMIT_VARIABLE}: expected a size in bytes such as 500M or 8G, got {given!r}"
        )
    return int(match[1]) << _UNITS[match[2].upper()]


def _too_large(path: Path, limit: int) -> DataError:
    return DataError(
        f"{path} unpacks to more than {limit:,} bytes: if this is intended, set {LIMIT_VARIABLE}, "
        "for example to 8G"
    )
