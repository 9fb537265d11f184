"""Batches of training and dev trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import torch
from pytorch_lightning import LightningDataModule
from torch.utils.data import DataLoader, Dataset

from graphsent.models import Model
from graphsent.shards import ShardedExamples
from graphsent.training.batching import InOrder, Share, batch_sampler
from graphsent.training.options import TrainingOptions

__all__ = ["TreeDataModule", "WeightedBatch"]

_EVALUATION_BATCH = 256


class WeightedBatch(NamedTuple):
    """A batch of one of several processes, see :class:`~graphsent.training.batching.Share`."""

    batch: Any
    weight: float

    def to(self, device: torch.device | str) -> WeightedBatch:
        """The batch on another device."""
        return self._replace(batch=self.batch.to(device))


class TreeDataModule(LightningDataModule):
    """Trees of the two splits that training looks at, in batches that the model makes of them.

    Under a Trainer with several processes, every example is still seen once per epoch, in batches
    that are as many times as large.

    Args:
        model: Gives ``collate``.
        train: Training examples; those of shards are shuffled within ``options.shuffle_window``.
        dev: Examples for the choice of the best epoch.
        options: How training examples are put into batches, and their seed.
    """

    def __init__(
        self, model: Model, train: Sequence[Any], dev: Sequence[Any], options: TrainingOptions
    ) -> None:
        super().__init__()
        self._model = model
        self._train = train
        self.dev = dev
        self._options = options
        for examples in (train, dev):
            if isinstance(examples, ShardedExamples):
                examples.number_words(model.vocab)

    def train_dataloader(self) -> DataLoader:
        """The batches of training examples, different in every epoch."""
        options = self._options
        sampler = batch_sampler(
            self._train,
            options.batching,
            options.batch_size,
            options.seed,
            window=options.shuffle_window if isinstance(self._train, ShardedExamples) else None,
            **self._processes(),
        )
        return DataLoader(
            _Batches(self._batches()),
            batch_size=None,  # the sampler gives whole batches
            sampler=sampler,
            # The loader would make tensors of what is in a batch.
            collate_fn=_as_it_is,
            # A loader draws a number from its generator: not from the one that dropout uses.
            generator=torch.Generator(),
        )

    def val_dataloader(self) -> DataLoader:
        """Dev examples in their order."""
        return DataLoader(
            cast("Dataset", self.dev),
            _EVALUATION_BATCH,
            sampler=InOrder(len(self.dev), **self._processes()),
            collate_fn=self._model.collate,
            generator=torch.Generator(),
        )

    def transfer_batch_to_device(
        self, batch: Any, device: torch.device, dataloader_idx: int
    ) -> Any:
        """Moves a batch by its own ``to``."""
        return batch.to(device)

    def _batches(self) -> Callable[[Share], Any]:
        """What gives the batch of some training examples."""
        model, train = self._model, self._train
        if isinstance(train, ShardedExamples):  # are read for each batch
            return lambda share: model.collate([train[number] for number in share])
        return model.batches_of(train)

    def _processes(self) -> dict[str, int]:
        """How many processes train together, and which of them this is."""
        found = self.trainer and self.trainer.distributed_sampler_kwargs
        if not found:
            return {}
        return {"num_processes": found["num_replicas"], "rank": found["rank"]}


class _Batches(Dataset):
    """The batch of some indices."""

    def __init__(self, batch_of: Callable[[Share], Any]) -> None:
        self._batch_of = batch_of

    def __getitem__(self, share: Share) -> Any:
        batch = self._batch_of(share)
        return batch if share.weight == 1 else WeightedBatch(batch, share.weight)


def _as_it_is(batch: Any) -> Any:
    return batch
