"""Several runs on the command line: their selection, and a table of their metrics."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from graphsent.cli.usage import UsageError, flag
from graphsent.training.figures import figure, metric_title

__all__ = ["folds_and_seeds", "numbers", "table"]

_MOST = 1000  # more must be a typo
_ALIGNED = ".4f"  # the same number of decimals in a column
_PART = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?")


def folds_and_seeds(given: Mapping[str, Any]) -> dict[str, Any]:
    """The folds and seeds of several runs; empty for a single run.

    Args:
        given: The options given to the command.

    Raises:
        UsageError: They are inconsistent or not numbers.
    """
    for one, many in (("fold", "folds"), ("seed", "seeds")):
        if one in given and many in given:
            raise UsageError(f"{flag(one)} and {flag(many)} are mutually exclusive")
    found: dict[str, Any] = {}
    if "folds" in given:
        text = given["folds"]
        found["folds"] = text if text == "all" else numbers(text, "--folds")
    if "seeds" in given:
        found["seeds"] = numbers(given["seeds"], "--seeds")
    return found


def numbers(text: str, name: str) -> list[int]:
    """Parses a list of numbers: ``3``, ``0-4``, ``0,2,5-7``.

    Raises:
        UsageError: The text is not of this form, or a range exceeds a thousand numbers.
    """
    found: dict[int, None] = {}
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last or last - first >= _MOST:
            raise UsageError(
                f"{name}: expected numbers such as 0-4 or 0,2,5 (at most {_MOST}), got {text!r}"
            )
        found |= dict.fromkeys(range(first, last + 1))
    return list(found)


def table(runs: Sequence[Mapping[str, Any]], summary: Mapping[str, Any]) -> str:
    """One line per run, with mean and standard deviation below.

    Args:
        runs: The ``name`` of each run and, by split, its metrics.
        summary: Split -> metric -> ``mean`` and ``std``, which is None for a single run.
    """
    columns = [(split, metric) for split, metrics in summary.items() for metric in metrics]
    heads = [f"{split} {metric_title(metric)}" for split, metric in columns]
    rows = [["run", *heads]]
    for run in runs:
        rows.append(
            [run["name"], *(figure(name, run[split][name], _ALIGNED) for split, name in columns)]
        )
    for key, title in (("mean", "mean"), ("std", f"std (n = {len(runs)})")):
        values = [summary[split][name][key] for split, name in columns]
        named = zip(columns, values, strict=True)
        rows.append([title, *("-" if v is None else figure(c[1], v, _ALIGNED) for c, v in named)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    )
