"""The training loop: Lightning's, made quiet, seeded and resumable."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch
from pytorch_lightning import Trainer
from pytorch_lightning.loggers import Logger, TensorBoardLogger

from graphsent.models import Model
from graphsent.propagation.memory import release
from graphsent.tasks import Task, TaskData
from graphsent.training.callbacks import EpochKeeper
from graphsent.training.data import TreeDataModule
from graphsent.training.directory import RunDirectory
from graphsent.training.errors import TrainingError
from graphsent.training.interruption import Interruption
from graphsent.training.module import TrainingModule
from graphsent.training.options import TrainingOptions
from graphsent.training.progress import EpochBar

__all__ = ["fit"]

# What Lightning advises and graphsent has decided otherwise about.
_ADVICE = (
    ".*does not have many workers.*",
    ".*available but not used.*",
    ".*isinstance\\(treespec, LeafSpec\\).*",
    ".*smaller than the logging interval.*",
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
        TrainingInterrupted: A signal stopped it. The last complete epoch is kept.
        TrainingError: There is no such device, or the loss is not finite.
    """
    module = TrainingModule(model, task, options)
    train = data.splits["train"]
    if options.loss_nodes == "all":  # of phrases by themselves each would be a root
        train = model.training_examples(train)
    batches = TreeDataModule(model, train, data.splits["dev"], options)
    keeper = EpochKeeper(run, task.selection_metric, options.patience, echo, on_epoch)
    bar = [EpochBar()] if progress else []
    interruption = Interruption(keeper.describe_interruption)
    with _quiet_lightning(), _matmul(options.precision), _memory(), interruption.handled():
        trainer = Trainer(
            max_epochs=options.epochs,
            callbacks=[*bar, keeper, interruption],
            logger=_loggers(run),
            enable_checkpointing=False,
            enable_model_summary=False,
            enable_progress_bar=False,
            num_sanity_val_steps=0,
            precision="bf16-mixed" if options.precision == "bfloat16" else "32-true",
            **_device(options.device),
        )
        checkpoint = str(run.checkpoint) if run.checkpoint.is_file() else None
        trainer.fit(module, datamodule=batches, ckpt_path=checkpoint)
        if trainer.interrupted:  # versions of Lightning that return
            raise KeyboardInterrupt
    return keeper.history


def _loggers(run: RunDirectory) -> list[Logger]:
    with suppress(ModuleNotFoundError):  # tensorboard is optional
        return [TensorBoardLogger(run.path, name=run.logs.name, version="tensorboard")]
    return []


def _device(name: str) -> dict[str, Any]:
    try:
        device = torch.device(name)
    except RuntimeError:
        raise TrainingError(f"device: expected cpu, cuda or cuda:N, got {name!r}") from None
    if device.type == "cpu":
        return {"accelerator": "cpu", "devices": 1}
    if device.type != "cuda" or (device.index or 0) >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        raise TrainingError(f"device: {name} is not here; torch sees {count} GPUs")
    return {"accelerator": "gpu", "devices": [device.index or 0]}


@contextmanager
def _memory() -> Iterator[None]:
    """Gives memory that is kept for other batches back at the end."""
    try:
        yield
    finally:
        release()


@contextmanager
def _matmul(precision: str) -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


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
