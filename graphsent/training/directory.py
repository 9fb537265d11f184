"""The directory of a training run."""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphsent._files import atomic_path
from graphsent.errors import GraphsentError
from graphsent.models import Model, load_pretrained
from graphsent.training.config import RunConfig
from graphsent.training.errors import TrainingError

__all__ = ["RunDirectory", "load_model"]


class RunDirectory:
    """Where a run keeps its files.

    ``config.yaml`` says what it is made from, ``model/`` is the model that is best on dev,
    ``last.ckpt`` the state after the last complete epoch, ``results.json`` what came out,
    ``logs/metrics.csv`` and ``logs/tensorboard/`` the figures of each epoch. Other files may lie
    beside them and are left alone.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.config = self.path / "config.yaml"
        self.model = self.path / "model"
        self.checkpoint = self.path / "last.ckpt"
        self.results = self.path / "results.json"
        self.logs = self.path / "logs"

    def create(self, config: RunConfig, *, overwrite: bool = False) -> None:
        """Makes the directory for a new run.

        Raises:
            TrainingError: Something is there already: a run, unless ``overwrite``, or other files.
        """
        self.check_free(overwrite=overwrite)
        for file in (self.results, self.checkpoint):
            file.unlink(missing_ok=True)
        for directory in (self.model, self.logs):
            shutil.rmtree(directory, ignore_errors=True)
        try:
            config.save(self.config)
        except OSError as error:
            raise TrainingError(f"{self.path}: cannot create the run: {error.strerror}") from None

    def check_free(self, *, overwrite: bool = False) -> None:
        """Raises what :meth:`create` would raise about the directory, and changes nothing."""
        if self.path.is_file():
            raise TrainingError(f"{self.path}: expected a directory for the run, found a file")
        if not self.path.is_dir() or not any(self.path.iterdir()):
            return
        try:
            self.open()
        except GraphsentError:
            raise TrainingError(
                f"{self.path} holds files that are no run: choose another directory"
            ) from None
        if not overwrite:
            raise TrainingError(
                f"{self.path} holds a run: go on with it (--resume {self.path}), replace it "
                "(--overwrite), or choose another directory"
            )

    def open(self) -> RunConfig:
        """The configuration of the run that is there.

        Raises:
            TrainingError: There is none.
            DataError: It is damaged.
        """
        if not self.config.is_file():
            raise TrainingError(f"{self.path} is no run: it has no {self.config.name}")
        return RunConfig.load(self.config)

    def read_results(self) -> dict[str, Any]:
        """What :meth:`write_results` wrote; empty before the first epoch is complete."""
        if not self.results.is_file():
            return {}
        return json.loads(self.results.read_text(encoding="utf-8"))

    def write_history(self, history: Sequence[Mapping[str, Any]]) -> None:
        """Writes the figures of all epochs to ``logs/metrics.csv``, whole or not at all."""
        with (
            atomic_path(self.logs / "metrics.csv") as temporary,
            temporary.open("w", encoding="utf-8", newline="") as file,
        ):
            writer = csv.DictWriter(file, list(history[0]))
            writer.writeheader()
            writer.writerows(history)

    def write_results(self, results: dict[str, Any]) -> None:
        """Writes ``results.json``, whole or not at all."""
        with atomic_path(self.results) as temporary:
            text = json.dumps(results, indent=2, ensure_ascii=False)
            temporary.write_text(text + "\n", encoding="utf-8")


def load_model(path: str | os.PathLike[str]) -> Model:
    """The best model of a run, or a model directory itself.

    Raises:
        ModelError: There is no sound model.
        TrainingError: It is a run of which no epoch is complete.
    """
    run = RunDirectory(path)
    if run.config.is_file() and not run.model.is_dir():
        raise TrainingError(
            f"{run.path} has no model yet: no epoch is complete; go on with --resume {run.path}"
        )
    return load_pretrained(run.model if run.model.is_dir() else path)
