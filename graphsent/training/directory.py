"""The directory of a training run."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from graphsent._files import atomic_path
from graphsent.errors import DataError
from graphsent.models import Model, load_pretrained
from graphsent.training.config import RunConfig

__all__ = ["RunDirectory", "load_model"]


class RunDirectory:
    """Where a run keeps its files.

    ``config.yaml`` says what it is made from, ``model/`` is the model that is best on dev,
    ``last.ckpt`` the state after the last complete epoch, ``results.json`` what came out, ``logs/``
    the figures of each epoch for CSV readers and TensorBoard.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.config = self.path / "config.yaml"
        self.model = self.path / "model"
        self.checkpoint = self.path / "last.ckpt"
        self.results = self.path / "results.json"

    def create(self, config: RunConfig, *, overwrite: bool = False) -> None:
        """Makes the directory for a new run.

        Raises:
            DataError: Something is there already: a run, unless ``overwrite``, or other files.
        """
        if self.path.is_file():
            raise DataError(f"{self.path}: expected a directory for the run, found a file")
        if self.path.is_dir() and any(self.path.iterdir()):
            if not self.config.is_file():
                raise DataError(f"{self.path} holds files that are no run: choose another --out")
            if not overwrite:
                raise DataError(
                    f"{self.path} holds a run: go on with --resume {self.path}, replace it with "
                    "--overwrite, or choose another --out"
                )
            shutil.rmtree(self.path)
        try:
            config.save(self.config)
        except OSError as error:
            raise DataError(f"{self.path}: cannot create the run: {error.strerror}") from None

    def open(self) -> RunConfig:
        """The configuration of the run that is there.

        Raises:
            DataError: There is none.
        """
        if not self.config.is_file():
            raise DataError(f"{self.path} is no run: it has no {self.config.name}")
        return RunConfig.load(self.config)

    def read_results(self) -> dict[str, Any]:
        """What :meth:`write_results` wrote; empty before the first epoch is complete."""
        if not self.results.is_file():
            return {}
        return json.loads(self.results.read_text(encoding="utf-8"))

    def write_results(self, results: dict[str, Any]) -> None:
        """Writes ``results.json``, whole or not at all."""
        with atomic_path(self.results) as temporary:
            text = json.dumps(results, indent=2, ensure_ascii=False)
            temporary.write_text(text + "\n", encoding="utf-8")


def load_model(path: str | os.PathLike[str]) -> Model:
    """The best model of a run, or a model directory itself.

    Raises:
        ModelError: There is no sound model.
    """
    run = RunDirectory(path)
    return load_pretrained(run.model if run.model.is_dir() else path)
