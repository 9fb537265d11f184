"""A text column of a table, as lines."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from graphsent.cli.sources import on_one_line
from graphsent.errors import DataError
from graphsent.tasks.own.columns import is_text_name
from graphsent.tasks.own.examples import BadLine
from graphsent.tasks.own.lines import lines_in
from graphsent.tasks.own.reader import SUFFIXES, format_by_name
from graphsent.tasks.own.tables import READERS, Row, finder
from graphsent.trees import TreeError
from graphsent.trees.records import Line

__all__ = ["TABLES", "is_table", "lines_of_table", "table_format", "texts_in_table"]

TABLES = tuple(suffix for suffix, form in SUFFIXES.items() if form in READERS)
_AT_ONCE = 256

Pieces = Iterator[list[Line]]


def is_table(path: str) -> bool:
    """Whether a file is a table, judged by its name."""
    return format_by_name(Path(path)) in READERS


def table_format(path: str, pieces: Pieces, *, is_certain: bool) -> tuple[str | None, Pieces]:
    """The format of a table, and all of its lines; None if the lines are not those of a table.

    The name of a file decides, but a file named ``*.tsv`` may also hold text without tabs, unless
    this begins with a common name of a text column: then it is a table of one column. A table
    on standard input is JSON lines if it begins with a brace, else CSV.

    Args:
        path: The file, ``-`` for standard input.
        pieces: Its lines.
        is_certain: Whether a table is expected.
    """
    form = format_by_name(Path(path))
    if path == "-" and is_certain:
        first, pieces = _first_line(pieces)
        return "jsonl" if first.lstrip().startswith("{") else "csv", pieces
    if form not in READERS:
        return None, pieces
    if form == "tsv" and not is_certain:
        beginning: list[Line] = next(pieces, [])
        has_tab = any("\t" in line.text for line in beginning)
        first = next((line.text for line in beginning if line.text.strip()), "")
        is_a_table = has_tab or is_text_name(first)
        return form if is_a_table else None, itertools.chain([beginning], pieces)
    return form, pieces


def texts_in_table(
    pieces: Pieces, form: str, source: str, columns: Sequence[str], side: int | None = None
) -> Pieces:
    """Streams the texts of a table: one line per row, numbered by where the row begins.

    Args:
        pieces: The lines of the table.
        form: Its format, one of :data:`~graphsent.tasks.own.tables.READERS`.
        source: Its name in messages.
        columns: Column of the texts, or two columns of pairs; empty for those with usual names.
        side: 0 for the first texts of pairs, 1 for the second ones; None for single texts.

    Raises:
        DataError: The table cannot be read, has no such column, or has pairs of texts for single
            ones, or the reverse.
    """
    waiting: deque[Line] = deque()

    def lines() -> Iterator[Line]:
        for piece in pieces:
            waiting.extend(piece)
            while waiting:
                yield waiting.popleft()

    found = []
    for row in READERS[form](lines(), source, finder(columns, None, False)):
        found.append(_line(row, source, side))
        if not waiting or len(found) == _AT_ONCE:  # the next line may be long in coming
            yield found
            found = []
    if found:
        yield found


def lines_of_table(
    path: str, encoding: str, columns: Sequence[str] = (), *, is_certain: bool = False
) -> Iterator[Line] | None:
    """The lines of :func:`texts_in_table` for a file, one by one; None if it is not a table.

    Raises:
        DataError: The file cannot be read, or as for :func:`texts_in_table`.
    """
    if not is_table(path):
        return None
    form, pieces = table_format(path, lines_in(Path(path), encoding), is_certain=is_certain)
    if form is None:
        return None
    return itertools.chain.from_iterable(texts_in_table(pieces, form, path, columns))


def _line(row: Row | BadLine, source: str, side: int | None) -> Line:
    if isinstance(row, BadLine):
        place, _, message = row.message.removeprefix(f"{source}:").partition(": ")
        return Line(row.line, "", TreeError(message, source, *map(int, place.split(":"))))
    if side is None and len(row.texts) != 1:
        raise DataError(f"{source}: found pairs of sentences: choose one column by --text-column")
    if side is not None and len(row.texts) != 2:
        raise DataError(
            f"{source}: expected two columns, of first and of second sentences: name them by "
            "--text-column FIRST --text-column SECOND"
        )
    return Line(row.line, on_one_line(row.texts[side or 0]))


def _first_line(pieces: Pieces) -> tuple[str, Pieces]:
    """The first line that is not empty, and all lines."""
    seen = []
    for piece in pieces:
        seen.append(piece)
        first = next((line.text for line in piece if line.text.strip()), None)
        if first is not None:
            return first, itertools.chain(seen, pieces)
    return "", iter(seen)
