"""The text column of a table, as lines."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from graphsent.errors import DataError
from graphsent.tasks.own.examples import BadLine
from graphsent.tasks.own.lines import lines_in
from graphsent.tasks.own.reader import OwnFile
from graphsent.tasks.own.tables import READERS, Row, finder
from graphsent.trees import TreeError
from graphsent.trees.records import Line

__all__ = ["TABLES", "is_table", "texts_in_table"]

TABLES = (".csv", ".jsonl", ".ndjson", ".json")
_AT_ONCE = 256


def is_table(path: str) -> bool:
    """Whether a file is a table with named columns, judged by its name."""
    return path.lower().removesuffix(".gz").endswith(TABLES)


def texts_in_table(path: str, column: str | None) -> Iterator[list[Line]]:
    """Streams the texts of a table: one line per row, numbered by where the row begins.

    Args:
        path: The table.
        column: Column of the texts; None for one with a usual name.

    Raises:
        DataError: The table cannot be read, or has no such column.
    """
    file = OwnFile(Path(path))
    lines = itertools.chain.from_iterable(lines_in(file.path, None))
    find = finder((column,) if column else (), None, False)
    rows = READERS[file.format()](lines, str(file.path), find)
    while piece := list(itertools.islice(rows, _AT_ONCE)):
        yield [_line(row, path) for row in piece]


def _line(row: Row | BadLine, path: str) -> Line:
    if isinstance(row, BadLine):
        place, _, message = row.message.removeprefix(f"{Path(path)}:").partition(": ")
        return Line(row.line, "", TreeError(message, path, *map(int, place.split(":"))))
    text, *others = row.texts
    if others:
        raise DataError(f"{path}: found pairs of sentences: choose one column by --text-column")
    return Line(row.line, " ".join(text.split()))
