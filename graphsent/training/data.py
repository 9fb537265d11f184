"""Batches of training and dev trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from pytorch_lightning import LightningDataModule
from torch.utils.data import DataLoader

from graphsent.models import Model
from graphsent.training.batching import batch_sampler
from graphsent.training.options import TrainingOptions

__all__ = ["TreeDataModule"]

_EVALUATION_BATCH = 256


class TreeDataModule(LightningDataModule):
    """Trees of the two splits that training looks at, in batches that the model makes of them.

    Args:
        model: Gives ``collate``.
        train: Training examples.
        dev: Examples for the choice of the best epoch.
        options: How training examples are put into batches, and their seed.
    """

    def __init__(
        self, model: Model, train: Sequence[Any], dev: Sequence[Any], options: TrainingOptions
    ) -> None:
        super().__init__()
        self._collate = model.collate
        self._train = train
        self._dev = dev
        self._batches = batch_sampler(train, options.batching, options.batch_size, options.seed)

    def train_dataloader(self) -> DataLoader:
        """The batches of training examples, others in every epoch."""
        return DataLoader(
            self._train,
            batch_sampler=self._batches,
            collate_fn=self._collate,
            # A loader draws a number from its generator: not from the one that dropout uses.
            generator=torch.Generator(),
        )

    def val_dataloader(self) -> DataLoader:
        """Dev examples in their order."""
        return DataLoader(
            self._dev, _EVALUATION_BATCH, collate_fn=self._collate, generator=torch.Generator()
        )

    def transfer_batch_to_device(
        self, batch: Any, device: torch.device, dataloader_idx: int
    ) -> Any:
        """Moves a batch by its own ``to``."""
        return batch.to(device)
