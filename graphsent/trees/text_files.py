"""Text files, gzipped or not by their name."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterable
from pathlib import Path

from graphsent._files import atomic_path
from graphsent._unpacking import open_gzip
from graphsent.errors import DataError
from graphsent.trees.errors import UndecodableText, UnwritableTree

_BYTE_ORDER_MARK = "\ufeff"


def read_text(path: str | os.PathLike[str], encoding: str = "utf-8") -> str:
    """The text of a file, line ends as they are, without a byte-order mark.

    Raises:
        DataError: The file cannot be read, or unpacks past the limit of
            :func:`~graphsent._unpacking.open_gzip`.
        UndecodableText: It is not text in that encoding.
    """
    path = Path(path)
    try:
        if path.suffix == ".gz":
            with open_gzip(path) as stream:
                data = stream.read()
        else:
            data = path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"cannot read {path}: {reason}") from error
    try:
        return data.decode(encoding).removeprefix(_BYTE_ORDER_MARK)
    except LookupError as error:
        raise DataError(f"unknown encoding {encoding!r} for {path}") from error
    except UnicodeDecodeError as error:
        before = data[: error.start].rpartition(b"\n")
        line = data.count(b"\n", 0, error.start) + 1
        column = len(before[2].decode(encoding, "replace")) + 1
        found = " ".join(f"0x{byte:02X}" for byte in data[error.start : error.end])
        message = f"{found} is no text in {encoding} ({error.reason}): expected {encoding}"
        raise UndecodableText(message, str(path), line, column) from error


def write_text(
    path: str | os.PathLike[str], pieces: Iterable[str], encoding: str = "utf-8"
) -> None:
    """Writes a file from pieces of text, atomically.

    The same text gives the same bytes: gzipped files carry neither a time nor a name.

    Raises:
        UnwritableTree: The encoding lacks a character.
        DataError: There is no such encoding.
    """
    try:
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            if temporary.suffix == ".gz":
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as zipped:
                    _write_pieces(zipped, pieces, encoding)
            else:
                _write_pieces(file, pieces, encoding)
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        raise UnwritableTree(f"{path}: {encoding} cannot write {character!r}") from None
    except LookupError:
        raise DataError(f"unknown encoding {encoding!r} for {path}") from None


def _write_pieces(file: io.BufferedIOBase, pieces: Iterable[str], encoding: str) -> None:
    with io.TextIOWrapper(file, encoding=encoding, newline="") as text:
        text.writelines(pieces)
