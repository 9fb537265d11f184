"""Reads the lines of a user's file in chunks, in any encoding, gzipped or not."""

from __future__ import annotations

import codecs
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from graphsent._unpacking import open_gzip
from graphsent.errors import DataError
from graphsent.trees.errors import UndecodableText
from graphsent.trees.records import Line, Readable, lines_of

__all__ = ["lines_in"]

_UTF8 = "utf-8"
_MARKS_OF_UTF16 = ("0xFF", "0xFE")  # how its byte-order mark of two bytes begins
_UNDECODABLE = "\ufffd"


def lines_in(path: Path, encoding: str | None) -> Iterator[list[Line]]:
    r"""The lines of a file, without a final ``\r`` and without a byte-order mark.

    Args:
        path: The file; decompressed if named ``*.gz``.
        encoding: Its encoding; None for UTF-8 where the user cannot choose another.

    Yields:
        Several lines at once. A bad line, with undecodable bytes or a NUL character, has an
        ``error``.

    Raises:
        DataError: The file cannot be read, there is no such encoding, or bytes are invalid in an
            encoding other than UTF-8; or the file as a whole is in UTF-16, or its lines end in
            carriage returns alone.
    """
    try:
        if path.is_fifo():  # it may have no writer, and is empty when read again
            raise DataError(f"cannot read {path}: it is a pipe, but files are read more than once")
        stream = open_gzip(path) if path.suffix == ".gz" else path.open("rb")
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None
    with stream:
        pieces = lines_of(_in_utf8(stream, path, encoding or _UTF8), str(path))
        first = list(itertools.islice(pieces, 2))
        _check_file([line for lines in first for line in lines], path, encoding)
        for lines in itertools.chain(first, pieces):
            yield [_checked(line, path, encoding) for line in lines]


def _check_file(lines: Sequence[Line], path: Path, encoding: str | None) -> None:
    """Raises a DataError if the first lines show that no line of a file can be read."""
    if lines and _is_utf16(lines[0]):
        advice = "" if encoding is None else ", or the encoding by name (--encoding utf-16)"
        raise DataError(f"{path}:1:1: a UTF-16 byte-order mark: expected UTF-8{advice}")
    if len(lines) == 1 and "\r" in lines[0].text.rstrip("\r"):
        raise DataError(
            f"{path}:1: a file whose lines end in carriage returns alone: expected newlines"
        )


def _is_utf16(line: Line) -> bool:
    """Whether an undecodable line begins with a byte-order mark of UTF-16."""
    if not isinstance(line.error, UndecodableText):
        return False
    is_marked = line.error.message.startswith(_MARKS_OF_UTF16)
    return is_marked and line.text.startswith(2 * _UNDECODABLE)


def _checked(line: Line, path: Path, encoding: str | None) -> Line:
    text, error = line.text.removesuffix("\r"), line.error
    if error is not None and encoding is not None and "--encoding" not in error.message:
        message = f"{error.message}, or the encoding by name (--encoding latin-1)"
        error = UndecodableText(message, str(path), line.number, error.column)
    elif "\0" in text:
        message = "a NUL character: expected text"
        error = UndecodableText(message, str(path), line.number, text.index("\0") + 1)
    return Line(line.number, text, error)


def _in_utf8(stream: BinaryIO, path: Path, encoding: str) -> Readable:
    try:
        codec = codecs.lookup(encoding)
        decoder = codec.incrementaldecoder
    except (LookupError, ValueError):
        raise DataError(f"unknown encoding {encoding!r} for {path}") from None
    if codec.name == _UTF8:
        return stream  # type: ignore[return-value]
    if decoder is None or not codec._is_text_encoding:
        raise DataError(f"{encoding!r} is not a text encoding, for {path}")
    return _Recoded(stream, path, decoder())


class _Recoded:
    """A stream recoded as UTF-8."""

    def __init__(self, stream: BinaryIO, path: Path, decoder: codecs.IncrementalDecoder) -> None:
        self._stream = stream
        self._path = path
        self._decoder = decoder
        self._line = 1

    def read1(self, size: int, /) -> bytes:
        """Reads up to ``size`` bytes of the file and returns them as UTF-8; empty at its end."""
        text = ""
        while not text:
            data = self._stream.read1(size)  # type: ignore[attr-defined]
            try:
                text = self._decoder.decode(data, final=not data)
            except UnicodeError as error:
                message = f"{self._path}: near line {self._line}: {error}: is this its encoding?"
                raise DataError(message) from None
            if not data:
                break
        self._line += text.count("\n")
        return text.encode()
