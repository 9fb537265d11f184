"""Tables as text, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["Table"]

_DIGITS = 6  # decimal places of numbers in CSV and JSON


class Table(NamedTuple):
    """Rows of strings and numbers in named columns.

    Attributes:
        columns: Names of the columns.
        rows: Rows with one value per column.
    """

    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]

    def to_text(self) -> str:
        """Formats the table as aligned text, numbers flush right.

        Example:
            >>> print(Table(("word", "weight"), [("film", 0.25), ("a", -1.0)]).to_text())
            word  weight
            film   0.250
            a     -1.000
        """
        cells = [self.columns, *(tuple(map(_shown, row)) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        to_right = [not isinstance(value, str) for value in (self.rows or cells)[0]]
        lines = []
        for row in cells:
            aligned = [
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(row, widths, to_right, strict=True)
            ]
            lines.append("  ".join(aligned).rstrip())
        return "\n".join(lines)

    def to_csv(self) -> str:
        """Formats the table as CSV, with a header row."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(map(_rounded, self.rows))
        return out.getvalue().rstrip("\n")

    def to_json(self) -> str:
        """Formats the table as a JSON list with one object per row."""
        objects = [dict(zip(self.columns, _rounded(row), strict=True)) for row in self.rows]
        return json.dumps(objects, ensure_ascii=False, indent=2)


def _rounded(row: tuple[Any, ...]) -> list[Any]:
    return [round(value, _DIGITS) if isinstance(value, float) else value for value in row]


def _shown(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
