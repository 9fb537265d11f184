"""Whole training steps of a model: those of ``graphsent train`` but for what Lightning adds."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

from graphsent.kernels.library import SWITCH
from graphsent.models import model_class
from graphsent.training import RunConfig, TrainingOptions
from graphsent.training.data import TreeDataModule
from graphsent.training.optimizers import build_optimizers, take_step
from graphsent.training.setting import prepare

ROWS = 300


class Trainer:
    """A model of ``sst5`` with vectors of 300 numbers and the options that it has by default.

    Args:
        model: Its name.
        data_dir: Directory of the corpora; None for the embedded data.
        vectors: Files of word vectors; without any they are drawn.
    """

    def __init__(self, model: str, data_dir: str | None, vectors: tuple[str, ...] = ()) -> None:
        self.options = TrainingOptions(**model_class(model).training_defaults)
        sizes = {} if vectors else {"embedding_dim": ROWS}
        config = RunConfig(
            task="sst5",
            model=model,
            data_dir=data_dir,
            vectors=vectors,
            model_options=sizes,
            training=self.options,
        )
        setting = prepare(config, lambda _: None)
        self.model = setting.model.train()
        self.optimizers = build_optimizers(self.model, self.options)
        train = self.model.training_examples(setting.data.splits["train"])
        self.data = TreeDataModule(self.model, train, [], self.options)
        self.batches = self._all_batches()

    def steps(self, count: int) -> None:
        """Takes some steps, from the trees to the new weights."""
        for _ in range(count):
            batch = next(self.batches)
            loss = self.model.loss(self.model(batch), batch, self.options.loss_nodes)
            for optimizer in self.optimizers:
                optimizer.zero_grad()
            loss.backward()
            take_step(self.optimizers)
            self.model.after_step()

    def _all_batches(self) -> Iterator[Any]:
        while True:
            yield from self.data.train_dataloader()


def training_calls(
    model: str, data_dir: str | None, vectors: tuple[str, ...], count: int
) -> dict[str, Callable[[], None]]:
    """Some training steps in torch alone, and with compiled kernels; each has its own model."""

    def run(trainer: Trainer, switch: str) -> None:
        with patch.dict(os.environ, {SWITCH: switch}):
            trainer.steps(count)

    switches = {"torch": "0", "compiled": "1"}
    trainers = {name: Trainer(model, data_dir, vectors) for name in switches}
    return {
        name: functools.partial(run, trainers[name], switch) for name, switch in switches.items()
    }
