"""Inputs that several nodes share."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from graphsent.kernels.library import library_for
from graphsent.propagation.schedule.indices import pointer_to, to_device
from graphsent.propagation.schedule.schedule import Schedule
from graphsent.propagation.untraced import untraced


class IndexedFeat(NamedTuple):
    """Inputs of nodes as rows of a table: those of node n are ``rows[index[n]]``, zeros for -1.

    Every cell takes it in place of a tensor, with the same result on every engine. With
    ``engine="levels"`` what depends on the row alone, such as the product with the input weights,
    is computed once a row, and not at all for nodes without one.

    Attributes:
        rows: (num_rows, in_feats).
        index: (num_nodes,) int64 on the CPU, from -1 to num_rows - 1.

    Example:
        >>> import torch
        >>> feat = IndexedFeat(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1, -1, 1]))
        >>> feat.dense().tolist()
        [[3.0, 4.0], [0.0, 0.0], [3.0, 4.0]]
    """

    rows: Tensor
    index: Tensor  # type: ignore[assignment]  # a method of tuples

    @property
    def device(self) -> torch.device:
        """Where the rows are."""
        return self.rows.device

    def dense(self) -> Tensor:
        """The inputs of all nodes, (num_nodes, in_feats)."""
        return self.at(slice(None))

    def at(self, nodes: Tensor | slice) -> Tensor:
        """The inputs of some nodes, (n, in_feats); their numbers are int64 on the CPU."""
        index = self.index[nodes].numpy()
        return take(*with_zeros(self.rows, index, index.min(initial=0)))


class OrderedIndex(NamedTuple):
    """The index of inputs, by position in a schedule.

    Attributes:
        numbers: (num_nodes,) int64.
        lowest_leaf: of nodes without predecessors; 0 if there are none.
        highest_leaf: of these; -1 if there are none.
        lowest_inner: the same of the other nodes.
        highest_inner: the same of the other nodes.
    """

    numbers: np.ndarray
    lowest_leaf: int
    highest_leaf: int
    lowest_inner: int
    highest_inner: int

    @property
    def lowest(self) -> int:
        """Of all nodes."""
        return min(self.lowest_leaf, self.lowest_inner)


def ordered_index(schedule: Schedule, index: Tensor) -> OrderedIndex:
    """The index of inputs by position.

    Args:
        schedule: on the CPU.
        index: (num_nodes,) int64 on the CPU.
    """
    found = order_numbers(schedule, index)
    if found is None:
        numbers = index.numpy()[schedule.nodes_on_host]
        kinds = numbers[: schedule.num_sources], numbers[schedule.num_sources :]
        both = [(int(part.min()), int(part.max())) if len(part) else (0, -1) for part in kinds]
        return OrderedIndex(numbers, *both[0], *both[1])
    numbers, ranges = found
    return OrderedIndex(numbers, *ranges)


@untraced
def order_numbers(schedule: Schedule, numbers: Tensor) -> tuple[np.ndarray, list[int]] | None:
    """Numbers of nodes by position.

    Args:
        schedule: on the CPU.
        numbers: (num_nodes,) int64.

    Returns:
        The numbers; the lowest and the highest of those at the first level, and of the others, 0
        and -1 where there are none.
    """
    library = library_for("float")
    if library is None:
        return None
    n = schedule.num_nodes
    numbers, ordered, ranges = numbers.contiguous(), np.empty(n, np.int64), (ctypes.c_int64 * 4)()
    library.order_numbers(
        n,
        schedule.num_sources,
        schedule.packed.data_ptr(),  # nodes come first
        numbers.data_ptr(),
        pointer_to(ordered),
        ctypes.addressof(ranges),
    )
    return ordered, list(ranges)


def with_zeros(rows: Tensor, index: np.ndarray, lowest: int) -> tuple[Tensor, np.ndarray]:
    """Rows and index without -1: a row of zeros is added if need be.

    Args:
        rows: (num_rows, in_feats).
        index: numbers of rows, or -1.
        lowest: of these numbers, 0 if there are none.
    """
    if lowest >= 0:
        return rows, index
    zeros = rows.new_zeros(1, rows.shape[1])
    return torch.cat((rows, zeros)), np.where(index < 0, len(rows), index)


def take(rows: Tensor, index: np.ndarray) -> Tensor:
    """``rows[index]``, a view if the index names rows one after the other."""
    first = first_of_run(index)
    if first is None:
        return rows.index_select(0, to_device(torch.from_numpy(index), rows.device))
    return rows if len(index) == len(rows) else rows[first : first + len(index)]


def first_of_run(index: np.ndarray) -> int | None:
    """The first number, if each of the others is one more than the one before it."""
    first = int(index[0]) if len(index) else 0
    return first if np.array_equal(index, np.arange(first, first + len(index))) else None
