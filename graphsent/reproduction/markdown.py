"""The tables as a Markdown page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from statistics import fmean
from typing import Any

from graphsent.reproduction.catalogue import Catalogue
from graphsent.reproduction.configurations import different_settings
from graphsent.reproduction.finished import FinishedRuns, cpu_minutes
from graphsent.reproduction.runs import NUM_SEEDS, Run
from graphsent.reproduction.tables import Comparison, Table
from graphsent.reproduction.verdict import SIGNIFICANT, Verdict, num_after_holm
from graphsent.training.figures import is_share, metric_title

__all__ = ["as_markdown", "summary"]

Compared = Mapping[Comparison, Verdict | None]

_HEAD = """\
# Results

The tables of the papers, with the figures that the same models reach here. This page is written,
and every figure in its tables computed, by `graphsent reproduce`; figures in the notes on settings
are those of earlier runs and of the trials in `docs/results/search`. `graphsent config show
CONFIGURATION` prints the settings.

*Here* is the mean test figure over *n* runs, one per seed or fold, with the standard deviation
(n - 1) in brackets; *dev* is the mean dev figure of the selected epochs. Corpora without a dev
split have a tenth of their training data as one. Accuracies and F1 are in per cent; *minutes* is
the time of one run on one CPU core, a dash if all were on a GPU. A row without figures has not been
run.
All runs of all tables take {hours:.0f} hours on one core (estimated where runs are missing).

Where two rows are compared, the difference is given with its 95 % interval and a two-sided p-value:
from a paired bootstrap over test examples and seeds, which is conservative (it finds too few
differences rather than too many), or from a t-test over the folds, corrected for the training data
that they share (Nadeau and Bengio 2003). A claim is *supported* or *reversed* if p is below .05,
and *undecided* otherwise. {multiplicity}The last column names the settings in
which the two rows differ, first / second. Where the settings of two rows were chosen separately, or
for one row only, their difference also reflects the settings. The papers' word vectors and parses
were not available; the notes under a table list what else differs and how the settings were chosen.
"""
_MULTIPLICITY = """\
These p-values are not corrected for the number of claims: of the {below}
of {number} that are below .05, {left} remain so after Holm's correction. """
_FAST = """
**This is the fast version**: a quarter of the epochs and two seeds or folds, on the corpora
{corpora}. It shows that everything runs; its figures cannot be compared with the papers'.
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
_CONTROLS, _OF_ROOTS = "controls", " without the labels of phrases"
_COMPARED = (
    "claim",
    "first",
    "second",
    "difference",
    "95 % interval",
    "p",
    "n",
    "verdict",
    "settings that differ",
)


def as_markdown(
    catalogue: Catalogue,
    finished: FinishedRuns,
    found: Sequence[Mapping[str, Any]],
    compared: Compared,
    *,
    fast: bool,
) -> str:
    """The page with all tables.

    Args:
        catalogue: The tables.
        finished: The runs.
        found: Their figures, as returned by :func:`~graphsent.reproduction.entries`.
        compared: Their comparisons, as returned by :func:`~graphsent.reproduction.verdicts`.
        fast: Whether the runs are those of fast versions.
    """
    hours, multiplicity = _hours(catalogue, finished), _multiplicity(compared)
    parts = [_HEAD.format(hours=hours, multiplicity=multiplicity)]
    if fast:
        parts.append(_FAST.format(corpora=", ".join(_corpora(catalogue, finished)) or "none"))
    else:
        parts.append(f"## In short\n\n{summary(catalogue, found, compared)}\n")
    by_table = groupby(found, key=lambda entry: entry["table"])
    for name, rows in by_table:
        parts.append(_table(catalogue.tables[name], list(rows)))
        parts.append(_comparisons(catalogue, catalogue.tables[name], compared))
    return "\n".join(part for part in parts if part)


def summary(catalogue: Catalogue, found: Sequence[Mapping[str, Any]], compared: Compared) -> str:
    """The main results, a row per model and a column per task, and whether the parse helps.

    Args:
        catalogue: The tables.
        found: The figures, as returned by :func:`~graphsent.reproduction.entries`.
        compared: The comparisons, as returned by :func:`~graphsent.reproduction.verdicts`.
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
        figure = (entry["configuration"], metric)
        if metric is None or not entry["n"] or figure in seen or entry["metric"] != metric:
            continue
        seen.add(figure)
        titles.setdefault(entry["task"], f"`{entry['task']}`, {metric_title(metric)}")
        cells.setdefault(entry["row"], {})[entry["task"]] = _cell(entry)
    lines = [_line(["ours (deviation, n) / paper", *titles.values()])]
    lines.append(_line(["---"] * (len(titles) + 1)))
    lines += [_line([row, *(of.get(task, "") for task in titles)]) for row, of in cells.items()]
    return "\n".join([*lines, *_controls(catalogue, compared)])


