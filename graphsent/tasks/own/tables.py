"""Reads rows of tables: tab-separated values, CSV, JSON lines; and files of plain sentences."""

from __future__ import annotations

import csv
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from graphsent._names import quoted
from graphsent.errors import DataError
from graphsent.tasks.own.columns import Columns, find_columns
from graphsent.tasks.own.examples import BadLine
from graphsent.trees.records import Line

__all__ = ["READERS", "Row", "finder", "is_label", "read_sentences"]

_SHOWN = 40  # characters of a line in a message
_DELIMITERS = ",;\t"
_LONGEST_CELL = 1 << 24  # characters; the csv module stops at 131,072 by default
_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can escape them, no encoding can write them

FindColumns = Callable[..., Columns]


class Row(NamedTuple):
    """A row of a table.

    Attributes:
        line: Number of its first line, from 1.
        label: As written, without surrounding whitespace; None if labels come from elsewhere.
        texts: One text, or two of a pair.
    """

    line: int
    label: str | None
    texts: tuple[str, ...]


def read_tsv(lines: Iterable[Line], source: str, find: FindColumns) -> Iterator[Row | BadLine]:
    """Rows of tab-separated cells. Quotes have no special meaning.

    Without a header, a row is ``label<TAB>text``. A table of one column needs a header, and holds
    no labels.
    """
    columns = None
    for line in lines:
        where = f"{source}:{line.number}"
        if line.error is not None:
            yield BadLine(line.number, str(line.error))
        elif line.text.strip():
            cells = line.text.split("\t")
            if columns is None:
                try:
                    columns = find(cells, where=where, may_lack_header=True)
                except DataError:
                    if len(cells) > 1:
                        raise
                    yield BadLine(line.number, f"{where}: {_no_tab(line.text)}")
                    continue
                if columns.has_header:
                    continue
            if len(cells) == 1 < len(columns.names):
                yield BadLine(line.number, f"{where}: {_no_tab(line.text)}")
            else:
                yield _row(cells, columns, line.number, where)


def read_csv(lines: Iterable[Line], source: str, find: FindColumns) -> Iterator[Row | BadLine]:
    """Rows of comma-separated values (RFC 4180) below a header.

    The header decides whether the delimiter is a comma, a semicolon or a tab. A quoted cell may
    span several lines.

    Raises:
        DataError: The header is not valid text.
    """
    texts = _Texts(lines)
    header = next((text for text in texts if text.strip()), "")
    number = texts.number
    if texts.bad is not None:
        raise DataError(str(texts.bad.error))
    csv.field_size_limit(max(_LONGEST_CELL, csv.field_size_limit()))
    rows = csv.reader(
        itertools.chain([header], texts), delimiter=max(_DELIMITERS, key=header.count), strict=True
    )
    columns, counts_empty = None, False
    while True:
        where = f"{source}:{number}"
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            if texts.bad is None:
                yield BadLine(number, f"{where}: {error}: expected CSV; is a quote never closed?")
            cells = []
        if texts.bad is not None:
            yield BadLine(texts.bad.number, str(texts.bad.error))
            texts.bad = None
        elif any(cell.strip() for cell in cells) or (cells and counts_empty):
            is_header = columns is None
            if columns is None:
                columns = find(cells, where=where)
                is_header = columns.has_header
                # Empty rows, which spreadsheets append, are skipped, but get a prediction.
                counts_empty = columns.label is None
            if not is_header:
                yield _row(cells, columns, number, where)
        number = texts.number + 1


