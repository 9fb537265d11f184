"""Compiled code for index arrays, and their transfer to a device.

Without compiled kernels these functions return None, and callers fall back to numpy.
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
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The arrays ``packed``, ``ends`` and ``degrees`` of :func:`.schedule.make_schedule`."""
    library = library_for("float")
    if library is None:
        return None
    n, m = len(level), len(source)
    size = 2 * n + 3 * m
    parts, scratch = np.empty(size + 2 * n, np.int64), np.empty(3 * n + m + 1, np.int64)
    given = [np.ascontiguousarray(part, np.int64) for part in (source, target, level)]
    result = library.fill_schedule(n, m, *map(pointer_to, (*given, parts, scratch)))
    if not result:
        raise invalid_structure(n)
    return parts[:size], parts[size + n : size + n + result - 1], parts[size : size + n]


def invalid_structure(num_nodes: int) -> ValueError:
    """The error for edges or levels that do not fit the number of nodes."""
    return ValueError(f"expected node numbers below {num_nodes}, and levels without gaps")


@untraced
def distinct_words(tokens: Tensor) -> tuple[Tensor, Tensor] | None:
    """Each word once, in the order of last occurrences, and the index of each token's word.

    Args:
        tokens: (num_nodes,) int64 on the CPU, word numbers; negative for none.

    Returns:
        The words, and (num_nodes,) indices into them, -1 for none.
    """
    library = library_for("float")
    if library is None or not tokens.is_cpu:
        return None
    n = len(tokens)
    capacity = 2 << n.bit_length()  # of the hash table: more than twice the number of nodes
    parts, tokens = np.empty(2 * n + 2 * capacity, np.int64), tokens.long().contiguous()
    words = pointer_to(parts)
    places, table = words + n * parts.itemsize, words + 2 * n * parts.itemsize
    count = library.distinct_words(n, tokens.data_ptr(), capacity - 1, table, words, places)
    return torch.from_numpy(parts[:count]), torch.from_numpy(parts[n : 2 * n])


def pointer_to(numbers: np.ndarray) -> int:
    """The address of an array, valid as long as it lives; faster than ``numbers.ctypes.data``."""
    return torch.from_numpy(numbers).data_ptr()


def to_device(index: Tensor, device: torch.device) -> Tensor:
    """Copies a CPU tensor to a device; the host does not wait for the copy."""
    if device.type != "cuda":
        return index.to(device)
    return index.pin_memory().to(device, non_blocking=True)
