"""The papers' tables, as data.

A table is a YAML file::

    title: "Sentiment: Tree-LSTMs and sequential LSTMs"
    source: Tai et al. 2015, table 2
    rows:
      - name: Constituency Tree-LSTM
        results:
          - {configuration: treelstm-sst5, main: true, paper: {root_accuracy: 51.0}}
    comparisons:
      - claim: the tree outperforms the sequence
        first: treelstm-sst5
        second: sequence-sst5

Accuracies and F1 are in per cent, as in the papers; a metric that the paper does not report is null
(``~``). Comparisons are about the first metric of a result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphsent.errors import DataError
from graphsent.reproduction.configurations import check_names, read_yaml

__all__ = ["Comparison", "Result", "Table", "read_table"]


@dataclass(frozen=True)
class Result:
    """A result in a row of a table, for one task.

    Attributes:
        row: Name of the row.
        configuration: Name of the configuration that reproduces it.
        paper: Metric -> the paper's figure, or None.
        main: Whether it is a main result: run first, and shown in the summary.
    """

    row: str
    configuration: str
    paper: Mapping[str, float | None]
    main: bool = False


@dataclass(frozen=True)
class Comparison:
    """A comparison of two rows, made by the paper or of interest to readers.

    Attributes:
        claim: The claim that the first outperforms the second.
        first: Name of a configuration.
        second: Name of another one, on the same task.
    """

    claim: str
    first: str
    second: str


@dataclass(frozen=True)
class Table:
    """A table of a paper.

    Attributes:
        name: Its name on the command line.
        title: Its title.
        source: The paper, and the table in it.
        results: Its figures, row by row.
        comparisons: Comparisons between its rows.
        remarks: Remarks on the table as a whole.
    """

    name: str
    title: str
    source: str
    results: tuple[Result, ...]
    comparisons: tuple[Comparison, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def configurations(self) -> list[str]:
        """Names of all its configurations."""
        return list(dict.fromkeys(each.configuration for each in self.results))


def read_table(path: Path) -> Table:
    """Reads a table from its file.

    Raises:
        DataError: The file does not have the format above.
    """
    values = read_yaml(path, ("title", "source", "remarks", "rows", "comparisons"))
    try:
        for row in values["rows"]:
            check_names(row, ("name", "results"), f"{path}: rows")
        results = [
            _result(row["name"], each, path) for row in values["rows"] for each in row["results"]
        ]
        comparisons = [Comparison(**each) for each in values.get("comparisons", ())]
        remarks = tuple(values.get("remarks", ()))
        title, source = values["title"], values["source"]
    except (KeyError, TypeError) as error:
        raise DataError(f"{path}: expected a table: {error!r}") from None
    table = Table(path.stem, title, source, tuple(results), tuple(comparisons), remarks)
    for each in comparisons:
        for name in (each.first, each.second):
            if name not in table.configurations:
                raise DataError(f"{path}: compares {name!r}, which no row has")
    return table


def _result(row: str, values: Mapping[str, Any], path: Path) -> Result:
    check_names(values, ("configuration", "main", "paper"), f"{path}: {row}")
    paper = values["paper"]
    if not isinstance(paper, Mapping) or not paper or not all(map(_is_figure, paper.values())):
        raise DataError(f"{path}: {row}: expected metrics with figures, got {paper!r}")
    return Result(row, values["configuration"], paper, values.get("main", False))


def _is_figure(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and math.isfinite(value))
