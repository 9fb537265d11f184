"""The tables for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from statistics import fmean
from typing import Any

from graphsent.reproduction.catalogue import Catalogue
from graphsent.reproduction.comparison import Difference, compare
from graphsent.reproduction.examples import COLUMNS
from graphsent.reproduction.finished import FinishedRuns
from graphsent.reproduction.runs import NUM_SEEDS, Run
from graphsent.reproduction.tables import Comparison, Table
from graphsent.training.figures import is_share, metric_title

__all__ = ["as_markdown", "summary"]

_HEAD = """\
# Results

The tables of the papers, beside what the same models reach here. `graphsent reproduce` writes this
page and computes every figure in it; `graphsent config show CONFIGURATION` prints the settings.

*Here* is the mean test figure over *n* runs, one per seed or fold, with the standard deviation
(n - 1) in brackets; *dev* is the mean figure by which the epoch was chosen. Accuracies and F1 are
in per cent; *minutes* are those of one run on one CPU core. A row without figures has not been run.
All runs of all tables take {hours:.0f} hours on one core, as measured, or estimated for missing runs.

Where two rows are compared, the difference is given with its 95 % interval and a two-sided p-value,
both from a paired bootstrap over test examples and seeds. The papers' word vectors and parses were
not available; the notes under a table list what else differs and how the settings were chosen.
"""
_FAST = """
**This is the fast version**: a quarter of the epochs, and two seeds or folds, on the corpora
{corpora}. It shows that everything runs. Its figures cannot be compared with the papers.
"""
_COLUMNS = (
    "",
    "task",
    "metric",
    "paper",
    "here",
    "n",
    "dev",
    "vectors",
    "trees",
    "minutes",
    "notes",
)
_SIGNIFICANT = 0.05


def as_markdown(
    catalogue: Catalogue,
    finished: FinishedRuns,
    found: Sequence[Mapping[str, Any]],
    *,
    fast: bool = False,
) -> str:
    """The page with all tables.

    Args:
        catalogue: The tables.
        finished: The runs, for comparisons.
        found: What :func:`~graphsent.reproduction.entries` gave of them.
        fast: Whether the runs are those of fast versions.

    Raises:
        DataError: Two configurations that are compared were not judged on the same examples.
    """
    parts = [_HEAD.format(hours=_hours(catalogue, finished))]
    if fast:
        parts.append(_FAST.format(corpora=", ".join(_corpora(catalogue, finished)) or "none"))
    else:
        parts.append(f"## In short\n\n{summary(catalogue, found)}\n")
    by_table = groupby(found, key=lambda entry: entry["table"])
    for name, rows in by_table:
        parts.append(_table(catalogue.tables[name], list(rows)))
        parts.append(_comparisons(catalogue, catalogue.tables[name], finished, fast=fast))
    return "\n".join(part for part in parts if part)


def summary(catalogue: Catalogue, found: Sequence[Mapping[str, Any]]) -> str:
    """The main results that are there, a row for each model and a column for each task.

    Args:
        catalogue: The tables.
        found: What :func:`~graphsent.reproduction.entries` gave of them.
    """
    main = {
        (table.name, each.row, each.configuration): next(iter(each.paper))
        for table in catalogue.tables.values()
        for each in table.results
        if each.main
    }
    cells: dict[str, dict[str, str]] = {}
    titles: dict[str, str] = {}
    seen = set()
    for entry in sorted(found, key=lambda entry: entry["paper"] is None):  # of tables that share it
        metric = main.get((entry["table"], entry["row"], entry["configuration"]))
        if metric is None or not entry["n"] or entry["configuration"] in seen:
            continue
        if entry["metric"] != metric:
            continue
        seen.add(entry["configuration"])
        titles[entry["task"]] = f"`{entry['task']}`, {metric_title(metric)}"
        cells.setdefault(entry["row"], {})[entry["task"]] = _cell(entry)
    lines = [_line(["ours (deviation, n) / paper", *titles.values()])]
    lines.append(_line(["---"] * (len(titles) + 1)))
    lines += [_line([row, *(of.get(task, "") for task in titles)]) for row, of in cells.items()]
    return "\n".join(lines)


def _cell(entry: Mapping[str, Any]) -> str:
    """A figure with its deviation, the number of runs, and the paper's figure."""
    here, std, paper = (_figure(entry["metric"], entry[name]) for name in ("mean", "std", "paper"))
    return f"{here} ({std}, {entry['n']}) / {paper}"


