"""A Lightning module to train any model."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from pytorch_lightning import LightningModule
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR
from torch.optim.swa_utils import SWALR

from graphsent.models import Model
from graphsent.tasks import Task
from graphsent.training.averaging import WeightAverage
from graphsent.training.batching import epoch_seed, seed_generators
from graphsent.training.class_weights import balanced_weights, check_class_weights
from graphsent.training.data import TreeDataModule, WeightedBatch
from graphsent.training.errors import TrainingError, TrainingFailed
from graphsent.training.optimizers import (
    build_optimizers,
    clip_gradients,
    freeze_word_tables,
    take_step,
    word_tables,
)
from graphsent.training.options import TrainingOptions
from graphsent.training.precision import full_precision
from graphsent.training.schedules import build_schedules

__all__ = ["TrainingModule"]

_ADVICE = "try a lower lr or embedding_lr, or max_grad_norm"


class TrainingModule(LightningModule):
    """Trains a model on a task; logs ``loss`` and the task's metrics on dev.

    It works under any Trainer, and with a :class:`~graphsent.training.data.TreeDataModule` also in
    distributed training: two processes take the same steps as one with batches twice as large.
    The Trainer's ``max_steps`` counts the steps of every optimizer: word vectors usually have one
    of their own.

    Args:
        model: The model, trained in place.
        task: The task, which defines the metrics.
        options: Options of the optimizers, the loss and the seed.

    Raises:
        TrainingError: The options weight classes, and the task has none.
    """

    def __init__(self, model: Model, task: Task, options: TrainingOptions) -> None:
        super().__init__()
        # There may be several optimizers, which Lightning supports by manual optimization only.
        self.automatic_optimization = False
        self.model = model
        self.options = options
        check_class_weights(task.goal, options)
        freeze_word_tables(model, options)
        self.metrics = task.metrics()
        self.average: WeightAverage | None = None
        if options.average:
            tables = {id(table) for table in word_tables(model)}
            rest = (each for each in model.parameters() if id(each) not in tables)
            self.average = WeightAverage(rest, options.average)
        self._total_loss = torch.zeros(())
        self._num_examples = 0

    def configure_optimizers(self) -> tuple[list[Optimizer], list[LambdaLR]]:
        """Returns the optimizers of word vectors, encoder and other parameters, and schedules.

        Raises:
            TrainingError: Learning rates depend on the number of steps, which the Trainer does not
                limit.
        """
        optimizers = build_optimizers(self.model, self.options)
        schedule, warmup = self.options.schedule, self.options.warmup
        if schedule == "constant" and not warmup:
            return optimizers, []
        num_steps = self.trainer.estimated_stepping_batches
        if num_steps == float("inf"):
            raise TrainingError("schedule and warmup: the Trainer needs max_epochs or max_steps")
        if self.trainer.max_steps >= 0:  # counts the steps of every optimizer
            num_steps = min(num_steps, -(-self.trainer.max_steps // len(optimizers)))
        return optimizers, build_schedules(optimizers, schedule, warmup, int(num_steps))

    def on_fit_start(self) -> None:
        """Sets the weights of the classes; the model keeps none from an earlier training.

        Raises:
            TrainingError: The classes of the examples are unknown: without a
                :class:`~graphsent.training.data.TreeDataModule`.
        """
        self.model.class_weights = None
        if self.options.class_weights == "balanced":
            data = getattr(self.trainer, "datamodule", None)
            if not isinstance(data, TreeDataModule):
                raise TrainingError("class_weights: expected a TreeDataModule, to count classes")
            self.model.class_weights = balanced_weights(data.class_counts()).to(self.device)

    def on_train_start(self) -> None:
        """Resets the learning rates, since a resumed run may have more steps than before."""
        for schedule in self._schedules():
            rates = zip(schedule.base_lrs, schedule.lr_lambdas, strict=True)
            for group, (rate, share) in zip(schedule.optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * share(schedule.last_epoch)

    def _schedules(self) -> list[LambdaLR]:
        """The schedules created from the options, which change the rates at every step."""
        known = (each.scheduler for each in self.trainer.lr_scheduler_configs)
        return [each for each in known if isinstance(each, LambdaLR)]

    def on_train_epoch_start(self) -> None:
        """Makes the epoch's random numbers (dropout) independent of earlier epochs.

        This includes those of Python and NumPy, which custom models may draw.
        """
        seed_generators(epoch_seed(self.options.seed, self.current_epoch, self.global_rank))
        self._total_loss = torch.zeros((), device=self.device)
        self._num_examples = 0

    def training_step(self, batch: Any, batch_idx: int) -> None:
        """Takes one step with every optimizer.

        Args:
            batch: A batch from the model's ``collate``, or a process's share, a ``WeightedBatch``.
            batch_idx: Ignored.
        """
        batch, weight = batch if isinstance(batch, WeightedBatch) else (batch, 1.0)
        optimizers = self.optimizers()
        optimizers = optimizers if isinstance(optimizers, list) else [optimizers]
        loss = self.model.loss(self.model(batch), batch, self.options.loss_nodes)
        self.model.zero_grad()
        # Gradients are averaged over the processes.
        self.manual_backward(loss if weight == 1 else weight * loss)
        if self.options.max_grad_norm:
            clip_gradients(self.model.parameters(), self.options.max_grad_norm)
        take_step(optimizers)
        for schedule in self._schedules():
            schedule.step()
        self.model.after_step()
        if self.average is not None:
            self.average.update()
        size = len(batch.roots) if weight else 0
        self._total_loss += loss.detach() * size
        self._num_examples += size
        if self.trainer.is_last_batch:
            # Logging at every step would take a sixth of a small model's time.
            self.log(
                "loss",
                self._total_loss / max(1, self._num_examples),
                on_step=False,
                on_epoch=True,
                prog_bar=True,
                # Lightning averages the sizes over processes in their own type: an integer mean
                # would be rounded.
                batch_size=float(self._num_examples),  # type: ignore[arg-type]
                sync_dist=True,
            )

    def on_train_epoch_end(self) -> None:
        """Steps the schedule of Lightning's stochastic weight averaging.

        In manual optimization, Lightning leaves this to the module.
        """
        for each in self.trainer.lr_scheduler_configs:
            if isinstance(each.scheduler, SWALR):
                each.scheduler.step()

    def on_validation_epoch_start(self) -> None:
        """Stops a run with non-finite numbers before anything is saved.

        Raises:
            TrainingFailed: The loss of the epoch, or a weight after it, is not finite.
        """
        epoch = self.current_epoch + 1
        # Once per epoch: a check after each step would synchronize the GPU.
        total = self.trainer.strategy.reduce(self._total_loss, reduce_op="sum")
        if not torch.isfinite(total):
            raise TrainingFailed(f"the loss of epoch {epoch} is {float(total)}: {_ADVICE}")
        for name, parameter in self.model.named_parameters():
            if not torch.isfinite(parameter).all():
                raise TrainingFailed(
                    f"after epoch {epoch} the weights {name!r} hold NaN or infinity: {_ADVICE}"
                )
        if self.average is not None:
            self.average.exchange()
        data = getattr(self.trainer, "datamodule", None)
        if isinstance(data, TreeDataModule):
            with full_precision(self.device.type):
                self.model.choose_on_dev(data.dev)

    def as_judged(self) -> AbstractContextManager[None]:
        """Applies the weights evaluated on dev: with ``options.average``, the averages."""
        return nullcontext() if self.average is None else self.average.applied()

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        """Updates the metrics with a batch, at the precision of ``evaluate``: float32."""
        with full_precision(self.device.type):
            self.metrics.update(self.model(batch), batch)

    def on_validation_epoch_end(self) -> None:
        """Logs the metrics of the whole split, over all processes, as ``dev_...``."""
        values = {f"dev_{name}": value for name, value in self.metrics.compute().items()}
        self.metrics.reset()
        if self.average is not None:
            self.average.exchange()
        self.log_dict(values, prog_bar=True, sync_dist=True)
