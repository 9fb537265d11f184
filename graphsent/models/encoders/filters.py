"""The interface to a convolution's filters over word vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from torch import Tensor, nn

from graphsent.layers import NarrowConv1d, WideConv1d

__all__ = ["Filter", "FilterEncoder", "row_filters"]


class Filter(NamedTuple):
    """A filter over windows of word vectors.

    Attributes:
        name: Short name, such as ``"map 3, row 17"``.
        weight: (rows, width), the coefficients; the score of a window is the sum of their products
            with the word vectors' elements in these rows.
        rows: The elements of the word vectors that the filter reads.
    """

    name: str
    weight: Tensor
    rows: slice

    @property
    def width(self) -> int:
        """The number of words in a window."""
        return self.weight.shape[1]


class FilterEncoder(nn.Module, ABC):
    """Base class of encoders that apply filters to the words of sentences."""

    @abstractmethod
    def first_filters(self) -> list[Filter]:
        """The filters over word vectors."""


def row_filters(convolution: WideConv1d | NarrowConv1d, num_rows: int) -> list[Filter]:
    """The filters of a row-wise convolution over word vectors, by map and row.

    Args:
        convolution: The convolution, with one input channel per row.
        num_rows: Number of rows of the word vectors; filters of further rows are omitted.
    """
    rows = convolution.weight.detach().unflatten(0, (convolution.rows, -1))
    return [
        Filter(f"map {each + 1}, row {row + 1}", rows[row, each], slice(row, row + 1))
        for each in range(rows.shape[1])
        for row in range(num_rows)
    ]
