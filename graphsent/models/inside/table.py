"""Tables as text, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["Table"]

_DIGITS = 6  # of numbers in CSV and JSON


class Table(NamedTuple):
    """Rows of strings and numbers under names.

    Attributes:
        columns: The names.
        rows: As many values each as there are names.
    """

    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]

    def to_text(self) -> str:
        """Columns one below the other, numbers to the right; the last column as it is.

        Example:
            >>> print(Table(("word", "weight"), [("film", 0.25), ("a", -1.0)]).to_text())
            word  weight
            film   0.250
            a     -1.000
        """
        cells = [self.columns, *(tuple(map(_shown, row)) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        to_right = [
            bool(self.rows) and not isinstance(value, str)
            for value in (self.rows[0] if self.rows else self.columns)
        ]
        lines = []
        for row in cells:
            aligned = [
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(row, widths, to_right, strict=True)
            ]
            lines.append("  ".join(aligned).rstrip())
        return "\n".join(lines)

    def to_csv(self) -> str:
        """Lines of values between commas, the names first."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(map(_rounded, self.rows))
        return out.getvalue().rstrip("\n")

    def to_json(self) -> str:
        """A list with an object for each row."""
        objects = [dict(zip(self.columns, _rounded(row), strict=True)) for row in self.rows]
        return json.dumps(objects, ensure_ascii=False, indent=2)


def _rounded(row: tuple[Any, ...]) -> list[Any]:
    return [round(value, _DIGITS) if isinstance(value, float) else value for value in row]


def _shown(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
