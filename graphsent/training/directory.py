"""Run directories."""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from graphsent._files import atomic_path, leftovers, recover, write_atomically, write_json
from graphsent._locks import locked
from graphsent.errors import GraphsentError, ModelError
from graphsent.models import Model, load_pretrained
from graphsent.models.base.hub import is_on_hub
from graphsent.models.base.storage import CARD_FILE, MODEL_FILES, check_own_files
from graphsent.training.config import RunConfig
from graphsent.training.errors import TrainingError, TrainingFailed

__all__ = [
    "SEVERAL",
    "RunDirectory",
    "changed_files",
    "contents",
    "held_directory",
    "load_model",
]

SEVERAL = "runs.yaml"  # in the directory of several runs, see graphsent.training.run_set
_FIGURES = "metrics.csv"
_LOGS = (_FIGURES, "tensorboard", "wandb", "mlflow.db")


class RunDirectory:
    """The directory of a training run.

    It contains ``config.yaml``, the configuration; ``model/``, the best model on dev;
    ``last.ckpt``, the state after the last complete epoch; ``results.json``;
    ``logs/metrics.csv`` and ``logs/tensorboard/``, the metrics of each epoch; and, for custom data,
    ``splits.json``, which records what was held out of the training data. Other files in the
    directory are left alone.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.config = self.path / "config.yaml"
        self.model = self.path / "model"
        self.checkpoint = self.path / "last.ckpt"
        self.results = self.path / "results.json"
        self.splits = self.path / "splits.json"
        self.logs = self.path / "logs"
        self._held: os.stat_result | None = None
        self._own = (self.config, self.model, self.checkpoint, self.results, self.splits)

    def create(
        self,
        config: RunConfig,
        *,
        held_out: Mapping[str, Any] | None = None,
        overwrite: bool = False,
    ) -> None:
        """Creates the directory for a new run.

        Args:
            config: The configuration of the run.
            held_out: What is held out of the training data, see
                :attr:`~graphsent.tasks.TaskData.held_out`.
            overwrite: Whether to replace an existing run.

        Raises:
            TrainingError: The directory contains a run, without ``overwrite``, or other files.
            TrainingFailed: It cannot be written.
        """
        self.check_free(overwrite=overwrite)
        self.clear()
        try:
            if held_out is not None:
                write_json(self.splits, held_out)
            config.save(self.config)
        except OSError as error:
            raise TrainingFailed(f"{self.path}: cannot create the run: {error.strerror}") from None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Locks the directory; creates it if needed, and removes a new one that remains empty.

        What a killed process left behind is removed, and a model that it had moved is restored.

        Raises:
            TrainingError: Another process uses the directory, or it cannot be created.
        """
        message = "another run is in it now: choose another directory"
        with held_directory(self.path, "run", message):
            self._recover()
            check_own_files(self.model)  # before training, not when it is to be saved
            self._held = os.stat(self.path)
            try:
                yield
            finally:
                self._held = None

    @property
    def is_held(self) -> bool:
        """Whether the directory is locked, and the path still leads to it."""
        try:
            return self._held is not None and os.path.samestat(self._held, os.stat(self.path))
        except OSError:
            return False

    def check_held(self) -> None:
        """Raises a TrainingFailed if the locked directory was removed or moved.

        Another run may have been started in its place, whose files must not be replaced.
        """
        if not self.is_held:
            raise TrainingFailed(f"{self.path}: the directory was removed or moved during the run")

    def files(self) -> list[Path]:
        """The existing files of the run."""
        if not os.path.isdir(self.path):
            return []
        below = (path for own in (self.model, self.logs) for path in own.rglob("*"))
        return [path for path in (*self._own, *below) if path.is_file()]

    @property
    def is_begun(self) -> bool:
        """Whether the run has results to preserve, those of at least one complete epoch."""
        return self.checkpoint.exists() or self.results.exists() or self.model.exists()

    def clear(self) -> None:
        """Removes the files of a run; keeps all others."""
        for directory, names in ((self.model, MODEL_FILES), (self.logs, _LOGS)):
            for path in (directory / name for name in names):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)
            with suppress(OSError):  # it may hold other files
                directory.rmdir()
        # The configuration goes last: without it, the directory is not known to be a run.
        for file in (self.results, self.checkpoint, self.splits, self.config):
            file.unlink(missing_ok=True)

    def _recover(self) -> None:
        """Removes partial files of a killed run, and restores a model that it had moved.

        The directory must be locked, so that nobody else is writing.
        """
        for path in (*self._own, self.logs / _FIGURES, self.model / CARD_FILE):
            recover(path, alone=True)

    def check_free(self, *, overwrite: bool = False) -> None:
        """Raises the errors of :meth:`create` about the directory, without changing anything.

        A run without a complete epoch may be replaced, as may leftovers of a killed one.
        """
        try:
            str(self.path).encode()
        except UnicodeEncodeError:  # TensorBoard and others write names in UTF-8
            message = f"{str(self.path)!r}: expected a valid UTF-8 name for the run"
            raise TrainingError(message) from None
        if os.path.lexists(self.path) and not os.path.isdir(self.path):
            raise TrainingError(f"{self.path}: expected a directory for the run, found a file")
        left = {entry for own in self._own for entry, _ in leftovers(self.path, own.name)}
        left.add(self.splits)  # is written before the configuration
        if not os.path.isdir(self.path) or not set(self.path.iterdir()) - left:
            return
        if os.path.isfile(self.path / SEVERAL):
            raise TrainingError(f"{self.path} holds several runs: choose another directory")
        try:
            self.open()
        except GraphsentError:
            raise TrainingError(
                f"{self.path} holds files that are not a run: choose another directory"
            ) from None
        if self.is_begun and not overwrite:
            raise TrainingError(
                f"{self.path} holds a run: continue it (--resume {self.path}), replace it "
                "(--overwrite), or choose another directory"
            )

    def open(self) -> RunConfig:
        """Reads the configuration of the run in the directory.

        Raises:
            TrainingError: There is no run.
            DataError: The configuration is damaged.
        """
        if not os.path.isfile(self.config):
            self.check_single()
            raise TrainingError(f"{self.path} is not a run: it has no {self.config.name}")
        return RunConfig.load(self.config, of_run=True)

    def check_single(self) -> None:
        """Raises a TrainingError if the directory holds several runs."""
        if os.path.isfile(self.path / SEVERAL):
            below = sorted(each.parent.name for each in self.path.glob("*/config.yaml"))
            example = f", such as {self.path / below[0]}" if below else ""
            raise TrainingError(f"{self.path} holds several runs: expected one of them{example}")

    def read_results(self) -> dict[str, Any]:
        """Reads the results; empty before the first epoch is complete.

        Raises:
            TrainingError: The file is damaged.
        """
        if not self.results.is_file():
            return {}
        results = _read_json(self.results)
        if not isinstance(results, dict) or not isinstance(results.get("history", []), list):
            raise TrainingError(f"{self.results}: damaged: expected an object with a 'history'")
        return results

    def read_splits(self) -> Any:
        """Reads what the run holds out of the training data; None if it does not record that.

        Raises:
            TrainingError: The file is damaged.
        """
        return _read_json(self.splits) if self.splits.is_file() else None

    def write_history(self, history: Sequence[Mapping[str, Any]]) -> None:
        """Writes the metrics of all epochs to ``logs/metrics.csv``, atomically."""
        with (
            atomic_path(self.logs / _FIGURES) as temporary,
            temporary.open("w", encoding="utf-8", newline="") as file,
        ):
            writer = csv.DictWriter(file, list(history[0]))
            writer.writeheader()
            writer.writerows(history)

    def read_history(self) -> list[dict[str, Any]]:
        """Reads the metrics of all epochs, see :meth:`write_history`.

        Raises:
            TrainingError: The file is missing, empty or damaged.
        """
        path = self.logs / _FIGURES
        try:
            with open(path, encoding="utf-8", newline="") as stream:
                rows = [
                    {
                        name: int(text) if text.isdecimal() else float(text)
                        for name, text in row.items()
                    }
                    for row in csv.DictReader(stream)
                ]
        except FileNotFoundError:
            rows = []
        except (OSError, AttributeError, ValueError, csv.Error) as error:
            raise TrainingError(f"{path}: expected a table of numbers: {error}") from None
        if not rows:
            raise TrainingError(f"{self.path} has no figures of epochs: no epoch is complete")
        if "loss" not in rows[0]:
            raise TrainingError(f"{path}: expected a column 'loss', got {', '.join(rows[0])}")
        return rows

    def write_card(self, text: str) -> None:
        """Writes the card of the best model atomically, if there is a model."""
        if not self.model.is_dir():
            return
        write_atomically(self.model / CARD_FILE, text)

    def write_results(self, results: dict[str, Any]) -> None:
        """Writes ``results.json``, atomically."""
        write_json(self.results, results, indent=2)


