"""Finished runs, stored as small files that are under version control."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from graphsent._files import write_json
from graphsent.errors import DataError
from graphsent.reproduction.configurations import Configuration
from graphsent.reproduction.examples import COLUMNS, metric_of_examples
from graphsent.reproduction.runs import Run

__all__ = ["FinishedRuns", "cpu_minutes"]

_NEEDED: dict[str, Any] = {
    "digest": str,
    "data": dict,
    "dev": dict,
    "test": dict,
    "examples": dict,
    "best_epoch": int,
    "minutes": (int, float),
    "versions": dict,
}
_ROUNDING = 1e-6  # of the stored metrics
_OF_SCORES = 5e-4  # in the metric of examples, whose scores are stored in thousandths


class FinishedRuns:
    """A directory of finished runs, ``CONFIGURATION/seed-0.json``.

    A file contains the key of the run (see :attr:`Run.key`), checksums of its data, its dev and
    test metrics, its result on each test example (:mod:`graphsent.reproduction.examples`), its CPU
    time in minutes, the versions of the libraries, and the hardware. A file whose configuration or
    revision has changed since is ignored, and replaced by the next run.

    Args:
        path: The directory, created when needed.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def file(self, run: Run) -> Path:
        """The file of a run."""
        return self.path / f"{run.name}.json"

    def read(self, run: Run, data: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        """Reads a finished run; None if there is none for this configuration and data.

        Args:
            run: The run.
            data: Checksums that its data must have; by default they are not checked.

        Raises:
            DataError: Its file is damaged, or cannot be read.
        """
        path = self.file(run)
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DataError(f"{path}: cannot read it: {error.strerror}") from None
        except (ValueError, RecursionError) as error:
            raise _damaged(path, str(error)) from None
        if not isinstance(content, dict) or not all(
            isinstance(content.get(name), kind) for name, kind in _NEEDED.items()
        ):
            raise _damaged(path, f"expected a finished run with {', '.join(_NEEDED)}")
        figures = [*content["dev"].values(), *content["test"].values(), content["minutes"]]
        if not content["test"] or not all(map(_is_figure, figures)) or content["minutes"] < 0:
            raise _damaged(path, "expected figures as dev and test metrics and minutes")
        if any(content.get(name) != value for name, value in run.key.items()):
            return None
        name, figure = next(iter(content["test"].items()))
        try:
            found = metric_of_examples(content["examples"])
        except DataError as error:
            raise _damaged(path, str(error)) from None
        in_thousandths = tuple(content["examples"]["columns"]) == COLUMNS["regression"]
        if abs(figure - found) > (_OF_SCORES if in_thousandths else _ROUNDING):
            problem = f"{name} on test is {figure}, that of its examples {found:.6f}"
            raise _damaged(path, problem)
        return content if data in (None, content["data"]) else None

    def of(self, configuration: Configuration) -> dict[Run, dict[str, Any]]:
        """All finished runs of a configuration in its present form, by seed or fold.

        Raises:
            DataError: A file is damaged, or the runs were made with different data.
        """
        kind = "fold" if configuration.num_folds else "seed"
        files = (self.path / configuration.name).glob(f"{kind}-*.json")
        numbers = (each.stem.removeprefix(f"{kind}-") for each in files)
        runs = [Run(configuration, kind, int(n)) for n in numbers if n.isdecimal()]
        read = ((run, self.read(run)) for run in sorted(runs, key=lambda run: run.number))
        found = {run: content for run, content in read if content is not None}
        for run, content in found.items():
            first = next(iter(found))
            if content["data"] != found[first]["data"]:
                raise DataError(
                    f"{self.file(first)} and {self.file(run)}: made with different data: expected "
                    "the same for all runs; without one of the files, its run is repeated"
                )
        return found

    def write(self, run: Run, content: Mapping[str, Any]) -> None:
        """Writes a finished run atomically."""
        write_json(self.file(run), {**run.key, **content}, indent=1)


def cpu_minutes(runs: Iterable[Mapping[str, Any]]) -> list[float]:
    """The CPU times of finished runs, in minutes; those of runs on a GPU are left out."""
    return [each["minutes"] for each in runs if "gpu" not in each["versions"]]


def _damaged(path: Path, problem: str) -> DataError:
    return DataError(f"{path}: damaged: {problem}; without the file, the run is repeated")


def _is_figure(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
