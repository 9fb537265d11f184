"""Lightning loggers of the metrics of each epoch, in addition to the run's CSV file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from pytorch_lightning.loggers import Logger, MLFlowLogger, TensorBoardLogger, WandbLogger

from graphsent._names import message_of
from graphsent.errors import FailedError
from graphsent.training.directory import RunDirectory

__all__ = ["run_loggers"]

_PROJECT = "graphsent"
_MLFLOW_URI = "MLFLOW_TRACKING_URI"


@contextmanager
def run_loggers(run: RunDirectory, name: str) -> Iterator[list[Logger]]:
    """The loggers of a run, closed at the end so that the next run in the process has its own.

    Raises:
        FailedError: A service cannot be reached, or rejects a request.
    """
    made: dict[str, Callable[[RunDirectory], Any]] = {
        "tensorboard": _tensorboard,
        "wandb": _wandb,
        "mlflow": _mlflow,
    }
    logger = made[name](run) if name in made else None
    if logger is None:
        yield []
        return
    with _own_address():
        if name != "tensorboard":
            settings = run.open().to_dict()
            try:
                logger.log_hyperparams(settings)
            except Exception as error:  # each service has its own exceptions
                raise FailedError(f"--logger {name}: {message_of(error)}") from error
        try:
            yield [logger]
        finally:
            if name == "wandb":
                logger.experiment.finish()


@contextmanager
def _own_address() -> Iterator[None]:
    """Removes the address that MLflow sets in the environment, where the next run would find it."""
    is_given = _MLFLOW_URI in os.environ
    try:
        yield
    finally:
        if not is_given:
            os.environ.pop(_MLFLOW_URI, None)


def _tensorboard(run: RunDirectory) -> Logger | None:
    with suppress(ModuleNotFoundError):  # an optional dependency
        return TensorBoardLogger(run.path, name=run.logs.name, version="tensorboard")
    return None


def _wandb(run: RunDirectory) -> Logger:
    run.logs.mkdir(exist_ok=True)
    return WandbLogger(name=run.path.name, project=_PROJECT, save_dir=run.logs)


def _mlflow(run: RunDirectory) -> Logger:
    uri = os.environ.get(_MLFLOW_URI) or f"sqlite:///{run.logs.resolve()}/mlflow.db"
    run.logs.mkdir(exist_ok=True)
    return MLFlowLogger(_PROJECT, run_name=run.path.name, tracking_uri=uri)
