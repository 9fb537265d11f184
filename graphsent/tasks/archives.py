"""Reads files of corpora, also inside zip archives."""

from __future__ import annotations

import codecs
import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from graphsent._files import sha256_of
from graphsent._unpacking import UNREADABLE, check_unpacked
from graphsent.trees.text_files import unreadable

__all__ = ["digest", "is_file", "iter_lines"]

_CHUNK_BYTES = 1 << 20


def is_file(path: Path) -> bool:
    """Whether a file exists, perhaps inside an archive: ``corpora/qc.zip/qc/train.txt``."""
    if path.is_file():
        return True
    archive = _archive_of(path)
    return archive is not None and path.relative_to(archive).as_posix() in _names(archive)


def digest(path: Path) -> str:
    """The SHA-256 of a file, perhaps inside an archive, in hexadecimal.

    Raises:
        DataError: It cannot be read, or unpacks past the limit of
            :func:`~graphsent._unpacking.open_unpacked`.
    """
    with _opened(path) as stream:
        return sha256_of(stream)


def iter_lines(path: Path) -> Iterator[str]:
    """The lines of a text file in UTF-8 or, failing that, in Latin-1, as in old corpora.

    They are read one by one, never the whole file into memory; the file is read twice.

    Args:
        path: The file, perhaps inside an archive.

    Raises:
        DataError: It cannot be read, or unpacks past the limit of
            :func:`~graphsent._unpacking.open_unpacked`.
    """
    encoding = "utf-8-sig" if _is_utf8(path) else "latin-1"
    # Not splitlines(): it would also split at U+0085 and others.
    with _opened(path) as stream, io.TextIOWrapper(stream, encoding, newline="\n") as text:
        for line in text:
            yield line.removesuffix("\r\n").removesuffix("\n")


def _is_utf8(path: Path) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    with _opened(path) as stream:
        try:
            while chunk := stream.read(_CHUNK_BYTES):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Opens a file, perhaps inside an archive, for reading; failures are DataErrors."""
    archive = _archive_of(path)
    try:
        if archive is None:
            with path.open("rb") as stream:
                yield stream
            return
        name = path.relative_to(archive).as_posix()
        with zipfile.ZipFile(archive) as opened:
            check_unpacked(opened, archive, [name])
            with opened.open(name) as stream:
                yield stream
    except UNREADABLE as error:
        raise unreadable(error, path) from error


def _archive_of(path: Path) -> Path | None:
    for parent in path.parents:
        if parent.suffix == ".zip" and parent.is_file():
            return parent
    return None


def _names(archive: Path) -> list[str]:
    try:
        with zipfile.ZipFile(archive) as opened:
            return opened.namelist()
    except UNREADABLE as error:
        raise unreadable(error, archive) from error
