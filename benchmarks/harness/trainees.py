"""``graphsent train`` itself as a contender: its own loop, one batch at a time.

Users wait for whole steps: collating, Lightning's loop, model, loss, gradients and optimizers. So
none of this is reimplemented here. Each contender is ``graphsent.training.fit.fit`` in its own
thread; only its batch sampler is replaced, by one that waits until it is given the next batch.
Calling the module's ``training_step`` would leave out Lightning, and with callbacks alone, one
``Trainer`` would run to its end before the next could start.

Only one thread runs at a time. Flushing subnormal numbers (below 1.2e-38, with which most
processors compute slowly) is a per-thread setting.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from itertools import count, islice
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import torch
from torch.utils.data import Sampler

from graphsent.models import Model
from graphsent.training import RunDirectory, TrainingOptions, fit, flushed_subnormals
from graphsent.training.batching import Share, batch_sampler
from graphsent.training.optimizers import build_optimizers
from graphsent.training.setting import Setting
from graphsent.training.subnormals import flushes

from .measuring import Contender

MANY = 10**9


@contextmanager
def flushed(flush: bool) -> Iterator[None]:
    """Sets whether this thread flushes subnormal numbers to zero."""
    before = flushes()
    torch.set_flush_denormal(flush)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


class Portion(NamedTuple):
    """The batch of one step: examples of :func:`examples_of`, and their indices there."""

    indices: list[int]
    examples: Sequence[Any]


def examples_of(setting: Setting) -> Sequence[Any]:
    """The examples from which a run of this setting draws its batches."""
    train = setting.data.splits["train"]
    phrases = setting.config.training.loss_nodes == "all"
    return setting.model.training_examples(train) if phrases else train


def portions(examples: Sequence[Any], options: TrainingOptions, wanted: int) -> list[Portion]:
    """The first full batches of a run, from its first epoch and, if necessary, the next ones."""
    size = min(options.batch_size, len(examples))
    sampler = batch_sampler(examples, "shuffled", size, options.seed)

    def full_batches() -> Iterator[Portion]:
        for epoch in count():
            sampler.set_epoch(epoch)
            full = (indices for indices in sampler if len(indices) == size)
            yield from (Portion(each, [examples[index] for index in each]) for each in full)

    return list(islice(full_batches(), wanted))


class Stopped(Exception):
    """Ends a contender's training."""


class Turns(Sampler[Share]):
    """The batches that a trainee is given, until it is stopped."""

    def __init__(self, trainee: Trainee) -> None:
        self.trainee = trainee

    def __len__(self) -> int:
        """A length that is never reached, so that Lightning does not look ahead."""
        return MANY

    def __iter__(self) -> Iterator[Share]:
        """Reports that the previous step is finished; waits for the next batch."""
        trainee = self.trainee
        if trainee.flush is None:
            trainee.flush = flushes()
        torch.set_flush_denormal(trainee.flush)
        while True:
            trainee.finished.put(None)
            indices = trainee.given.get()
            if indices is None:
                raise Stopped
            yield Share(indices, num_processes=1, rank=0)


class Trainee(Contender):
    """``graphsent train`` with a copy of the setting's model.

    Subnormal numbers are flushed if ``flush``; None is the default of ``graphsent train``, to which
    the attribute is set once the run has begun.
    """

    def __init__(
        self,
        setting: Setting,
        training: TrainingOptions,
        name: str,
        *,
        engine: str = "auto",
        flush: bool | None = None,
    ) -> None:
        self.name, self.flush = name, flush
        self.model: Model = deepcopy(setting.model)
        self.model.engine = engine
        self.optimizers: list[torch.optim.Optimizer] = []
        self.given: SimpleQueue[list[int] | None] = SimpleQueue()
        self.finished: SimpleQueue[BaseException | None] = SimpleQueue()
        self.directory = tempfile.TemporaryDirectory()
        self.thread = Thread(target=self._run, args=(setting, training), daemon=True)
        with (
            patch("graphsent.training.data.batch_sampler", lambda *_, **__: Turns(self)),
            patch("graphsent.training.module.build_optimizers", self._build_optimizers),
        ):
            self.thread.start()
            self._wait()

    def _build_optimizers(self, *arguments: Any) -> list[torch.optim.Optimizer]:
        self.optimizers = build_optimizers(*arguments)
        return self.optimizers

    def _run(self, setting: Setting, training: TrainingOptions) -> None:
        torch.set_num_threads(training.num_threads)
        config = replace(setting.config, training=training)
        setting = replace(setting, config=config, model=self.model)
        run = RunDirectory(self.directory.name)
        try:
            with flushed_subnormals():  # as in train()
                fit.fit(setting, run, resumed=False)
        except Stopped:
            self.finished.put(None)
        except BaseException as error:
            self.finished.put(error)

    def _wait(self) -> None:
        """Returns when the run asks for a batch; raises the exception that ended it, if any."""
        error = self.finished.get()
        if error is not None:
            raise error

    def step(self, batch: Portion) -> None:
        """Everything that happens from one batch to the next."""
        self.given.put(batch.indices)
        self._wait()

    def outcome(self, batch: Portion) -> tuple[np.ndarray, float]:
        """The outputs without dropout, and the loss; 0 for gold trees, which a reranker hides."""
        self.model.eval()
        with torch.no_grad():
            collated = self.model.collate(batch.examples)
            logits = self.model(collated)
            loss = self.model.loss(logits, collated)
        self.model.train()
        return logits.masked_fill(logits.isneginf(), 0.0).numpy(), float(loss)

    def state(self) -> list[dict[str, Any]]:
        """The weights and the optimizers' states, not copied."""
        return [each.state_dict() for each in (self.model, *self.optimizers)]

    def restore(self, state: list[dict[str, Any]]) -> None:
        """Sets the weights and the optimizers' states to copies of those of this or another run."""
        for each, values in zip((self.model, *self.optimizers), state, strict=True):
            each.load_state_dict(deepcopy(values))

    def take(self, other: Trainee) -> None:
        """Copies the weights and the optimizers' states of another run."""
        self.restore(other.state())

    def close(self) -> None:
        """Ends the run."""
        self.given.put(None)
        self.thread.join()
        self.directory.cleanup()


class Beginner(Trainee):
    """A run that begins anew at every turn, so that its steps are always the first ones."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.start = deepcopy(self.state())

    def fresh(self, prepared: Portion) -> Portion:
        """The batch; all before it is forgotten."""
        self.restore(self.start)
        return prepared
