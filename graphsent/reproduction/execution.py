"""Execution of one run, from its configuration to the file of the finished run."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import signal
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from graphsent._locks import locked
from graphsent._machine import processor
from graphsent._threads import torch_threads
from graphsent.errors import GraphsentError
from graphsent.reproduction.examples import Examples, pack
from graphsent.reproduction.finished import FinishedRuns
from graphsent.reproduction.places import Places
from graphsent.reproduction.runs import Run
from graphsent.training import (
    RunConfig,
    RunDirectory,
    TrainingInterrupted,
    evaluate,
    load_model,
    resume,
    train,
)

__all__ = ["UNDER_WAY", "Execution", "execute", "execute_in_process"]

UNDER_WAY = 75
"""Exit status of a process whose run another process is executing: EX_TEMPFAIL of sysexits.h."""

_DIGITS = 6


class _UnderWay(GraphsentError):
    """Another process is executing the run."""


@dataclass(frozen=True)
class Execution:
    """Where runs read and write.

    Attributes:
        places: Locations of the data.
        finished: Directory of finished runs.
        work: Directory of unfinished runs, from which they continue after an interruption.
        device: Where models are trained and evaluated, such as ``"cuda"``.
    """

    places: Places
    finished: Path
    work: Path
    device: str = "cpu"

    def config(self, run: Run) -> RunConfig:
        """What to train: the configuration of a run, with the paths of its files.

        Raises:
            DataError: A file or directory does not exist.
        """
        found = self.places.locate(run.run_config())
        return replace(found, training=replace(found.training, device=self.device))

    def directory(self, run: Run) -> Path:
        """The directory of an unfinished run.

        It depends on the configuration and on its data: a run is not continued on others.
        """
        config = self.config(run)
        data = json.dumps([config.to_dict(), self.places.checksums(config)], sort_keys=True)
        digest = hashlib.sha256(data.encode()).hexdigest()
        return self.log(run).with_suffix(f".{digest[:8]}")

    def log(self, run: Run) -> Path:
        """The log file of a run."""
        return self.work / f"{run.name}-{run.configuration.digest[:8]}.log"

    def content(self, run: Run) -> dict[str, Any] | None:
        """The content of a finished run's file; None if there is none for the data that are there.

        Raises:
            GraphsentError: Data are missing, or the file is damaged.
        """
        data = self.places.checksums(self.config(run))
        return FinishedRuns(self.finished).read(run, data)


def execute(execution: Execution, run: Run) -> dict[str, Any]:
    """Trains, evaluates on test, stores the results, and removes the training directory.

    Args:
        execution: Where to read and write.
        run: The run.

    Returns:
        The content of the finished run's file.

    Raises:
        GraphsentError: As in :func:`graphsent.training.train`.
        TrainingInterrupted: A signal stopped it; the next call continues.
    """
    config = execution.config(run)
    data = execution.places.checksums(config)
    directory = RunDirectory(execution.directory(run))
    begin = time.process_time()
    before = len(directory.read_results().get("history", ()))
    results = _trained(directory, config)
    epochs = len(results["history"])
    seconds = time.process_time() - begin
    if before == epochs:  # an earlier process trained, but did not come to store the results
        seconds += results["training_seconds"]
    else:  # epochs of an earlier process are estimated at this one's pace
        seconds *= epochs / (epochs - before)
    begin = time.process_time()
    with torch_threads(config.training.num_threads):
        test, examples = _judged(directory)
    seconds += time.process_time() - begin
    hardware = {"machine": platform.machine(), "processor": processor()}
    if (device := torch.device(config.training.device)).type == "cuda":
        hardware["gpu"] = torch.cuda.get_device_name(device)
    content = {
        "data": data,
        "best_epoch": results["best_epoch"],
        "epochs": epochs,
        "dev": _rounded(results["dev"]),
        "test": _rounded(test),
        "minutes": round(seconds / 60, 2),
        "versions": {**results["versions"], **hardware},
        "examples": examples,
    }
    FinishedRuns(execution.finished).write(run, content)
    shutil.rmtree(directory.path)
    return content


def execute_in_process(execution: Execution, run: Run) -> None:
    """:func:`execute` as the body of a process, with its output in the log of the run.

    The log is locked, so that no two processes execute a run at the same time; for one that comes
    too late, the exit status is :data:`UNDER_WAY`. Ctrl-C is handled by the parent process, which
    stops this one with SIGTERM. After an error the exit status is 1, and the log ends with the
    error message.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    log = execution.log(run)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8") as file:
        try:
            with locked(log, _UnderWay()):
                file.truncate(0)
                stream: Any
                for number, stream in ((1, sys.stdout), (2, sys.stderr)):
                    os.dup2(file.fileno(), number)
                    stream.reconfigure(encoding="utf-8", errors="backslashreplace")
                if execution.content(run) is None:  # another process may just have finished it
                    execute(execution, run)
        except _UnderWay:
            sys.exit(UNDER_WAY)
        except TrainingInterrupted as error:
            print(error, flush=True)
            sys.exit(128 + error.signal_number)
        except (GraphsentError, OSError) as error:
            print(error, flush=True)
            sys.exit(1)


def _trained(directory: RunDirectory, config: RunConfig) -> dict[str, Any]:
    """The results of the training, which may already be partly or fully done."""
    before = directory.read_results()
    if before.get("finished"):
        return before
    if directory.is_begun:
        return resume(directory.path, test=False)
    return train(config, directory.path, test=False)


def _judged(directory: RunDirectory) -> tuple[dict[str, float], dict[str, Any]]:
    """Test metrics of the best model, and its result on each example."""
    model = load_model(directory.path)
    config = directory.open()
    task, data = config.load_data(splits=("test",), label_names=model.label_names)
    model.to(config.training.device).engine = config.training.engine
    model.keep_features(data.splits["test"])
    examples = Examples(task)
    figures = evaluate(model, task, data.splits["test"], report=examples)
    return figures, pack(examples.columns, examples.values)


def _rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: round(value, _DIGITS) for name, value in figures.items()}
