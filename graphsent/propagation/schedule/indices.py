"""Compiled code for what is known of nodes before any number of theirs.

Where there are no compiled kernels all of it gives None: callers have the same in numpy.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from graphsent.kernels.library import library_for
from graphsent.propagation.untraced import untraced


@untraced
def fill_schedule(
    source: np.ndarray, target: np.ndarray, level: np.ndarray
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]] | None:
    """What a schedule consists of.

    Args:
        source: see :func:`graphsent.propagation.schedule.make_schedule`.
        target: see there.
        level: see there.

    Returns:
        What a schedule has packed; its bounds: ends of levels, and degrees by position.

    Raises:
        ValueError: if there are no such nodes or levels.
    """
    library = library_for("float")
    if library is None:
        return None
    n, m = len(level), len(source)
    size = 2 * n + 3 * m
    parts, scratch = np.empty(size + 2 * n, np.int64), np.empty(3 * n + m + 1, np.int64)
    given = [np.ascontiguousarray(part, np.int64) for part in (source, target, level)]
    result = library.fill_schedule(n, m, *map(pointer_to, (*given, parts, scratch)))
    if not result:
        raise no_such_nodes(n)
    degrees, ends = parts[size : size + n], parts[size + n : size + n + result - 1]
    return parts[:size], (ends, degrees)


def no_such_nodes(num_nodes: int) -> ValueError:
    """What is wrong with a schedule of so many nodes that has numbers of others."""
    return ValueError(f"expected numbers of {num_nodes} nodes, and levels without gaps")


@untraced
def distinct_words(tokens: Tensor) -> tuple[Tensor, Tensor] | None:
    """Each word once, in the order of their last occurrences, and the place of each in that.

    Args:
        tokens: (num_nodes,) int64 on the CPU, numbers of words; negative for none.

    Returns:
        The words, and (num_nodes,) places, -1 for none.
    """
    library = library_for("float")
    if library is None or not tokens.is_cpu:
        return None
    n = len(tokens)
    capacity = 2 << n.bit_length()  # more than twice as many places as nodes
    parts, tokens = np.empty(2 * n + 2 * capacity, np.int64), tokens.long().contiguous()
    words = pointer_to(parts)
    places, table = words + n * parts.itemsize, words + 2 * n * parts.itemsize
    count = library.distinct_words(n, tokens.data_ptr(), capacity - 1, table, words, places)
    return torch.from_numpy(parts[:count]), torch.from_numpy(parts[n : 2 * n])


def pointer_to(numbers: np.ndarray) -> int:
    """Where numbers are, as long as somebody has them; numpy's own way takes longer."""
    return torch.from_numpy(numbers).data_ptr()


def to_device(index: Tensor, device: torch.device) -> Tensor:
    """A tensor of the CPU on a device, without waiting for that."""
    if device.type != "cuda":
        return index.to(device)
    return index.pin_memory().to(device, non_blocking=True)
