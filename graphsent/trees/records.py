"""Splits streamed text into records that are parsed, or rejected, one by one.

A *record* is a line of raw text, or the lines of a bracketed tree or of a CoNLL-U sentence. An
error in one record does not affect the next, and only the records of one piece are in memory.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from graphsent.trees.bracket_files import trees_of
from graphsent.trees.brackets import parse
from graphsent.trees.dependency import DependencyTree
from graphsent.trees.dependency_files import parse_conllu
from graphsent.trees.errors import TreeError
from graphsent.trees.recognition import may_continue
from graphsent.trees.text_files import undecodable, unreadable
from graphsent.trees.tree import Tree

__all__ = [
    "Line",
    "Readable",
    "Record",
    "conllu_records",
    "line_records",
    "lines_of",
    "read_brackets",
    "read_conllu_records",
]

_PIECE = 1 << 18  # bytes at most; a pipe may return fewer
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Readable(Protocol):
    """A binary stream that returns what it has without waiting for more."""

    def read1(self, size: int, /) -> bytes:
        """Returns at most ``size`` bytes; none at the end."""
        ...


class Line(NamedTuple):
    """A line without its newline, its number from 1, and the error if it is not valid UTF-8."""

    number: int
    text: str
    error: TreeError | None = None


class Record(NamedTuple):
    """Lines that belong together.

    Attributes:
        line: Number of the first line.
        text: The lines, joined by newlines; only whitespace for an empty line.
        error: Why it is not valid text; None if it is.
    """

    line: int
    text: str
    error: TreeError | None


def lines_of(stream: Readable, source: str) -> Iterator[list[Line]]:
    """Yields the lines of a stream as they arrive, all available ones at once up to a size limit.

    Raises:
        DataError: The stream cannot be read.
    """
    number = 1
    pending: list[bytes] = []
    for data in _pieces(stream, source):
        end = data.rfind(b"\n") + 1
        pending.append(data[: end or None])
        if end:
            lines = _decoded(b"".join(pending), number, source)
            number += len(lines)
            pending = [data[end:]]
            yield lines
    if any(pending):
        yield _decoded(b"".join([*pending, b"\n"]), number, source)


def line_records(
    pieces: Iterable[list[Line]], *, sentences: bool, class_names: Collection[str] = ()
) -> Iterator[list[Record]]:
    """Yields records of bracketed trees, and of the lines between them.

    A tree continues on the next line if this is indented more than its first one, or begins with a
    bracket and closes more brackets than it opens, so that a tree that is never closed does not
    swallow the next. Empty lines are records, unless trees span several lines.

    Args:
        pieces: The result of :func:`lines_of`.
        sentences: Whether lines of raw text are expected: if so, a line that may be text in
            brackets is a record, see :func:`~graphsent.trees.recognition.may_continue`; if not,
            empty lines at the beginning are not records.
        class_names: Names that are labels, besides those that look like labels of a treebank.
    """

    def begins_a_tree(text: str) -> bool:
        return text.startswith("(") and (not sentences or may_continue(text, class_names))

    opened: list[Line] = []
    level, divided_by_empty_lines = 0, not sentences
    for piece in pieces:
        records = []
        for line in piece:
            change = _change(line.text)
            if opened:
                if _goes_on(line, change, _indent(opened[0])):
                    opened.append(line)
                    level += change
                    if level <= 0:
                        records.append(_record(opened))
                        opened, divided_by_empty_lines = [], True
                    continue
                records.append(_record(opened))
                opened, divided_by_empty_lines = [], len(opened) > 1
            if not line.text.strip():
                if not divided_by_empty_lines:
                    records.append(_record([line]))
            elif change > 0 and begins_a_tree(line.text.lstrip()):
                opened, level = [line], change
            else:
                records.append(_record([line]))
                divided_by_empty_lines = False
        yield records
    if opened:
        yield [_record(opened)]


def conllu_records(pieces: Iterable[list[Line]]) -> Iterator[list[Record]]:
    """Yields records of the lines between empty lines."""
    lines: list[Line] = []
    for piece in pieces:
        records = []
        for line in piece:
            if line.text.strip():
                lines.append(line)
            elif lines:
                records.append(_record(lines))
                lines = []
        yield records
    if lines:
        yield [_record(lines)]


def read_brackets(records: Sequence[Record], source: str) -> list[list[Tree | TreeError]]:
    """Parses the trees of each record, labelled or not; a malformed record yields its error alone.

    Args:
        records: Records of :func:`line_records` without an error.
        source: Name of the text in messages.
    """
    balanced = [record for record in records if _change(record.text) == 0]
    found = iter(_read_together(balanced, source))
    return [
        next(found) if _change(record.text) == 0 else _read_together([record], source)[0]
        for record in records
    ]


def read_conllu_records(
    records: Sequence[Record], source: str
) -> list[list[DependencyTree | TreeError]]:
    """Parses the tree of each of :func:`conllu_records`; a malformed one yields its error."""
    found: list[list[DependencyTree | TreeError]] = []
    for record in records:
        try:
            found.append([*parse_conllu(record.text, source, record.line)])
        except TreeError as error:
            found.append([error])
    return found


def _read_together(records: Sequence[Record], source: str) -> list[list[Tree | TreeError]]:
    """Parses records together, which is many times faster than one by one."""
    if not records:
        return []
    text = "\n".join(record.text for record in records)
    try:
        parsed = parse(text, source, "token", False, records[0].line)
    except TreeError as error:
        if len(records) == 1:
            return [[error]]
        half = len(records) // 2
        parts = (records[:half], records[half:])
        return [each for part in parts for each in _read_together(part, source)]
    sizes = [len(record.text.encode("utf-8", "surrogatepass")) + 1 for record in records]
    ends = np.searchsorted(parsed.first, np.cumsum(sizes)).tolist()
    trees: list[Tree | TreeError] = [*trees_of(parsed)]
    return [trees[begin:end] for begin, end in zip((0, *ends[:-1]), ends, strict=True)]


def _pieces(stream: Readable, source: str) -> Iterator[bytes]:
    first = True
    while True:
        try:
            data = stream.read1(_PIECE)
        except (OSError, EOFError, zlib.error) as error:
            raise unreadable(error, source) from error
        if not data:
            return
        yield data.removeprefix(_BYTE_ORDER_MARK) if first else data
        first = False


def _decoded(data: bytes, number: int, source: str) -> list[Line]:
    """Decodes whole lines, of which the first has the given number."""
    try:
        texts = data.decode().split("\n")[:-1]
        return [Line(line, text) for line, text in enumerate(texts, start=number)]
    except UnicodeDecodeError:
        lines = data.split(b"\n")[:-1]
        return [_decoded_line(each, line, source) for line, each in enumerate(lines, start=number)]


def _decoded_line(data: bytes, number: int, source: str) -> Line:
    try:
        return Line(number, data.decode())
    except UnicodeDecodeError as error:
        text = data.decode(errors="replace")
        return Line(number, text, undecodable(error, source, "UTF-8", number))


def _record(lines: Sequence[Line]) -> Record:
    error = next((line.error for line in lines if line.error is not None), None)
    return Record(lines[0].number, "\n".join(line.text for line in lines), error)


def _change(text: str) -> int:
    """How many more brackets the text opens than it closes."""
    return text.count("(") - text.count(")")


def _goes_on(line: Line, change: int, indent: int) -> bool:
    """Whether a line belongs to the open tree above it."""
    closes = change < 0 and line.text.startswith(("(", ")"))
    return bool(line.text.strip()) and (closes or _indent(line) > indent)


def _indent(line: Line) -> int:
    return len(line.text) - len(line.text.lstrip())