def _controls(catalogue: Catalogue, compared: Compared) -> list[str]:
    """How often parsed trees were better than artificial ones, per task and kind of labels."""
    if _CONTROLS not in catalogue.tables:
        return []
    by_group: dict[str, list[str]] = {}
    for each in catalogue.tables[_CONTROLS].comparisons:
        verdict = compared[each]
        if verdict is not None:
            config = catalogue.configurations[each.first].run_config()
            of_roots = config.training.loss_nodes == "root"
            group = f"`{config.task}`{_OF_ROOTS if of_roots else ''}"
            by_group.setdefault(group, []).append(verdict.text)
    counts = [
        f"on {group} {texts.count('supported')} of {len(texts)} show a gain and "
        f"{texts.count('reversed')} a loss"
        for group, texts in by_group.items()
    ]
    if not counts:
        return []
    return [
        "",
        "*Does the parse help?* Of the comparisons of parsed trees with balanced, "
        f"left-branching, right-branching and random ones, {'; '.join(counts)} (p < .05); the "
        "others are undecided.",
    ]


def _cell(entry: Mapping[str, Any]) -> str:
    """A figure with its deviation, the number of runs, and the paper's figure."""
    here, std, paper = (_figure(entry["metric"], entry[name]) for name in ("mean", "std", "paper"))
    return f"{here} ({std}, {entry['n']}) / {paper}"


def _hours(catalogue: Catalogue, finished: FinishedRuns) -> float:
    """The CPU time of all runs of all tables, estimated where there are none."""
    minutes = 0.0
    for configuration in catalogue.configurations.values():
        measured = cpu_minutes(finished.of(configuration).values())
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


def _comparisons(catalogue: Catalogue, table: Table, compared: Compared) -> str:
    """A row per comparison of a table; empty if it has none."""
    if not table.comparisons:
        return ""
    lines = [_line(_COMPARED), _line(["---"] * len(_COMPARED))]
    for each in table.comparisons:
        cells = [each.claim, f"`{each.first}`", f"`{each.second}`"]
        verdict = compared[each]
        sides = (catalogue.configurations[name] for name in (each.first, each.second))
        differing = [
            f"{name} {_setting(left)} / {_setting(right)}"
            for name, (left, right) in different_settings(*sides).items()
        ]
        last = ", ".join(differing) or "none"
        if verdict is None:
            lines.append(_line([*cells, "-", "-", "-", "-", "not run yet", last]))
            continue
        mean, low, high = (
            _figure(verdict.metric, value, sign="+")
            for value in (verdict.mean, verdict.low, verdict.high)
        )
        n = " and ".join(map(str, verdict.num_runs))
        cells += [mean, f"{low} to {high}", _p(verdict.p), n, verdict.text, last]
        lines.append(_line(cells))
    return "\n".join([*lines, ""])


def _multiplicity(compared: Compared) -> str:
    """How many claims are significant, and remain so after correction; empty if none is."""
    decided = {
        (each.first, each.second): verdict.p
        for each, verdict in compared.items()
        if verdict is not None and 1 not in verdict.num_runs
    }
    below = sum(p < SIGNIFICANT for p in decided.values())
    left = num_after_holm(decided.values())
    return _MULTIPLICITY.format(below=below, number=len(decided), left=left) if below else ""


def _setting(value: object) -> str:
    if isinstance(value, bool) or value is None or value == ():
        return "yes" if value else "no"
    if isinstance(value, (tuple, list)):
        return " + ".join(str(each).partition(".")[0] for each in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _p(value: float) -> str:
    return "< .001" if value < 0.001 else f"{value:.3f}".replace("0.", ".")


def _figure(metric: str, value: float | None, sign: str = "") -> str:
    """A figure as in the papers: per cent with one decimal, others with three."""
    if value is None:
        return "-"
    return f"{value:{sign}.1f}" if is_share(metric) else f"{value:{sign}.3f}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
