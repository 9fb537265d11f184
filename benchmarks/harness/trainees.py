"""``graphsent train`` itself as a contender: its own loop, one batch at a time.

What users wait for is the whole of a step: collating, Lightning's loop, the model, the loss,
gradients, optimizers. So nothing of it is written down here once more. Each contender is
``graphsent.training.fit.fit`` in a thread of its own; only the sampler of its batches is the
benchmark's, and waits until it is told what the next batch is. A loop that called the module's
``training_step`` would be without Lightning, which users are not; and with callbacks alone one
``Trainer`` would run to its end before the next could start, so that nobody took turns.

Only one thread runs at a time. To flush subnormal numbers is a setting of a thread.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import torch
from torch.utils.data import DataLoader, Sampler

from graphsent.models import Model
from graphsent.training import RunDirectory, TrainingOptions, fit, flushed_subnormals
from graphsent.training.batching import Share, batch_sampler
from graphsent.training.data import TreeDataModule
from graphsent.training.setting import Setting

from .measuring import Contender
from .subnormals import count_subnormals, flushes

MANY = 10**9


class Portion(NamedTuple):
    """What one step trains on.

    Attributes:
        indices: of the examples, which are what ``examples`` of a setting gave.
        examples: the examples themselves.
    """

    indices: list[int]
    examples: Sequence[Any]


def examples_of(setting: Setting) -> Sequence[Any]:
    """What a run of this setting draws its batches from."""
    train = setting.data.splits["train"]
    phrases = setting.config.training.loss_nodes == "all"
    return setting.model.training_examples(train) if phrases else train


def portions(examples: Sequence[Any], options: TrainingOptions, count: int) -> list[Portion]:
    """The first full batches of a run, those of its first epoch and, if need be, of the next."""
    size = min(options.batch_size, len(examples))
    found: list[Portion] = []
    sampler = batch_sampler(examples, "shuffled", size, options.seed)
    for epoch in range(MANY):
        sampler.set_epoch(epoch)
        for indices in sampler:
            if len(found) == count:
                return found
            if len(indices) == size:
                found.append(Portion(indices, [examples[index] for index in indices]))
    raise AssertionError


class Stopped(Exception):
    """Ends a contender's training."""


class Turns(Sampler[Share]):
    """The batches of a run that goes on when it is told to.

    Args:
        flush: whether subnormal numbers are flushed; None for what ``graphsent train`` does.

    Attributes:
        data: of the run, with its trainer; None before it has begun.
    """

    def __init__(self, flush: bool | None) -> None:
        self.flush = flush
        self.data: TreeDataModule | None = None
        self.given: SimpleQueue[list[int] | None] = SimpleQueue()
        self.finished: SimpleQueue[BaseException | None] = SimpleQueue()

    def __len__(self) -> int:
        """More than there will be, so that Lightning need not look ahead."""
        return MANY

    def __iter__(self) -> Iterator[Share]:
        """Tells that the step before is finished; waits for the next batch."""
        if self.flush is None:
            self.flush = flushes()
        torch.set_flush_denormal(self.flush)
        while True:
            self.finished.put(None)
            indices = self.given.get()
            if indices is None:
                raise Stopped
            yield Share(indices, num_processes=1, rank=0)

    def wait(self) -> None:
        """Returns when the run wants a batch; raises what ended it, if anything did."""
        error = self.finished.get()
        if error is not None:
            raise error


class Batches(TreeDataModule):
    """The data of a run, with batches as they are given."""

    def __init__(self, turns: Turns, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.turns = turns
        turns.data = self

    def train_dataloader(self) -> DataLoader:
        """The loader of the program, but for the sampler."""
        with patch("graphsent.training.data.batch_sampler", lambda *_, **__: self.turns):
            return super().train_dataloader()


def _ignore(*_: Any) -> None:
    """Takes what a run tells."""


class Trainee(Contender):
    """``graphsent train``, with a model of its own.

    Args:
        setting: what is trained, from the model as it is there.
        training: how it is trained.
        name: in the results.
        engine: how cells propagate.
        flush: see :class:`Turns`.
        restored: begins each timed step where it was when :meth:`keep` was called.
    """

    def __init__(
        self,
        setting: Setting,
        training: TrainingOptions,
        name: str,
        *,
        engine: str = "auto",
        flush: bool | None = None,
        restored: bool = False,
    ) -> None:
        self.name = name
        self.kept: Mapping[str, Any] | None = None
        self.restored = restored
        self.model: Model = deepcopy(setting.model)
        self.model.engine = engine
        self.directory = tempfile.TemporaryDirectory()
        self.turns = Turns(flush)
        self.thread = Thread(target=self._run, args=(setting, training), daemon=True)
        # Read when a run begins: nobody else's does before this one waits for its first batch.
        with patch("graphsent.training.fit.TreeDataModule", partial(Batches, self.turns)):
            self.thread.start()
            self.turns.wait()

    def _run(self, setting: Setting, training: TrainingOptions) -> None:
        torch.set_num_threads(training.num_threads)
        quiet = {"progress": False, "echo": _ignore, "on_epoch": _ignore}
        run = RunDirectory(self.directory.name)
        try:
            with flushed_subnormals():  # as train() has it
                fit.fit(self.model, setting.task, setting.data, training, run, **quiet)
        except Stopped:
            self.turns.finished.put(None)
        except BaseException as error:
            self.turns.finished.put(error)

    @property
    def flush(self) -> bool:
        """Whether subnormal numbers are flushed."""
        return bool(self.turns.flush)

    def prepare(self, batch: Portion) -> Portion:
        """The batch."""
        return batch

    def fresh(self, batch: Portion) -> Portion:
        """The batch; the model is what it was before, if that is wanted."""
        if self.restored and self.kept is not None:
            self.load(self.kept)
        return batch

    def step(self, batch: Portion) -> None:
        """All that happens from one batch to the next."""
        self.turns.given.put(batch.indices)
        self.turns.wait()

    def outcome(self, batch: Portion) -> tuple[np.ndarray, float]:
        """The logits of all nodes without dropout, and the loss."""
        self.model.eval()
        with torch.no_grad():
            collated = self.model.collate(batch.examples)
            logits = self.model(collated)
            loss = self.model.loss(logits, collated)
        self.model.train()
        return logits.numpy(), float(loss)

    def state(self) -> dict[str, Any]:
        """A copy of all that training has changed."""
        optimizers = self.turns.data.trainer.optimizers
        return deepcopy(
            {
                "model": self.model.state_dict(),
                "optimizers": [optimizer.state_dict() for optimizer in optimizers],
            }
        )

    def load(self, state: Mapping[str, Any]) -> None:
        """Goes on from such a copy."""
        self.model.load_state_dict(state["model"])
        optimizers = self.turns.data.trainer.optimizers
        for optimizer, saved in zip(optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(deepcopy(saved))

    def take(self, other: Trainee) -> None:
        """Goes on from where another one is."""
        self.load(other.state())

    def keep(self) -> None:
        """Keeps the state as it is now."""
        self.kept = self.state()

    def subnormals(self) -> dict[str, int]:
        """How many there are among the weights, and among the gradients of the last step."""
        parameters = list(self.model.parameters())
        gradients = [each.grad for each in parameters if each.grad is not None]
        return {
            "weights": sum(map(count_subnormals, parameters)),
            "gradients": sum(map(count_subnormals, gradients)),
        }

    def stop(self) -> None:
        """Ends the run."""
        self.turns.given.put(None)
        self.thread.join()
        self.directory.cleanup()
