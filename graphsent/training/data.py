"""Batches of training and dev trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from pytorch_lightning import LightningDataModule
from torch.utils.data import DataLoader, Sampler

from graphsent.models import Model

__all__ = ["EpochSampler", "TreeDataModule", "epoch_seed"]

_EVALUATION_BATCH = 256
_PRIME = 1_000_003  # keeps (seed, epoch) pairs apart


def epoch_seed(seed: int, epoch: int) -> int:
    """The seed of one epoch of a run: what an epoch draws does not depend on the epochs before."""
    return (seed * _PRIME + epoch) % 2**63


class EpochSampler(Sampler[int]):
    """Every index once, in an order that depends on seed and epoch alone."""

    def __init__(self, size: int, seed: int) -> None:
        super().__init__()
        self._size = size
        self._seed = seed
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Chooses the order of an epoch; Lightning calls this."""
        self._epoch = epoch

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[int]:
        # A generator function: the order is drawn with the first index, when the epoch is known.
        generator = torch.Generator().manual_seed(epoch_seed(self._seed, self._epoch))
        yield from torch.randperm(self._size, generator=generator).tolist()


class TreeDataModule(LightningDataModule):
    """Trees of the two splits that training looks at, in batches that the model makes of them.

    Args:
        model: Gives ``collate``.
        train: Training examples.
        dev: Examples for the choice of the best epoch.
        batch_size: Training examples a step.
        seed: Seed of the order of the training examples.
    """

    def __init__(
        self, model: Model, train: Sequence[Any], dev: Sequence[Any], batch_size: int, seed: int
    ) -> None:
        super().__init__()
        self._collate = model.collate
        self._train = train
        self._dev = dev
        self._batch_size = batch_size
        self._sampler = EpochSampler(len(train), seed)

    def train_dataloader(self) -> DataLoader:
        """Shuffled batches of training examples."""
        return DataLoader(
            self._train,
            self._batch_size,
            sampler=self._sampler,
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