def _hours(catalogue: Catalogue, finished: FinishedRuns) -> float:
    """The CPU time of all runs of all tables: measured, or estimated where there are none."""
    minutes = 0.0
    for configuration in catalogue.configurations.values():
        measured = [run["minutes"] for run in finished.of(configuration).values()]
        each = fmean(measured) if measured else configuration.minutes
        minutes += each * len(Run.of(configuration, range(NUM_SEEDS)))
    return minutes / 60


def _corpora(catalogue: Catalogue, finished: FinishedRuns) -> list[str]:
    names: dict[str, None] = {}
    for configuration in catalogue.configurations.values():
        for content in finished.of(configuration.fast()).values():
            names[content["data"]["corpus"]] = None
    return list(names)


def _table(table: Table, rows: list[Mapping[str, Any]]) -> str:
    notes: dict[str, int] = {}
    lines = [f"## {table.title}", "", f"`{table.name}`: {table.source}.", ""]
    for remark in table.remarks:
        lines += [remark, ""]
    lines += [_line(_COLUMNS), _line(["---"] * len(_COLUMNS))]
    for row in rows:
        said = [*row["deviations"], f"settings: {row['chosen']}"]
        numbers = [notes.setdefault(each, len(notes) + 1) for each in said]
        metric = row["metric"]
        std = "" if row["std"] is None else f" ({_figure(metric, row['std'])})"
        cells = [
            row["row"],
            f"`{row['task']}`",
            metric_title(metric),
            _figure(metric, row["paper"]),
            _figure(metric, row["mean"]) + std,
            str(row["n"]),
            _figure(metric, row["dev"]),
            row["vectors"],
            row["trees"],
            "-" if row["minutes"] is None else f"{row['minutes']:.1f}",
            ", ".join(map(str, numbers)),
        ]
        lines.append(_line(cells))
    lines += ["", *(f"{number}. {note}" for note, number in notes.items())]
    return "\n".join(lines).rstrip() + "\n"


def _comparisons(catalogue: Catalogue, table: Table, finished: FinishedRuns, *, fast: bool) -> str:
    lines = []
    for each in table.comparisons:
        sides = []
        for name in (each.first, each.second):
            shipped = catalogue.configurations[name]
            sides.append(finished.of(shipped.fast() if fast else shipped))
        folds = bool(shipped.num_folds)
        if folds:  # judged on the same folds
            numbers = {run.number for run in sides[0]} & {run.number for run in sides[1]}
            sides = [{r: c for r, c in side.items() if r.number in numbers} for side in sides]
        if not all(sides):
            lines.append(f"* {_pair(each)}: not run yet")
            continue
        first, second = (list(side.values()) for side in sides)
        metric = _METRICS[tuple(first[0]["examples"]["columns"])]
        difference = compare(first, second, folds=folds)
        lines.append(f"* {_pair(each)}: {_verdict(metric, difference, folds=folds)}")
    return "\n".join([*lines, ""]) if lines else ""


# Columns that are kept -> the metric that is computed of them.
_METRICS = {
    COLUMNS["classification"]: "accuracy",
    COLUMNS["regression"]: "pearson",
    COLUMNS["ranking"]: "f1",
}


def _pair(comparison: Comparison) -> str:
    return f"{comparison.claim} (`{comparison.first}` against `{comparison.second}`)"


def _verdict(metric: str, difference: Difference, *, folds: bool) -> str:
    if not folds and 1 in difference.num_runs:
        verdict = "one seed cannot say"  # p is then of test examples alone
    elif difference.p >= _SIGNIFICANT:
        verdict = "undecided"
    else:
        verdict = "found" if difference.mean > 0 else "the reverse was found"
    mean, low, high = (
        _figure(metric, (100 if is_share(metric) else 1) * value, sign="+")
        for value in (difference.mean, difference.low, difference.high)
    )
    n = " and ".join(map(str, difference.num_runs))
    return f"**{verdict}**, {mean} ({low} to {high}), {_p(difference.p)}, n = {n}"


def _p(value: float) -> str:
    return "p < .001" if value < 0.001 else f"p = {value:.3f}".replace("0.", ".")


def _figure(metric: str, value: float | None, sign: str = "") -> str:
    """A figure as the papers print it: per cent with one digit, others with three or four."""
    if value is None:
        return "-"
    return f"{value:{sign}.1f}" if is_share(metric) else f"{value:{sign}.3f}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
