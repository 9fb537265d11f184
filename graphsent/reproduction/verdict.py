"""The comparisons of the tables, decided by the finished runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from graphsent.errors import DataError
from graphsent.reproduction.catalogue import Catalogue
from graphsent.reproduction.comparison import Difference, compare
from graphsent.reproduction.examples import COLUMNS
from graphsent.reproduction.finished import FinishedRuns
from graphsent.reproduction.tables import Comparison
from graphsent.training.figures import is_share

__all__ = ["SIGNIFICANT", "Verdict", "num_after_holm", "verdicts"]

SIGNIFICANT = 0.05
# Columns stored for each test example -> the metric computed from them.
_METRICS = {
    COLUMNS["classification"]: "accuracy",
    COLUMNS["regression"]: "pearson",
    COLUMNS["ranking"]: "f1",
}


@dataclass(frozen=True)
class Verdict(Difference):
    """The difference between two configurations on test, in the units of the tables.

    Attributes:
        metric: The metric of the difference.
        text: ``"supported"``, ``"reversed"``, ``"undecided"``, ``"one seed cannot tell"``,
            or ``"one fold cannot tell"``.
    """

    metric: str
    text: str


def verdicts(
    catalogue: Catalogue, finished: FinishedRuns, *, fast: bool = False
) -> dict[Comparison, Verdict | None]:
    """The verdict on each comparison of the tables; None where a configuration has not been run.

    Args:
        catalogue: The tables.
        finished: The runs.
        fast: Whether they are those of fast versions.

    Raises:
        DataError: Two configurations were not evaluated on the same test data.
    """
    return {
        comparison: _verdict(catalogue, comparison, finished, fast=fast)
        for table in catalogue.tables.values()
        for comparison in table.comparisons
    }


def num_after_holm(values: Iterable[float]) -> int:
    """How many of some p-values are significant after Holm's correction for their number."""
    ordered = sorted(values)
    for rank, p in enumerate(ordered):
        if p >= SIGNIFICANT / (len(ordered) - rank):
            return rank
    return len(ordered)


def _verdict(
    catalogue: Catalogue, comparison: Comparison, finished: FinishedRuns, *, fast: bool
) -> Verdict | None:
    shipped = [catalogue.configurations[name] for name in (comparison.first, comparison.second)]
    sides = [finished.of(each.fast() if fast else each) for each in shipped]
    folds = shipped[0].num_folds
    if folds:  # compare the same folds
        numbers = {run.number for run in sides[0]} & {run.number for run in sides[1]}
        sides = [{r: c for r, c in side.items() if r.number in numbers} for side in sides]
    if not all(sides):
        return None
    first, second = (list(side.values()) for side in sides)
    if _tested_on(first[0]) != _tested_on(second[0]):
        names = " and ".join(str(finished.path / each.name) for each in shipped)
        raise DataError(
            f"{names}: made with different test data: expected the same for runs that are "
            "compared; without the files of one of them, its runs are repeated"
        )
    metric = _METRICS[tuple(first[0]["examples"]["columns"])]
    found = compare(first, second, num_folds=folds)
    scale = 100 if is_share(metric) else 1
    if 1 in found.num_runs:  # p covers test examples only, or nothing
        text = f"one {'fold' if folds else 'seed'} cannot tell"
    elif found.p >= SIGNIFICANT:
        text = "undecided"
    else:
        text = "supported" if found.mean > 0 else "reversed"
    mean, low, high = scale * found.mean, scale * found.low, scale * found.high
    return Verdict(mean, low, high, found.p, found.num_runs, metric, text)


def _tested_on(content: Mapping[str, Any]) -> list[str]:
    """The SHA-256 of the test corpus of a finished run, without that of its parses."""
    return content["data"].get("files", {}).get("test", [])[:1]
