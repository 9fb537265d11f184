"""A text column of a table, as lines."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
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


def texts_in_table(
    path: str, columns: Sequence[str], side: int | None = None
) -> Iterator[list[Line]]:
    """Streams the texts of a table: one line per row, numbered by where the row begins.

    Args:
        path: The table.
        columns: Column of the texts, or two columns of pairs; empty for those with usual names.
        side: 0 for the first texts of pairs, 1 for the second ones; None for single texts.

    Raises:
        DataError: The table cannot be read, has no such column, or has pairs of texts for single
            ones, or the reverse.
    """
    file = OwnFile(Path(path))
    lines = itertools.chain.from_iterable(lines_in(file.path, None))
    find = finder(columns, None, False)
    rows = READERS[file.format()](lines, str(file.path), find)
    while piece := list(itertools.islice(rows, _AT_ONCE)):
        yield [_line(row, path, side) for row in piece]


def _line(row: Row | BadLine, path: str, side: int | None) -> Line:
    if isinstance(row, BadLine):
        place, _, message = row.message.removeprefix(f"{Path(path)}:").partition(": ")
        return Line(row.line, "", TreeError(message, path, *map(int, place.split(":"))))
    if side is None and len(row.texts) != 1:
        raise DataError(f"{path}: found pairs of sentences: choose one column by --text-column")
    if side is not None and len(row.texts) != 2:
        raise DataError(
            f"{path}: expected two columns, of first and of second sentences: name them by "
            "--text-column FIRST --text-column SECOND"
        )
    return Line(row.line, " ".join(row.texts[side or 0].split()))
