"""Which examples of an epoch are in a batch together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import BatchSampler, Sampler

from graphsent.pairs import TreePair
from graphsent.sentences import Sentence

__all__ = ["BATCHINGS", "EpochSampler", "GroupedBatches", "batch_sampler", "epoch_seed"]

BATCHINGS = ("shuffled", "size", "depth")
"""How batches are made up: of any examples, or of some of about the same size or depth.

A batch takes as many steps as its deepest tree has levels, so that trees of one depth are faster,
and trees of one size make batches of about the same memory. But gradients of such batches have more
in common: training goes another way.
"""

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

    @property
    def seed(self) -> int:
        """Seed of the epoch."""
        return epoch_seed(self._seed, self._epoch)

    def set_epoch(self, epoch: int) -> None:
        """Chooses the order of an epoch; Lightning calls this."""
        self._epoch = epoch

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[int]:
        # A generator function: the order is drawn with the first index, when the epoch is known.
        generator = torch.Generator().manual_seed(self.seed)
        yield from torch.randperm(self._size, generator=generator).tolist()


class GroupedBatches(Sampler[list[int]]):
    """Every index once an epoch, in batches of about the same key, in random order.

    Which of the indices with equal keys come together is random, too.

    Args:
        keys: (size,) a number for each index.
        sampler: The indices, shuffled anew for each epoch.
        batch_size: Indices a batch.
    """

    def __init__(self, keys: np.ndarray, sampler: EpochSampler, batch_size: int) -> None:
        super().__init__()
        self.sampler = sampler  # Lightning tells it the epoch
        self._keys = keys
        self._batch_size = batch_size

    def __len__(self) -> int:
        return -(-len(self._keys) // self._batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        order = np.fromiter(self.sampler, np.int64, len(self.sampler))
        order = order[np.argsort(self._keys[order], kind="stable")]
        # After the order itself, which has the same seed.
        random = np.random.default_rng((self.sampler.seed, 1))
        for batch in random.permutation(len(self)):
            first = batch * self._batch_size
            yield order[first : first + self._batch_size].tolist()


def batch_sampler(
    examples: Sequence[Any], batching: str, batch_size: int, seed: int
) -> Sampler[list[int]]:
    """The batches of each epoch, as lists of indices.

    Args:
        examples: Trees, sentences or pairs of trees.
        batching: One of :data:`BATCHINGS`. The size of a tree is its number of nodes, and its depth
            the number of its levels; those of a sentence without a tree are its number of words. A
            pair has the size of both trees together, and the depth of the deeper one.
        batch_size: Examples a batch.
        seed: Of everything random.
    """
    sampler = EpochSampler(len(examples), seed)
    if batching == "shuffled":
        return BatchSampler(sampler, batch_size, drop_last=False)
    key, of_pair = (_size, sum) if batching == "size" else (_depth, max)
    keys = np.fromiter((_key(example, key, of_pair) for example in examples), np.int64)
    return GroupedBatches(keys, sampler, batch_size)


def _key(example: Any, key: Callable[[Any], int], of_pair: Callable[..., int]) -> int:
    if isinstance(example, TreePair):
        return of_pair((key(example.first), key(example.second)))
    return key(example)


def _size(tree: Any) -> int:
    return len(tree.words) if isinstance(tree, Sentence) else tree.num_nodes


def _depth(tree: Any) -> int:
    return len(tree.words) if isinstance(tree, Sentence) else int(tree.depths.max()) + 1
