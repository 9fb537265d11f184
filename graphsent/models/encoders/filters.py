"""What a convolution's filters over word vectors look like from outside."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from torch import Tensor, nn

__all__ = ["Filter", "FilterEncoder", "row_filters"]


class Filter(NamedTuple):
    """A filter over windows of word vectors.

    Attributes:
        name: Short name, for instance ``"map 3, row 17"``.
        weight: (rows, width), the coefficients; a window's score is the sum of the coefficients
            times the word vectors' elements in these rows.
        rows: The elements of the word vector that it looks at.
    """

    name: str
    weight: Tensor
    rows: slice

    @property
    def width(self) -> int:
        """How many words a window has."""
        return self.weight.shape[1]


class FilterEncoder(nn.Module, ABC):
    """What gives the vectors of sentences by filters over their words."""

    @abstractmethod
    def first_filters(self) -> list[Filter]:
        """The filters over word vectors."""


def row_filters(weight: Tensor, num_rows: int) -> list[Filter]:
    """The filters of a convolution whose rows do not mix, by map and row.

    Args:
        weight: (rows * maps, 1, width), as in :class:`~graphsent.layers.WideConv1d`.
        num_rows: The number of rows of word vectors; filters of rows after these are left out.
    """
    rows = weight.detach().unflatten(0, (-1, len(weight) // num_rows)) if num_rows else weight
    return [
        Filter(f"map {each + 1}, row {row + 1}", rows[row, each], slice(row, row + 1))
        for each in range(rows.shape[1])
        for row in range(num_rows)
    ]
