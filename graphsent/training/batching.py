"""Composition of mini-batches."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import torch
from torch.utils.data import Dataset, DistributedSampler

from graphsent.shards import BLOCK_SIZE, ShardedExamples, depth_of, size_of

__all__ = [
    "BATCHINGS",
    "EpochBatches",
    "InOrder",
    "Share",
    "batch_sampler",
    "epoch_seed",
    "seed_generators",
]

BATCHINGS = ("shuffled", "size", "depth")
"""How batches are composed: of random examples, or of examples of similar size or depth.

A batch takes as many levels as its deepest tree, so grouping by depth is faster; grouping by size
gives batches of about the same memory. The gradients of such batches are more alike, however, so
training takes a different course.
"""

_BLOCKS_AT_LEAST = 16  # per window
_PRIME = 1_000_003  # keeps (seed, epoch) pairs apart


def epoch_seed(seed: int, epoch: int, rank: int = 0) -> int:
    """The seed of an epoch: its random numbers do not depend on earlier epochs.

    In distributed training each process has its own rank, and thereby its own seed.
    """
    return ((rank * _PRIME + seed) * _PRIME + epoch) % 2**63


def seed_generators(seed: int) -> None:
    """Seeds the global random generators of Python, NumPy and torch."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


class Share(list[int]):
    """The indices of a batch that are computed by one process.

    Attributes:
        weight: Weight of the mean over them in the mean over all processes, such that the latter is
            the mean over the whole batch. It is 0 for processes left without an example, in a
            batch of fewer examples than processes; they compute its first example, without effect.
    """

    def __init__(self, batch: Sequence[int], num_processes: int, rank: int) -> None:
        own = batch[rank::num_processes]
        super().__init__(own or batch[:1])
        self.weight = len(own) * num_processes / len(batch)


class EpochBatches(DistributedSampler):
    """Every index once per epoch, in random batches that depend only on seed and epoch.

    With several processes, batches are that many times as large, and each process gets its share of
    every batch. (In that case Lightning replaces all samplers except those of the base class.)

    Args:
        size: Number of indices.
        batch_size: Indices per batch and process.
        seed: Random seed.
        keys: (size,) Sort key of each index; only indices with similar keys share a batch. Indices
            with equal keys are grouped at random.
        window: Number of indices that are shuffled together, rounded to whole batches, for examples
            that are faster to read if they are close to each other. A window consists of blocks
            from all parts of the data, so a corpus sorted by label is mixed, too. None for all.
        num_processes: Number of processes that train together.
        rank: Rank of this process.
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
        # It only uses the length of the data.
        super().__init__(cast("Dataset", range(size)), num_processes, rank, seed=seed)
        self._size = size
        self._whole_batch = batch_size * num_processes
        self._keys = keys
        self._window = size if window is None else window

    def __len__(self) -> int:
        return -(-self._size // self._whole_batch)

    def __iter__(self) -> Iterator[Share]:
        # A generator function: the order is drawn at the first batch, when the epoch is known.
        seed = epoch_seed(self.seed, self.epoch)
        # A different stream from that of the order of indices, which has the same seed.
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
        """The shuffled indices of each window; all windows but the last have whole batches."""
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
    """Every index once, in order, dealt out in turn to the processes if there are several."""

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
    """Returns a sampler of the batches of each epoch, as lists of indices.

    Args:
        examples: Trees, sentences, pairs of trees or n-best lists.
        batching: One of :data:`BATCHINGS`. The size of a tree is its number of nodes, its depth the
            number of its levels; both are the number of words for a sentence without a tree. A
            pair or list has the total size of its trees, and the depth of the deepest one.
        batch_size: Examples per batch and process.
        seed: Random seed.
        window: See :class:`EpochBatches`.
        num_processes: Number of processes that train together.
        rank: Rank of this process.
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
