"""Large tensors in memory that was in use before.

The first write to memory that is new to the process costs several times what a later one does, and
the C library gives large blocks back as soon as they are free. Here they are kept: a block returns
when the last tensor in it is gone, whoever holds that: no tensor in use is ever overwritten.
GPUs are left to torch, which does the same there, as are types that the kernels do not know.
"""

from __future__ import annotations

import math
import weakref
from collections import defaultdict, deque

import numpy as np
import torch
from torch import Tensor

SMALLEST = 1 << 16
"""Bytes of the smallest tensor that gets a block; the C library keeps smaller ones itself."""

LARGEST_TOTAL = 1 << 29
"""Bytes of the blocks that are kept while nobody uses them."""

_TYPES = {torch.float32: np.float32, torch.float64: np.float64, torch.int64: np.int64}
_free: defaultdict[int, deque[np.ndarray]] = defaultdict(deque)  # by size in bytes
_lent: dict[int, tuple[weakref.ref[np.ndarray], np.ndarray]] = {}  # by what tells of their end


def empty(*shape: int, like: Tensor) -> Tensor:
    """An uninitialized tensor of a shape, of the dtype and on the device of another."""
    num_bytes = math.prod(shape) * like.element_size()
    if num_bytes < SMALLEST or not like.is_cpu or like.dtype not in _TYPES:
        return like.new_empty(shape)
    size = _rounded(num_bytes)
    try:
        block = _free[size].pop()
    except IndexError:
        block = np.empty(size, np.uint8)
    lease = np.ndarray(shape, _TYPES[like.dtype], block)
    reference = weakref.ref(lease, _give_back)
    _lent[id(reference)] = reference, block
    return torch.from_numpy(lease)


def zeros(*shape: int, like: Tensor) -> Tensor:
    """The same, filled with zeros."""
    return empty(*shape, like=like).zero_()


def kept_bytes() -> int:
    """Bytes of all blocks that nobody uses."""
    return sum(size * len(blocks) for size, blocks in list(_free.items()))


def release() -> None:
    """Gives all blocks that nobody uses back to the system."""
    _free.clear()


def _give_back(reference: weakref.ref[np.ndarray]) -> None:
    _, block = _lent.pop(id(reference))
    if kept_bytes() + block.size <= LARGEST_TOTAL:
        _free[block.size].append(block)


def _rounded(num_bytes: int) -> int:
    """The next of eight sizes an octave, so that batches of about one size share blocks."""
    step = 1 << max(num_bytes.bit_length() - 4, 12)
    return -(-num_bytes // step) * step