@contextmanager
def held_directory(path: Path, what: str, taken: str) -> Iterator[None]:
    """Locks a directory; creates it if needed, and removes a new one that remains empty.

    Args:
        path: The directory.
        what: What it is for, for the error if it cannot be created.
        taken: The error if another process uses it.

    Raises:
        TrainingError: Another process uses it, or it cannot be created.
    """
    is_new = not os.path.exists(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TrainingError(f"{path}: cannot create the {what}: {error.strerror}") from None
    try:
        with locked(path, TrainingError(f"{path}: {taken}")):
            yield
    finally:
        if is_new:
            with suppress(OSError):  # it is not empty
                path.rmdir()


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise TrainingError(f"{path}: damaged or truncated: {error}") from None


def load_model(
    path: str | os.PathLike[str],
    encoder: str | os.PathLike[str] | None = None,
    model_class: type[Model] | None = None,
) -> Model:
    """Loads the best model of a run, or a saved model.

    Args:
        path: Directory of the run or model, or ``hf://user/name`` of a model on the Hugging Face
            Hub.
        encoder: Directory of the frozen encoder that the model was trained with, if it was moved.
        model_class: The class of a custom model.

    Raises:
        ModelError: There is no valid model, or it is of another class.
        TrainingError: It is a run without a complete epoch.
    """
    if is_on_hub(path):
        return load_pretrained(path, encoder, model_class)
    run = RunDirectory(path)
    run.check_single()
    is_run = os.path.isfile(run.config)
    directory = run.model if is_run or os.path.isdir(run.model) else path
    try:
        return load_pretrained(directory, encoder, model_class)
    except ModelError:
        if not is_run or run.model.is_dir():
            raise
        raise TrainingError(
            f"{run.path} has no model yet: no epoch is complete; continue with --resume {run.path}"
        ) from None


def changed_files(before: Any, now: Any) -> list[str]:
    """The files whose SHA-256 differs between two descriptions of data, as in ``results.json``."""
    known = _digests(before)
    return [file for file, digest in _digests(now).items() if known.get(file, digest) != digest]


def contents(described: Any) -> Any:
    """A description of data, as in ``results.json``, wherever its files are."""
    if isinstance(described, Mapping):
        return {key: contents(value) for key, value in described.items() if key != "path"}
    return [*map(contents, described)] if isinstance(described, list) else described


def _digests(described: Any) -> dict[str, str]:
    """The SHA-256 of each file in a description of data, by path."""
    if not isinstance(described, Mapping | list):
        return {}
    found: dict[str, str] = {}
    if isinstance(described, Mapping):
        if "path" in described and "sha256" in described:
            found[str(described["path"])] = described["sha256"]
        described = described.values()
    for each in described:
        found.update(_digests(each))
    return found
