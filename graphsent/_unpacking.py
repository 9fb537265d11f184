"""Compressed files, read up to a limit: a small one may unpack to more than any memory."""

from __future__ import annotations

import gzip
import io
import os
import re
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO

from graphsent.errors import DataError

__all__ = ["LIMIT_VARIABLE", "UNREADABLE", "check_unpacked", "open_gzip"]

LIMIT_VARIABLE = "GRAPHSENT_MAX_UNPACKED"
# What reading a damaged archive raises; RuntimeError where a password or a method is lacking.
UNREADABLE = (OSError, EOFError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error)
_DEFAULT = 1 << 30
_USUAL_RATIO = 20  # text packs to a third or a tenth; a file made to do harm, to a thousandth
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_BUFFER_BYTES = 1 << 20


def open_gzip(path: Path) -> BinaryIO:
    """Opens a gzip file for reading what is in it; use it in a ``with`` statement.

    It may unpack to as many bytes as the environment variable ``GRAPHSENT_MAX_UNPACKED`` says
    (``500M``, ``8G``); without it to 1 GiB, or 20 times its own size if that is more.

    Raises:
        OSError: The file cannot be opened.
        DataError: While it is read, if it goes past the limit; or the variable is no number.
    """
    limit = _limit(path.stat().st_size)
    return io.BufferedReader(_Limited(gzip.open(path), path, limit), _BUFFER_BYTES)


def check_unpacked(archive: zipfile.ZipFile, path: Path, names: list[str]) -> None:
    """Checks that some members of a zip archive stay within the limit of :func:`open_gzip`.

    ``zipfile`` unpacks no member to more than the archive's directory says.

    Args:
        archive: The archive.
        path: Its file, which is named in the error.
        names: Members; those that are not there are left out.

    Raises:
        DataError: They do not, or the variable is no number.
    """
    members = [member for member in archive.infolist() if member.filename in names]
    limit = _limit(sum(member.compress_size for member in members))
    if sum(member.file_size for member in members) > limit:
        raise _too_large(path, limit)


class _Limited(io.RawIOBase):
    """A stream that fails as soon as it has given more than a number of bytes."""

    def __init__(self, stream: gzip.GzipFile, path: Path, limit: int) -> None:
        self._stream = stream
        self._path = path
        self._limit = limit
        self._left = limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:  # a writable buffer: in typeshed since 3.12
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
        raise DataError(f"{LIMIT_VARIABLE}: expected bytes like 500M or 8G, got {given!r}")
    return int(match[1]) << _UNITS[match[2].upper()]


def _too_large(path: Path, limit: int) -> DataError:
    return DataError(
        f"{path} unpacks to more than {limit:,} bytes: if that is right, set {LIMIT_VARIABLE}, "
        "for instance to 8G"
    )