class _Texts:
    """Lines with line ends; remembers the number of the last one, and a bad one."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._lines = iter(lines)
        self.number = 0
        self.bad: Line | None = None

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.number = line.number
        if line.error is not None:
            self.bad = line
        return line.text + "\n"


def read_json(lines: Iterable[Line], source: str, find: FindColumns) -> Iterator[Row | BadLine]:
    """One JSON object per line, with a label (string, number or Boolean) and text.

    An object in which a key occurs twice is an error.

    Raises:
        DataError: The file holds an array instead.
    """
    columns, is_first = None, True
    for line in lines:
        if line.error is not None:
            yield BadLine(line.number, str(line.error))
        elif line.text.strip():
            where = f"{source}:{line.number}"
            if is_first and line.text.lstrip().startswith("["):
                message = "a JSON array: expected one JSON object per line"
                raise DataError(f"{where}: {message}, got {line.text[:_SHOWN]!r}")
            is_first = False
            try:
                row = json.loads(line.text, object_pairs_hook=_object)
            except (ValueError, RecursionError) as error:
                yield BadLine(line.number, f"{where}: expected one JSON object per line: {error}")
                continue
            if not isinstance(row, dict) or not row:
                found = f"got {line.text[:_SHOWN]!r}"
                yield BadLine(line.number, f"{where}: expected one JSON object per line, {found}")
                continue
            columns = columns or replace(find(list(row), where=where), names=tuple(row))
            yield _row_of_object(row, columns, line.number, where)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object with these keys and values; raises a ValueError if a key occurs twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {twice!r} occurs twice")
    return found


def read_sentences(lines: Iterable[Line], source: str) -> Iterator[Row | BadLine]:
    """One sentence per line."""
    for line in lines:
        if line.error is not None:
            yield BadLine(line.number, str(line.error))
        elif line.text.strip():
            yield Row(line.number, None, (line.text.strip(),))


READERS = {"tsv": read_tsv, "csv": read_csv, "jsonl": read_json}


def finder(text_columns: Sequence[str], label_column: str | None, with_label: bool) -> FindColumns:
    """:func:`find_columns` with the column names that the user gave."""
    return partial(
        find_columns, text_columns=text_columns, label_column=label_column, with_label=with_label
    )


def is_label(text: str) -> bool:
    """Whether a text may be a label: one line, without tabs, that is not empty."""
    return "\t" not in text and len(text.splitlines()) == 1


def _row(cells: Sequence[str], columns: Columns, line: int, where: str) -> Row | BadLine:
    if len(cells) != len(columns.names):
        expected = f"{len(columns.names)} columns, as in the first row"
        return BadLine(line, f"{where}: expected {expected}, got {len(cells)}")
    label = None if columns.label is None else cells[columns.label].strip()
    return _checked(line, label, [cells[index].strip() for index in columns.texts], where)


def _row_of_object(row: dict[str, Any], columns: Columns, line: int, where: str) -> Row | BadLine:
    texts = []
    for index in columns.texts:
        name = columns.names[index]
        value = row.get(name)
        if not isinstance(value, str):
            return BadLine(line, f"{where}: expected a string as {name!r}, got {value!r:.40}")
        texts.append(value.strip())
    label = None
    if columns.label is not None:
        name = columns.names[columns.label]
        value = row.get(name)
        is_number = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
        if not (is_number or isinstance(value, str)):
            message = f"expected a string or a number as {name!r}, got {value!r:.40}"
            return BadLine(line, f"{where}: {message}")
        label = value.strip() if isinstance(value, str) else json.dumps(value)
    return _checked(line, label, texts, where)


def _checked(line: int, label: str | None, texts: list[str], where: str) -> Row | BadLine:
    if label == "":
        return BadLine(line, f"{where}: the label is empty: expected one")
    if label is not None and not is_label(label):
        return BadLine(
            line, f"{where}: expected a label of one line, without tabs, got {label!r:.40}"
        )
    if not all(texts):
        return BadLine(line, f"{where}: the text is empty: expected a sentence")
    if any("\0" in cell for cell in (label or "", *texts)):
        return BadLine(line, f"{where}: a NUL character: expected text")
    if any(_SURROGATE.search(cell) for cell in (label or "", *texts)):
        return BadLine(line, f"{where}: half of a surrogate pair, such as \\ud83d: expected text")
    return Row(line, label, tuple(texts))


def _no_tab(text: str) -> str:
    return f"no tab in {quoted(text, _SHOWN)}: expected label<TAB>sentence"
