"""Batches of sequences in the layout of packed sequences: one step after another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence


class Batch(NamedTuple):
    """Inputs as a packed sequence.

    Attributes:
        data: (num_steps, in_feats).
        sizes: (longest,) the number of sequences that have each step.
        order: (batch,) the sequence of each chain; None if they are in the same order.
        inverse: (batch,) the chain of each sequence; None if they are in the same order.
        places: (num_steps,) the rows of ``data`` in the padded batch, its first two dimensions as
            one; None if they are in the same order.
        shape: of these dimensions; None if the batch came packed.
    """

    data: Tensor
    sizes: np.ndarray
    order: Tensor | None = None
    inverse: Tensor | None = None
    places: Tensor | None = None
    shape: tuple[int, int] | None = None


def packed_batch(
    input: Tensor, lengths: Tensor | None, batch_first: bool, size: int, longest: int
) -> Batch:
    """A padded batch as a packed one.

    Args:
        input: (size, longest, in_feats) with ``batch_first``, else (longest, size, in_feats); or
            one sequence, (longest, in_feats).
        lengths: (size,) int64, not all of them ``longest``; None if they are.
        batch_first: whether the first dimension is that of the sequences.
        size: number of sequences.
        longest: number of steps.
    """
    if lengths is None:
        steps = input.transpose(0, 1) if batch_first and input.dim() == 3 else input
        sizes = np.full(longest, size)
        return Batch(steps.reshape(longest * size, -1), sizes, shape=(longest, size))
    lengths, order = torch.sort(lengths, descending=True)
    sizes = size - np.cumsum(np.bincount(lengths.numpy(), minlength=longest + 1))[:-1]
    sizes = sizes[sizes > 0]
    step = np.repeat(np.arange(len(sizes)), sizes)
    chain = order.numpy()[np.arange(len(step)) - np.repeat(np.cumsum(sizes) - sizes, sizes)]
    places = torch.from_numpy(chain * longest + step if batch_first else step * size + chain)
    shape = (size, longest) if batch_first else (longest, size)
    data, inverse = input.flatten(0, 1).index_select(0, places), torch.argsort(order)
    return Batch(data, sizes, order, inverse, places, shape)


def fits(packed: PackedSequence) -> bool:
    """Whether there are as many rows of data as the batch sizes say, as torch's packing ensures."""
    sizes = packed.batch_sizes.numpy()
    return sizes[-1] > 0 and not (np.diff(sizes) > 0).any() and sizes.sum() == len(packed.data)
