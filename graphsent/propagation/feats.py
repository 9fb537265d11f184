"""Inputs shared by several nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from graphsent.propagation.schedule.schedule import to_device


class IndexedFeat(NamedTuple):
    """Inputs of nodes as rows of a table: node n has ``rows[index[n]]``, or zeros for index -1.

    Every cell accepts it in place of a tensor, with the same results on every engine. With
    ``engine="levels"``, what depends on the row only, such as the product with the input weights,
    is computed once per row, and not at all for nodes without one.

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
        """Device of the rows."""
        return self.rows.device

    def dense(self) -> Tensor:
        """The inputs of all nodes, (num_nodes, in_feats)."""
        return take(*with_zeros(self.rows, self.index.numpy()))


def with_zeros(rows: Tensor, index: np.ndarray) -> tuple[Tensor, np.ndarray]:
    """Rows (num_rows, ...) and index (num_nodes,), with an added row of zeros for -1, if any."""
    if index.min(initial=0) >= 0:
        return rows, index
    zeros = rows.new_zeros(1, rows.shape[1])
    return torch.cat((rows, zeros)), np.where(index < 0, len(rows), index)


def take(rows: Tensor, index: np.ndarray) -> Tensor:
    """``rows[index]``, a view if the indices are consecutive."""
    first = first_of_run(index)
    if first is None:
        return rows.index_select(0, to_device(torch.from_numpy(index), rows.device))
    return rows if len(index) == len(rows) else rows[first : first + len(index)]


def first_of_run(index: np.ndarray) -> int | None:
    """The first index if all are consecutive, else None."""
    first = int(index[0]) if len(index) else 0
    return first if np.array_equal(index, np.arange(first, first + len(index))) else None
