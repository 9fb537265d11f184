"""What the papers report: tables as data.

A table, in YAML::

    title: Sentiment, Tree-LSTMs and sequences
    source: Tai et al. 2015, table 2
    rows:
      - name: Constituency Tree-LSTM
        results:
          - {configuration: treelstm-sst5, main: true, paper: {root_accuracy: 51.0}}
    comparisons:
      - claim: the tree is better than the sequence
        first: treelstm-sst5
        second: sequence-sst5

Accuracies and F1 are in per cent, as in the papers; a metric without a figure in the paper has
none (``~``). The first metric of a result is what comparisons are about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphsent.errors import DataError
from graphsent.reproduction.configurations import read_yaml

__all__ = ["Comparison", "Result", "Table", "read_table"]


@dataclass(frozen=True)
class Result:
    """What a row of a table says of one task.

    Attributes:
        row: Name of the row.
        configuration: The configuration that stands for it here.
        paper: Metric -> the figure of the paper, None if it has none.
        main: Whether it is run before results that are not.
    """

    row: str
    configuration: str
    paper: Mapping[str, float | None]
    main: bool = False


@dataclass(frozen=True)
class Comparison:
    """Two rows that the paper, or a reader, compares.

    Attributes:
        claim: What is claimed, or asked, of the first against the second.
        first: A configuration.
        second: Another one, of the same task.
    """

    claim: str
    first: str
    second: str


@dataclass(frozen=True)
class Table:
    """A table of a paper.

    Attributes:
        name: By which it is asked for.
        title: What it is about.
        source: The paper, and where in it.
        results: Its figures, row by row.
        comparisons: What is compared in it.
        remarks: What a reader should know of all of it.
    """

    name: str
    title: str
    source: str
    results: tuple[Result, ...]
    comparisons: tuple[Comparison, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def configurations(self) -> list[str]:
        """Names of all configurations in it."""
        return list(dict.fromkeys(each.configuration for each in self.results))


def read_table(path: Path) -> Table:
    """A table from its file.

    Raises:
        DataError: The file is not of the form above.
    """
    values = read_yaml(path, ("title", "source", "remarks", "rows", "comparisons"))
    try:
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
    paper = values["paper"]
    if not paper or not all(isinstance(v, int | float | None) for v in paper.values()):
        raise DataError(f"{path}: {row}: expected metrics with figures, got {paper!r}")
    return Result(row, values["configuration"], paper, values.get("main", False))
