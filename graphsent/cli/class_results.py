"""What evaluate reports for classification: tables and misclassified examples."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphsent._files import atomic_path
from graphsent.models.inspection.table import Table
from graphsent.pairs import sides
from graphsent.tasks import TaskData
from graphsent.tasks.parses import text_of

if TYPE_CHECKING:  # torchmetrics takes a second to import
    from graphsent.tasks.class_report import ClassReport, Mistake

__all__ = ["describe", "list_mistakes", "tables", "write_mistakes"]

_MOST_CLASSES = 12  # in a matrix printed to a terminal
_MOST_CONFUSIONS = 10


def tables(report: ClassReport) -> str:
    """Precision, recall and F1 of each class, and the confusion matrix."""
    rows = [
        (each.name, *(100 * value for value in each[1:4]), each.count) for each in report.classes
    ]
    figures = Table(("class", "precision %", "recall %", "F1 %", "examples"), rows).to_text()
    return f"{figures}\n\n{_confusion(report)}"


def describe(report: ClassReport) -> dict[str, Any]:
    """The contents of :func:`tables` as JSON values."""
    return {
        "classes": [each._asdict() for each in report.classes],
        "confusion": {"classes": list(report.names), "rows_are_gold": report.confusion},
    }


def list_mistakes(report: ClassReport, number: int, data: TaskData, split: str) -> str:
    """The most confident errors, one per line, below their total number."""
    mistakes = report.mistakes()
    rows = [
        (place, each.gold, each.predicted, f"{each.probability:.3f}", text)
        for each, place, text in _with_places(mistakes[:number], data, split)
    ]
    table = Table(("where", "gold", "predicted", "probability", "sentence"), rows).to_text()
    head = f"{min(number, len(mistakes)):,} of {len(mistakes):,} errors, most confident first:"
    return f"{head}\n{table}" if rows else "no errors"


def write_mistakes(path: str, report: ClassReport, data: TaskData, split: str) -> int:
    """Writes all errors to a CSV file; returns their number."""
    mistakes = report.mistakes()
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("where", "gold", "predicted", "probability", "sentence"))
        for each, place, text in _with_places(mistakes, data, split):
            writer.writerow((place, each.gold, each.predicted, f"{each.probability:.6f}", text))
    return len(mistakes)


def _with_places(
    mistakes: Sequence[Mistake], data: TaskData, split: str
) -> list[tuple[Mistake, str, str]]:
    found = []
    for each in mistakes:
        example = data.splits[split][each.index]
        places = data.places.get(split)
        place = f"{split} {each.index + 1}"
        if places is not None:
            place = f"{Path(places[each.index].path).name}:{places[each.index].line}"
        found.append((each, place, _text(example)))
    return found


def _text(example: Any) -> str:
    return " | ".join(map(text_of, sides(example)))


def _confusion(report: ClassReport) -> str:
    names, confusion = report.names, report.confusion
    if len(names) <= _MOST_CLASSES:
        columns = ("gold \\ predicted", *names)
        rows = [(name, *counts) for name, counts in zip(names, confusion, strict=True)]
        return Table(columns, rows).to_text()
    wrong = [
        (count, names[gold], names[predicted])
        for gold, counts in enumerate(confusion)
        for predicted, count in enumerate(counts)
        if count and gold != predicted
    ]
    if not wrong:
        return "no confusions"
    wrong.sort(key=lambda row: -row[0])
    head = f"most frequent confusions (matrix of all {len(names)} classes: --confusion FILE):"
    return f"{head}\n{Table(('times', 'gold', 'predicted'), wrong[:_MOST_CONFUSIONS]).to_text()}"
