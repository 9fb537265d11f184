"""Reads the lines of a user's file or stream in chunks, in any encoding, gzipped or not."""

from __future__ import annotations

import codecs
import itertools
from collections.abc import Iterator
from pathlib import Path

from graphsent._unpacking import open_unpacked
from graphsent.errors import DataError
from graphsent.trees.errors import UndecodableText
from graphsent.trees.records import Line, Readable, lines_of

__all__ = ["UTF8", "decoded_lines", "lines_in", "with_line_ends"]

UTF8 = "utf-8"
_MARKS_OF_UTF16 = ("0xFF", "0xFE")  # how its byte-order mark of two bytes begins
_UNDECODABLE = "\ufffd"
_GZIPPED = "\x1f" + _UNDECODABLE  # how gzipped data begin


def lines_in(path: Path, encoding: str) -> Iterator[list[Line]]:
    """The lines of a file, decompressed if named ``*.gz``, as :func:`decoded_lines`.

    Raises:
        DataError: The file cannot be read; its lines end in carriage returns alone; otherwise as
            for :func:`decoded_lines`.
    """
    try:
        if path.is_fifo():  # it may have no writer, and is empty when read again
            raise DataError(f"cannot read {path}: it is a pipe, but files are read more than once")
        stream = open_unpacked(path)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None
    with stream:
        pieces = decoded_lines(stream, str(path), encoding)
        yield from with_line_ends(pieces, str(path))


def with_line_ends(pieces: Iterator[list[Line]], source: str) -> Iterator[list[Line]]:
    """The lines of a file, checked to end in newlines.

    Raises:
        DataError: They end in carriage returns alone.
    """
    first = list(itertools.islice(pieces, 2))
    lines = [line for piece in first for line in piece]
    if len(lines) == 1 and "\r" in lines[0].text.rstrip("\r"):
        raise DataError(
            f"{source}:1: a file whose lines end in carriage returns alone: expected newlines"
        )
    yield from itertools.chain(first, pieces)


def _check_beginning(line: Line, source: str) -> None:
    """Raises a DataError if an undecodable first line begins as no text in UTF-8 does."""
    if not isinstance(line.error, UndecodableText):
        return
    is_marked = line.error.message.startswith(_MARKS_OF_UTF16)
    if is_marked and line.text.startswith(2 * _UNDECODABLE):
        raise DataError(
            f"{source}:1:1: a UTF-16 byte-order mark: expected UTF-8, or the encoding by name "
            "(--encoding utf-16)"
        )
    if line.text.startswith(_GZIPPED):
        raise DataError(f"{source}: gzipped data: expected text, or a file named *.gz")


def decoded_lines(stream: Readable, source: str, encoding: str) -> Iterator[list[Line]]:
    r"""The lines of a stream, without a final ``\r`` and without a byte-order mark.

    Args:
        stream: The stream.
        source: Its name in messages.
        encoding: Its encoding.

    Yields:
        Several lines at once. A bad line, with undecodable bytes or a NUL character, has an
        ``error``.

    Raises:
        DataError: The stream cannot be read, there is no such encoding, bytes are invalid in an
            encoding other than UTF-8, or the stream is in UTF-16 or gzipped, but expected to be in
            UTF-8.
    """
    for lines in lines_of(_in_utf8(stream, source, encoding), source):
        if lines and lines[0].number == 1:
            _check_beginning(lines[0], source)
        yield [_checked(line, source) for line in lines]


def _checked(line: Line, source: str) -> Line:
    text, error = line.text.removesuffix("\r"), line.error
    if error is not None:
        message = f"{error.message}, or the encoding by name (--encoding latin-1)"
        error = UndecodableText(message, source, line.number, error.column)
    elif "\0" in text:
        message = "a NUL character: expected text"
        error = UndecodableText(message, source, line.number, text.index("\0") + 1)
    return Line(line.number, text, error)


def _in_utf8(stream: Readable, source: str, encoding: str) -> Readable:
    try:
        codec = codecs.lookup(encoding)
        decoder = codec.incrementaldecoder
    except (LookupError, ValueError):
        raise DataError(f"unknown encoding {encoding!r} for {source}") from None
    if codec.name == UTF8:
        return stream
    if decoder is None or not codec._is_text_encoding:
        raise DataError(f"{encoding!r} is not a text encoding, for {source}")
    return _Recoded(stream, source, decoder())


class _Recoded:
    """A stream recoded as UTF-8."""

    def __init__(self, stream: Readable, source: str, decoder: codecs.IncrementalDecoder) -> None:
        self._stream = stream
        self._source = source
        self._decoder = decoder
        self._line = 1

    def read1(self, size: int, /) -> bytes:
        """Reads up to ``size`` bytes of the file and returns them as UTF-8; empty at its end."""
        text = ""
        while not text:
            data = self._stream.read1(size)
            try:
                text = self._decoder.decode(data, final=not data)
            except UnicodeError as error:
                line = self._line
                if isinstance(error, UnicodeDecodeError):
                    line += error.object[: error.start].count(b"\n")
                message = f"{self._source}: near line {line}: {error}: is this its encoding?"
                raise DataError(message) from None
            if not data:
                break
        self._line += text.count("\n")
        return text.encode()
