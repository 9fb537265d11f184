"""Which examples of an epoch form a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import torch
from torch.utils.data import Dataset, DistributedSampler

from graphsent.shards import BLOCK_SIZE, ShardedExamples, depth_of, size_of

__all__ = ["BATCHINGS", "EpochBatches", "InOrder", "Share", "batch_sampler", "epoch_seed"]

BATCHINGS = ("shuffled", "size", "depth")
"""How batches are made up: of any examples, or of some of about the same size or depth.

A batch takes as many steps as its deepest tree has levels, so that trees of one depth are faster,
and trees of one size make batches of about the same memory. But gradients of such batches have more
in common: training goes another way.
"""

_BLOCKS_AT_LEAST = 16  # of a small window
_PRIME = 1_000_003  # keeps (seed, epoch) pairs apart


def epoch_seed(seed: int, epoch: int, rank: int = 0) -> int:
    """The seed of one epoch of a run: what an epoch draws does not depend on the epochs before.

    Of several processes that train together each has a rank and a seed of its own.
    """
    return ((rank * _PRIME + seed) * _PRIME + epoch) % 2**63


class Share(list[int]):
    """The indices of a batch that one process computes.

    Attributes:
        weight: What the mean over them counts in the mean over all processes, which is then that
            over the whole batch. It is 0 where a batch has fewer examples than there are processes:
            some then compute its first one, for nothing.
    """

    def __init__(self, batch: Sequence[int], num_processes: int, rank: int) -> None:
        own = batch[rank::num_processes]
        super().__init__(own or batch[:1])
        self.weight = len(own) * num_processes / len(batch)


class EpochBatches(DistributedSampler):
    """Every index once an epoch, in random batches that depend on seed and epoch alone.

    Of several processes each has its share of batches that are as many times as large. Lightning
    replaces the samplers of loaders for several processes, unless they are of the base class.

    Args:
        size: How many indices there are.
        batch_size: Indices per batch and process.
        seed: Of everything random.
        keys: (size,) a number for each index: only those of about the same key are in a batch
            together. Which of those with equal keys come together is random, too.
        window: How many indices are shuffled together, rounded to whole batches: for examples that
            are fast to read if they are near each other. A window has blocks of neighbours from
            all over, so that a corpus in the order of its labels is mixed, too. None for all.
        num_processes: How many train together.
        rank: The number of this one, from 0.
    """

    def __init__(
        self,
        size: int,
        batch_size: int,
        seed: int,
        *,
        keys: np.ndarray | None = None,
        window: int | None = None,
        num_processes: int = 1,
        rank: int = 0,
    ) -> None:
        # Of the data it asks for nothing but their number.
        super().__init__(cast("Dataset", range(size)), num_processes, rank, seed=seed)
        self._size = size
        self._whole_batch = batch_size * num_processes
        self._keys = keys
        self._window = size if window is None else window

    def __len__(self) -> int:
        return -(-self._size // self._whole_batch)

    def __iter__(self) -> Iterator[Share]:
        # A generator function: the order is drawn with the first batch, when the epoch is known.
        seed = epoch_seed(self.seed, self.epoch)
        # After the order itself, which has the same seed.
        of_batches = np.random.default_rng((seed, 1))
        for order in self._windows(torch.Generator().manual_seed(seed)):
            batches = np.arange(-(-len(order) // self._whole_batch))
            if self._keys is not None:
                order = order[np.argsort(self._keys[order], kind="stable")]
                batches = of_batches.permutation(batches)
            for batch in batches:
                first = batch * self._whole_batch
                whole = order[first : first + self._whole_batch].tolist()
                yield Share(whole, self.num_replicas, self.rank)

    def _windows(self, generator: torch.Generator) -> Iterator[np.ndarray]:
        """The indices of each window, shuffled; all windows but the last are of whole batches."""
        if self._window >= self._size:
            yield torch.randperm(self._size, generator=generator).numpy()
            return
        whole = max(1, self._window // self._whole_batch) * self._whole_batch
        block = max(1, min(BLOCK_SIZE, whole // _BLOCKS_AT_LEAST))
        waiting = np.zeros(0, np.int64)
        for number in torch.randperm(-(-self._size // block), generator=generator).tolist():
            first = number * block
            indices = np.arange(first, min(first + block, self._size))
            waiting = np.concatenate((waiting, indices))
            while len(waiting) >= whole:
                yield waiting[torch.randperm(whole, generator=generator).numpy()]
                waiting = waiting[whole:]
        yield waiting[torch.randperm(len(waiting), generator=generator).numpy()]


class InOrder(DistributedSampler):
    """Every index once, in order; of several processes each has as many of them, in turn."""

    def __init__(self, size: int, *, num_processes: int = 1, rank: int = 0) -> None:
        super().__init__(cast("Dataset", range(size)), num_processes, rank, shuffle=False)
        self._size = size

    def __len__(self) -> int:
        return len(self._indices())

    def __iter__(self) -> Iterator[int]:
        return iter(self._indices())

    def _indices(self) -> range:
        return range(self.rank, self._size, self.num_replicas)


def batch_sampler(
    examples: Sequence[Any],
    batching: str,
    batch_size: int,
    seed: int,
    *,
    window: int | None = None,
    num_processes: int = 1,
    rank: int = 0,
) -> EpochBatches:
    """The batches of each epoch, as lists of indices.

    Args:
        examples: Trees, sentences or pairs of trees.
        batching: One of :data:`BATCHINGS`. The size of a tree is its number of nodes, and its depth
            the number of its levels; those of a sentence without a tree are its number of words. A
            pair has the size of both trees together, and the depth of the deeper one.
        batch_size: Examples per batch and process.
        seed: Of everything random.
        window: See :class:`EpochBatches`.
        num_processes: How many train together.
        rank: The number of this one, from 0.
    """
    keys = None
    if isinstance(examples, ShardedExamples):
        examples.keep(len(examples) if window is None else window)
        keys = {"size": examples.sizes, "depth": examples.depths}.get(batching, lambda: None)()
    elif batching != "shuffled":
        key = size_of if batching == "size" else depth_of
        keys = np.fromiter(map(key, examples), np.int64)
    return EpochBatches(
        len(examples),
        batch_size,
        seed,
        keys=keys,
        window=window,
        num_processes=num_processes,
        rank=rank,
    )
