"""The training loop: Lightning's, made quiet, seeded and resumable."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch
from pytorch_lightning import Callback, Trainer
from pytorch_lightning.callbacks import EarlyStopping
from pytorch_lightning.loggers import CSVLogger, Logger, TensorBoardLogger

from graphsent.errors import DataError
from graphsent.models import Model
from graphsent.tasks import Task, TaskData
from graphsent.training.callbacks import EpochKeeper
from graphsent.training.data import TreeDataModule
from graphsent.training.directory import RunDirectory
from graphsent.training.module import TrainingModule
from graphsent.training.options import TrainingOptions

__all__ = ["fit"]

# What Lightning advises and graphsent has decided otherwise about.
_ADVICE = (
    ".*does not have many workers.*",
    ".*available but not used.*",
    ".*ckpt_path.*callbacks.*",
    ".*isinstance\\(treespec, LeafSpec\\).*",
    ".*smaller than the logging interval.*",
    ".*exists and is not empty.*",
)


def fit(
    model: Model,
    task: Task,
    data: TaskData,
    options: TrainingOptions,
    run: RunDirectory,
    *,
    progress: bool,
    echo: Callable[[str], None],
    on_epoch: Callable[[list[dict[str, Any]]], None],
) -> list[dict[str, Any]]:
    """Trains a model in place, from the run's checkpoint if it has one.

    Returns:
        The figures of each epoch; the best model is in ``run.model``.

    Raises:
        KeyboardInterrupt: The user stopped it. The last complete epoch is kept.
        DataError: There is no such device.
    """
    module = TrainingModule(model, task, options)
    batches = TreeDataModule(
        model, data.splits["train"], data.splits["dev"], options.batch_size, options.seed
    )
    keeper = EpochKeeper(run, task.selection_metric, echo, on_epoch)
    with _quiet_lightning():
        trainer = Trainer(
            max_epochs=options.epochs,
            callbacks=_callbacks(keeper, task, options),
            logger=_loggers(run),
            enable_checkpointing=False,
            enable_model_summary=False,
            enable_progress_bar=progress,
            num_sanity_val_steps=0,
            **_device(options.device),
        )
        checkpoint = str(run.checkpoint) if run.checkpoint.is_file() else None
        try:
            trainer.fit(module, datamodule=batches, ckpt_path=checkpoint)
        except SystemExit:  # Lightning's answer to Ctrl-C
            raise KeyboardInterrupt from None
    if trainer.interrupted:
        raise KeyboardInterrupt
    return keeper.history


def _callbacks(keeper: EpochKeeper, task: Task, options: TrainingOptions) -> list[Callback]:
    callbacks: list[Callback] = [keeper]
    if options.patience:
        key = f"dev_{task.selection_metric}"
        callbacks.append(EarlyStopping(key, patience=options.patience, mode="max"))
    return callbacks


def _loggers(run: RunDirectory) -> list[Logger]:
    loggers: list[Logger] = [CSVLogger(run.path, name="logs", version="csv")]
    with suppress(ModuleNotFoundError):  # tensorboard is optional
        loggers.append(TensorBoardLogger(run.path, name="logs", version="tensorboard"))
    return loggers


def _device(name: str) -> dict[str, Any]:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise DataError(f"device: expected auto, cpu, cuda or cuda:N, got {name!r}") from None
    if device.type == "cpu":
        return {"accelerator": "cpu", "devices": 1}
    if device.type != "cuda" or (device.index or 0) >= torch.cuda.device_count():
        raise DataError(f"device: {name} is not here; torch sees {torch.cuda.device_count()} GPUs")
    return {"accelerator": "gpu", "devices": [device.index or 0]}


@contextmanager
def _quiet_lightning() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in ("pytorch_lightning", "lightning.pytorch")]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        for message in _ADVICE:
            warnings.filterwarnings("ignore", message)
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
