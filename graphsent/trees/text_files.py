"""Reads and writes text files, gzipped if named ``*.gz``."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from graphsent._files import atomic_path
from graphsent._unpacking import is_gzipped, open_unpacked
from graphsent.errors import DataError
from graphsent.trees.errors import UndecodableText, UnwritableTree

_BYTE_ORDER_MARK = "\ufeff"
_PIECE_BYTES = 1 << 20


def read_text(path: str | os.PathLike[str], encoding: str = "utf-8") -> str:
    """The text of a file, with its line ends, without a byte-order mark.

    Raises:
        DataError: The file cannot be read, or unpacks past the limit of
            :func:`~graphsent._unpacking.open_unpacked`.
        UndecodableText: It is not text in this encoding.
    """
    return "".join(text for _, text in text_pieces(path, encoding))


def text_pieces(
    path: str | os.PathLike[str], encoding: str = "utf-8", size: int = _PIECE_BYTES
) -> Iterator[tuple[int, str]]:
    """Yields the text of a file in pieces of whole lines, so that it need not fit into memory.

    Args:
        path: The file; decompressed if named ``*.gz``.
        encoding: Its encoding.
        size: Number of bytes to read at once.

    Yields:
        The number of the first line of a piece, from 1, and the piece; the last one may lack a
        newline. Errors are those of :func:`read_text`, raised when reading reaches them.
    """
    path = Path(path)
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
    except LookupError as error:
        raise DataError(f"unknown encoding {encoding!r} for {path}") from error
    line, pending, is_first = 1, "", True
    with open_file(path) as stream:
        while True:
            data = _read(stream, size, path)
            try:
                text = decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                raise undecodable(error, str(path), encoding, line, pending) from error
            if is_first and text:
                text, is_first = text.removeprefix(_BYTE_ORDER_MARK), False
            pending += text
            end = pending.rfind("\n") + 1
            if end:
                yield line, pending[:end]
                line += pending.count("\n", 0, end)
                pending = pending[end:]
            if not data:
                break
    if pending:
        yield line, pending


def open_file(path: Path) -> BinaryIO:
    """Like :func:`~graphsent._unpacking.open_unpacked`, but any failure is a DataError."""
    try:
        return open_unpacked(path)
    except OSError as error:
        raise unreadable(error, path) from error


def _read(stream: BinaryIO, size: int, path: Path) -> bytes:
    try:
        return stream.read(size)
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(error, path) from error


def unreadable(error: Exception, source: str | Path) -> DataError:
    """The error for a file or stream that cannot be read or unpacked."""
    reason = getattr(error, "strerror", None) or error
    return DataError(f"cannot read {source}: {reason}")


def undecodable(
    error: UnicodeDecodeError, source: str, encoding: str, line: int, decoded: str = ""
) -> UndecodableText:
    """The error for bytes that cannot be decoded, after the decoded part of their line."""
    data = error.object
    before = decoded + data[: error.start].decode(encoding, "replace")
    found = " ".join(f"0x{byte:02X}" for byte in data[error.start : error.end])
    message = f"{found} is not valid {encoding} ({error.reason}): expected {encoding}"
    column = len(before.rpartition("\n")[2]) + 1
    return UndecodableText(message, source, line + before.count("\n"), column)


def write_text(
    path: str | os.PathLike[str], pieces: Iterable[str], encoding: str = "utf-8"
) -> None:
    """Writes a file from pieces of text, atomically.

    The same text gives the same bytes: gzipped files hold neither a time nor a name.

    Raises:
        UnwritableTree: The encoding lacks a character.
        DataError: There is no such encoding.
    """
    try:
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            if is_gzipped(temporary):
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as zipped:
                    _write_pieces(zipped, pieces, encoding)
            else:
                _write_pieces(file, pieces, encoding)
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        raise UnwritableTree(f"{path}: {encoding} cannot write {character!r}") from None
    except LookupError:
        raise DataError(f"unknown encoding {encoding!r} for {path}") from None


def _write_pieces(
    file: gzip.GzipFile | io.BufferedWriter, pieces: Iterable[str], encoding: str
) -> None:
    with io.TextIOWrapper(file, encoding=encoding, newline="") as text:
        text.writelines(pieces)
