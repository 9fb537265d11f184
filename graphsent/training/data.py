"""Mini-batches of training and dev examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

import torch
from pytorch_lightning import LightningDataModule
from torch.utils.data import DataLoader, Dataset

from graphsent.models import Model
from graphsent.shards import ShardedExamples
from graphsent.training.batching import InOrder, Share, batch_sampler
from graphsent.training.errors import TrainingError
from graphsent.training.options import TrainingOptions

__all__ = ["TreeDataModule", "WeightedBatch"]

_EVALUATION_BATCH = 256


class WeightedBatch(NamedTuple):
    """One process's share of a batch, see :class:`~graphsent.training.batching.Share`."""

    batch: Any
    weight: float

    def to(self, device: torch.device | str) -> WeightedBatch:
        """Moves the batch to a device."""
        return self._replace(batch=self.batch.to(device))


class TreeDataModule(LightningDataModule):
    """The training and dev examples, in mini-batches collated by the model.

    Under a Trainer with several processes, every example is still seen once per epoch, in batches
    that are that many times as large.

    Args:
        model: The model, whose ``collate`` builds the batches.
        train: Training examples; those in shards are shuffled within ``options.shuffle_window``.
        dev: Examples on which the best epoch is selected.
        options: Options of batching, and the seed.
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

    def setup(self, stage: str) -> None:
        """Checks the Trainer.

        Raises:
            TrainingError: It has ``overfit_batches``, for which it would replace the batches.
        """
        if getattr(self.trainer, "overfit_batches", 0):
            raise TrainingError("overfit_batches is not supported: train on fewer examples instead")

    def train_dataloader(self) -> DataLoader:
        """Batches of training examples, different in every epoch."""
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
            _Batches(self._batch_of),
            batch_size=None,  # the sampler yields whole batches
            sampler=sampler,
            # By default the loader would convert the batch's contents to tensors.
            collate_fn=_as_it_is,
            # A loader draws from its generator, which must not be the one that dropout uses.
            generator=torch.Generator(),
        )

    def val_dataloader(self) -> DataLoader:
        """Batches of dev examples, in order."""
        return DataLoader(
            cast("Dataset", self.dev),
            _EVALUATION_BATCH,
            sampler=InOrder(len(self.dev), **self._processes()),
            collate_fn=self._model.collate,
            generator=torch.Generator(),
        )

    def class_counts(self) -> torch.Tensor:
        """The number of units of each class in the loss over all training examples.

        Returns:
            (num_classes,) int64.
        """
        batch_of = self._batch_of
        counts = torch.zeros(len(self._model.label_names), dtype=torch.int64)
        for begin in range(0, len(self._train), _EVALUATION_BATCH):
            end = min(begin + _EVALUATION_BATCH, len(self._train))
            batch = batch_of(range(begin, end))
            gold = batch.gold
            if self._options.loss_nodes == "root":
                gold = gold[batch.roots]
            counts += torch.bincount(gold[gold >= 0], minlength=len(counts))
        return counts

    def transfer_batch_to_device(
        self, batch: Any, device: torch.device, dataloader_idx: int
    ) -> Any:
        """Moves a batch with its own ``to``."""
        return batch.to(device)

    @cached_property
    def _batch_of(self) -> Callable[[Sequence[int]], Any]:
        """A function that returns the batch of some training examples."""
        model, train = self._model, self._train
        if isinstance(train, ShardedExamples):  # read again for each batch
            return lambda numbers: model.collate([train[number] for number in numbers])
        return model.batches_of(train)

    def _processes(self) -> dict[str, int]:
        """The number of processes that train together, and the rank of this one."""
        found = self.trainer and self.trainer.distributed_sampler_kwargs
        if not found:
            return {}
        return {"num_processes": found["num_replicas"], "rank": found["rank"]}


class _Batches(Dataset):
    """Maps indices to their batch."""

    def __init__(self, batch_of: Callable[[Sequence[int]], Any]) -> None:
        self._batch_of = batch_of

    def __getitem__(self, share: Share) -> Any:
        batch = self._batch_of(share)
        return batch if share.weight == 1 else WeightedBatch(batch, share.weight)


def _as_it_is(batch: Any) -> Any:
    return batch
