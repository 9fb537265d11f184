"""The training loop: Lightning's, made quiet, seeded and resumable."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from pytorch_lightning import Trainer

from graphsent._files import named
from graphsent.errors import GraphsentError
from graphsent.models import Model
from graphsent.propagation.memory import release
from graphsent.shards import ShardedExamples
from graphsent.tasks import Task, TaskData
from graphsent.training.callbacks import EpochKeeper
from graphsent.training.checkpoints import CheckedCheckpoints
from graphsent.training.data import TreeDataModule
from graphsent.training.devices import trainer_device
from graphsent.training.directory import RunDirectory
from graphsent.training.errors import TrainingError
from graphsent.training.interruption import Interruption
from graphsent.training.loggers import run_loggers
from graphsent.training.module import TrainingModule
from graphsent.training.options import TrainingOptions
from graphsent.training.progress import EpochBar

__all__ = ["fit"]

# Lightning's advice that does not apply here.
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
        TrainingError: There is no such device, or the checkpoint is not one of this run.
        TrainingFailed: The loss is not finite.
        OSError: Something cannot be written; ``filename`` says what.
    """
    module = TrainingModule(model, task, options)
    train = data.splits["train"]
    if options.loss_nodes == "all" and not isinstance(
        train, ShardedExamples
    ):  # of phrases by themselves each would be a root
        train = model.training_examples(train)
    batches = TreeDataModule(model, train, data.splits["dev"], options)
    keeper = EpochKeeper(run, task.selection_metric, options.patience, echo, on_epoch)
    bar = [EpochBar()] if progress else []
    interruption = Interruption(keeper.describe_interruption)
    with (
        _quiet_lightning(),
        _matmul(options.precision),
        _memory(),
        run_loggers(run, options.logger) as loggers,
        interruption.handled(),
    ):
        trainer = Trainer(
            max_epochs=options.epochs,
            callbacks=[*bar, keeper, interruption],
            logger=loggers,
            enable_checkpointing=False,
            enable_model_summary=False,
            enable_progress_bar=False,
            num_sanity_val_steps=0,
            plugins=[CheckedCheckpoints()],
            precision="bf16-mixed" if options.precision == "bfloat16" else "32-true",
            **trainer_device(options.device),
        )
        checkpoint = str(run.checkpoint) if run.checkpoint.is_file() else None
        try:
            with named(run.logs, run.logs):  # Lightning's loggers name nothing
                trainer.fit(module, datamodule=batches, ckpt_path=checkpoint)
        except (LookupError, TypeError, ValueError, RuntimeError, AttributeError) as error:
            if checkpoint is None or keeper.started or isinstance(error, GraphsentError):
                raise
            reason = " ".join(str(error).split())
            raise TrainingError(f"{checkpoint}: does not fit this run: {reason}") from error
        if trainer.interrupted:  # versions of Lightning that return
            raise KeyboardInterrupt
    return keeper.history


@contextmanager
def _memory() -> Iterator[None]:
    """Releases memory that is kept for further batches at the end."""
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


def _in_thread(hook: Callable[[Any], object]) -> Callable[[Any], object]:
    """Leaves out what TensorBoard's writer says: it raises the same where the next figures come."""
    return lambda raised: None if isinstance(raised.exc_value, OSError) else hook(raised)


@contextmanager
def _quiet_lightning() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in ("pytorch_lightning", "lightning.pytorch")]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        for message in _ADVICE:
            warnings.filterwarnings("ignore", message)
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        in_threads, threading.excepthook = threading.excepthook, _in_thread(threading.excepthook)
        try:
            yield
        finally:
            threading.excepthook = in_threads
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
