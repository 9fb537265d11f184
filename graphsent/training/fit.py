"""The training loop: Lightning's Trainer, made quiet, seeded and resumable."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from pytorch_lightning import Trainer

from graphsent._files import named
from graphsent._names import message_of
from graphsent.errors import GraphsentError
from graphsent.propagation.memory import release
from graphsent.shards import ShardedExamples
from graphsent.training.callbacks import EpochKeeper
from graphsent.training.checkpoints import CheckedCheckpoints
from graphsent.training.data import TreeDataModule
from graphsent.training.devices import process_rank, trainer_devices, trainer_environments
from graphsent.training.directory import RunDirectory
from graphsent.training.errors import TrainingError
from graphsent.training.interruption import Interruption
from graphsent.training.loggers import run_loggers
from graphsent.training.module import TrainingModule
from graphsent.training.precision import matmul_precision
from graphsent.training.progress import EpochBar
from graphsent.training.setting import Setting, unheard

__all__ = ["fit"]

# Warnings of Lightning that do not apply here.
_ADVICE = (
    ".*does not have many workers.*",
    ".*available but not used.*",
    ".*isinstance\\(treespec, LeafSpec\\).*",
    ".*smaller than the logging interval.*",
)
_LOUD = ("pytorch_lightning", "lightning.pytorch", "lightning_fabric", "lightning.fabric")


def fit(
    setting: Setting,
    run: RunDirectory,
    *,
    resumed: bool,
    progress: bool = False,
    echo: Callable[[str], None] = unheard,
    on_epoch: Callable[[list[dict[str, Any]]], None] = unheard,
) -> list[dict[str, Any]]:
    """Trains a model in place; a resumed run continues from its checkpoint, if there is one.

    In distributed training every process calls this, and only rank 0 writes files.

    Returns:
        The metrics of each epoch; the best model is in ``run.model``.

    Raises:
        TrainingInterrupted: A signal stopped it. The last complete epoch is kept.
        TrainingError: There is no such device, or the checkpoint does not belong to this run.
        TrainingFailed: The loss is not finite.
        OSError: A file cannot be written; see its ``filename``.
    """
    model, task, options = setting.model, setting.task, setting.config.training
    module = TrainingModule(model, task, options)
    train, dev = setting.data.splits["train"], setting.data.splits["dev"]
    # With loss_nodes="root", phrases as examples of their own would count as roots.
    if options.loss_nodes == "all" and not isinstance(train, ShardedExamples):
        train = model.training_examples(train)
    batches = TreeDataModule(model, train, dev, options)
    keeper = EpochKeeper(run, setting.selection, options.patience, echo, on_epoch)
    bar = [EpochBar()] if progress else []
    connects = options.devices > 1 and options.nodes == 1
    environments = trainer_environments(options)  # before anything is logged
    interruption = Interruption(keeper.describe_end, connects=connects)
    with (
        _quiet_lightning(),
        matmul_precision(options.precision),
        ExitStack() as afterwards,
        run_loggers(run, "none" if process_rank(options) else options.logger) as loggers,
        interruption.handled(),
    ):
        afterwards.callback(release)  # memory cached between batches
        afterwards.callback(_leave_process_group)
        trainer = Trainer(
            max_epochs=options.epochs,
            callbacks=[*bar, keeper, interruption],
            logger=loggers,
            enable_checkpointing=False,
            enable_model_summary=False,
            enable_progress_bar=False,
            num_sanity_val_steps=0,
            plugins=[CheckedCheckpoints(), *environments],
            precision="bf16-mixed" if options.precision == "bfloat16" else "32-true",
            **trainer_devices(options),
        )
        checkpoint = str(run.checkpoint) if resumed and run.checkpoint.is_file() else None
        try:
            with named(run.logs, run.logs):  # errors of Lightning's loggers name no file
                trainer.fit(module, datamodule=batches, ckpt_path=checkpoint)
        except (LookupError, TypeError, ValueError, RuntimeError, AttributeError) as error:
            if checkpoint is None or keeper.started or isinstance(error, GraphsentError):
                raise
            reason = message_of(error)
            raise TrainingError(f"{checkpoint}: does not fit this run: {reason}") from error
    return keeper.history


def _leave_process_group() -> None:
    """Destroys the process group: test metrics would wait for other processes."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def _in_thread(hook: Callable[[Any], object]) -> Callable[[Any], object]:
    """Silences OSErrors in TensorBoard's writer thread, which the next write raises again."""
    return lambda raised: None if isinstance(raised.exc_value, OSError) else hook(raised)


@contextmanager
def _quiet_lightning() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in _LOUD]
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
