"""Large tensors in memory that was in use before.

The first write to memory that is new to the process costs several times what a later one does, and
the C library gives large blocks back as soon as they are free. Here they are kept: a block returns
when the last tensor in it is gone, whoever holds that: no tensor in use is ever overwritten.
GPUs are left to torch, which does the same there, as are types that the kernels do not know.
Without this, a step of the N-ary Tree-LSTM on 256 trees takes 1.2 times as long; on 25 it makes no
difference.
"""

from __future__ import annotations

import math
import os
import weakref
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

SMALLEST = 1 << 16
"""Bytes of the smallest tensor that gets a block; the C library keeps smaller ones itself."""


def _limit() -> int:
    """A quarter of the memory of the machine, or of what the process may take."""
    limits = []
    for file in ("memory.max", "memory/memory.limit_in_bytes"):  # of control groups, 2 and 1
        with suppress(OSError, ValueError):  # "max" says that there is none
            limits.append(int(Path("/sys/fs/cgroup", file).read_text()))
    with suppress(AttributeError, ValueError, OSError):  # where there is no such thing
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(limits, default=1 << 31) // 4


LARGEST_TOTAL = _limit()
"""Bytes of the blocks that are kept while nobody uses them; if there are more, none is."""

_TYPES = {torch.float32: np.float32, torch.float64: np.float64, torch.int64: np.int64}
_free: defaultdict[int, list[np.ndarray]] = defaultdict(list)  # blocks that nobody uses, by size
_unchecked = 0  # bytes that came back since it was last seen whether they are too many
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


def kept_bytes() -> int:
    """Bytes of all blocks that nobody uses."""
    return sum(size * len(blocks) for size, blocks in list(_free.items()))


def release() -> None:
    """Gives all blocks that nobody uses back to the system."""
    _free.clear()


def _give_back(reference: weakref.ref[np.ndarray]) -> None:
    _, block = _lent.pop(id(reference))
    if block.size > LARGEST_TOTAL:
        return
    _free[block.size].append(block)
    # To add up all sizes whenever one comes back takes 3 % of a training step of `arnn`.
    global _unchecked
    _unchecked += block.size
    if _unchecked > LARGEST_TOTAL // 64:
        _unchecked = 0
        if kept_bytes() > LARGEST_TOTAL:
            release()


def _rounded(num_bytes: int) -> int:
    """The next of eight sizes an octave, so that batches of about one size share blocks."""
    step = 1 << max(num_bytes.bit_length() - 4, 12)
    return -(-num_bytes // step) * step
