"""Directories of several runs that differ only in fold or seed."""

from __future__ import annotations

import os
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from graphsent._files import leftovers, recover, write_atomically, write_json
from graphsent._names import message_of
from graphsent.training.config import RunConfig
from graphsent.training.config_file import from_yaml, to_yaml
from graphsent.training.directory import SEVERAL, RunDirectory
from graphsent.training.errors import TrainingError

__all__ = ["RunSet", "Runs", "summary"]

_RUN = re.compile(r"fold-\d+|seed-\d+|fold-\d+-seed-\d+")


@dataclass(frozen=True)
class Runs:
    """Several runs.

    Attributes:
        config: Their common configuration.
        folds: Folds used as test splits, one per run; empty to keep that of the configuration, or
            for a task without folds.
        seeds: Seeds with which to train on each fold; empty to keep that of the configuration.
        test: Whether models are evaluated on test.
    """

    config: RunConfig
    folds: tuple[int, ...]
    seeds: tuple[int, ...]
    test: bool

    def configs(self) -> dict[str, RunConfig]:
        """The configuration of each run by name: ``fold-0``, ``seed-1`` or ``fold-0-seed-1``."""
        found = {}
        for fold in self.folds or (None,):
            for seed in self.seeds or (None,):
                config, name = self.config, []
                if fold is not None:
                    config = replace(config, task_options={**config.task_options, "fold": fold})
                    name.append(f"fold-{fold}")
                if seed is not None:
                    config = replace(config, training=replace(config.training, seed=seed))
                    name.append(f"seed-{seed}")
                found["-".join(name)] = config
        return found

    def common(self) -> dict[str, Any]:
        """The settings that must not change between calls, by name."""
        values = self.config.to_dict()
        flat = {**{k: v for k, v in values.items() if not isinstance(v, dict)}, "test": self.test}
        for part, options in values.items():
            if isinstance(options, dict):
                flat |= {f"{part}.{name}": value for name, value in options.items()}
        if self.folds:
            flat.pop("task_options.fold", None)
        if self.seeds:
            flat.pop("training.seed")
        return flat


class RunSet:
    """The directory of several runs.

    It contains ``runs.yaml``, their configuration; a directory per run (see
    :class:`~graphsent.training.RunDirectory`); and ``results.json``. Other files in the directory
    are left alone.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.config = self.path / SEVERAL
        self.results = self.path / "results.json"

    @property
    def exists(self) -> bool:
        """Whether the directory holds several runs."""
        return os.path.isfile(self.config)

    def open(self) -> Runs:
        """Reads the runs as last requested.

        Raises:
            TrainingError: There are none, or the file is damaged.
        """
        try:
            values = from_yaml(self.config.read_text(encoding="utf-8"))
            folds, seeds = (tuple(map(int, values[name])) for name in ("folds", "seeds"))
            config = RunConfig.from_dict(values["config"], of_run=True)
            return Runs(config, folds, seeds, bool(values["test"]))
        except OSError as error:
            raise TrainingError(f"{self.config}: cannot read it: {error.strerror}") from None
        except (yaml.YAMLError, ValueError, TypeError, KeyError, RecursionError) as error:
            reason = message_of(error)
            raise TrainingError(f"{self.config}: expected a set of runs: {reason}") from None

    def create(self, runs: Runs, *, overwrite: bool) -> None:
        """Creates the directory, or continues the runs in it.

        Raises:
            TrainingError: The directory contains runs with other options, without ``overwrite``, a
                single run, or other files.
        """
        self.check(runs, overwrite=overwrite)
        if overwrite:
            self.clear()
        with suppress(OSError):
            recover(self.results, writing=True)
        values = {
            "config": runs.config.to_dict(),
            "folds": list(runs.folds),
            "seeds": list(runs.seeds),
            "test": runs.test,
        }
        write_atomically(self.config, to_yaml(values))

    def check(self, runs: Runs, *, overwrite: bool) -> None:
        """Raises the errors of :meth:`create`, without changing anything."""
        if os.path.lexists(self.path) and not os.path.isdir(self.path):
            raise TrainingError(f"{self.path}: expected a directory for the runs, found a file")
        if not self.exists:
            left = {each for each, _ in leftovers(self.path, self.config.name)}
            if os.path.isdir(self.path) and set(self.path.iterdir()) - left:
                what = "a single run" if RunDirectory(self.path).config.is_file() else "other files"
                raise TrainingError(f"{self.path} holds {what}: choose another directory")
            return
        if overwrite:
            return
        before, now = self.open().common(), runs.common()
        changed = [name for name in {**before, **now} if before.get(name) != now.get(name)]
        if changed:
            changes = ", ".join(
                f"{name} was {before.get(name)!r}, now {now.get(name)!r}" for name in changed
            )
            raise TrainingError(
                f"{self.path} holds runs with other options ({changes}): repeat those, replace "
                "the runs (--overwrite), or choose another directory"
            )

    def write_results(self, results: Mapping[str, Any]) -> None:
        """Writes ``results.json``, atomically."""
        write_json(self.results, results, indent=2)

    @property
    def is_begun(self) -> bool:
        """Whether there are results to preserve, those of at least one complete epoch of a run."""
        return any(RunDirectory(each).is_begun for each in self._directories())

    def clear(self) -> None:
        """Removes the files of all runs; keeps all others."""
        self.results.unlink(missing_ok=True)
        for directory in self._directories():
            run = RunDirectory(directory)
            with run.held():
                run.clear()
            with suppress(OSError):  # contains other files
                directory.rmdir()
        # The configuration goes last: without it, the directory is not known to hold runs.
        self.config.unlink(missing_ok=True)

    def _directories(self) -> Iterator[Path]:
        for directory in self.path.iterdir() if self.path.is_dir() else ():
            if _RUN.fullmatch(directory.name) and (directory / "config.yaml").is_file():
                yield directory


def summary(figures: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float | None]]:
    """Mean and sample standard deviation (n - 1; None for one run) of metrics, by name.

    Args:
        figures: The metrics of each run.
    """
    found = {}
    for name in figures[0] if figures else ():
        values = [each[name] for each in figures]
        deviation = statistics.stdev(values) if len(values) > 1 else None
        found[name] = {"mean": statistics.fmean(values), "std": deviation}
    return found
