"""Maps of convolution whose rows do not mix, as in the DCNN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor, nn
from torch.nn import functional

from graphsent.errors import ModelError
from graphsent.layers import BiasActivation, DynamicKMaxPooling, WideConv1d
from graphsent.models.arguments import check_sizes

__all__ = ["PooledLayer", "RowMaps", "check_layers"]


class PooledLayer(NamedTuple):
    """What a layer selected.

    Attributes:
        values: (batch, rows * maps, steps), after bias and non-linearity, zeros beyond the lengths.
        lengths: (batch,) int64, how many steps were selected.
        positions: (batch, rows * maps, steps) int64, where each stood in the convolution, from 0;
            -1 beyond the lengths.
    """

    values: Tensor
    lengths: Tensor
    positions: Tensor


class RowMaps(nn.Module):
    r"""Layers of wide convolution, folding, dynamic k-max pooling, bias and tanh.

    `A Convolutional Neural Network for Modelling Sentences <https://aclanthology.org/P14-1062>`_
    (Kalchbrenner et al. 2014), section 3. Row r of map j of layer l is

    .. math::
        F^l_{j,r} = \tanh\Bigl(b^l_{j,r} + \mathrm{kmax}_{k_l}\bigl(
            Z^l_{j,2r-1} + Z^l_{j,2r}\bigr)\Bigr), \qquad
        Z^l_{j,r} = \sum_q W^l_{j,q,r} * F^{l-1}_{q,r}

    with :math:`F^0` the word vectors, one row for each element. Where the number of rows cannot be
    halved in every layer, rows of zeros are added at the end.

    Args:
        num_rows: Length of a word vector.
        widths: Width of the filters of each layer.
        maps: Number of maps of each layer.
        k_top: How many values the last layer keeps, and no other less.
        fold: Whether pairs of rows are added up, in each layer.
        pool_top: Whether the last layer pools.

    Shapes:
        - x: (batch, num_rows, time)
        - result: (batch, ``num_channels``, steps), channels ``row * maps + map``; with ``pool_top``
          there are ``k_top`` steps, zeros beyond those that a short sentence has.
    """

    def __init__(
        self,
        num_rows: int,
        widths: Sequence[int],
        maps: Sequence[int],
        k_top: int,
        *,
        fold: bool = True,
        pool_top: bool = True,
    ) -> None:
        super().__init__()
        check_layers(widths, maps)
        check_sizes(k_top=k_top)
        halves = 2 ** len(widths) if fold else 1
        rows = -(-num_rows // halves) * halves
        self.num_rows = num_rows
        self.added_rows = rows - num_rows
        self.convolutions = nn.ModuleList()
        self.poolings = nn.ModuleList()
        self.activations = nn.ModuleList()
        before = 1
        for layer, (width, num_maps) in enumerate(zip(widths, maps, strict=True), start=1):
            convolution = WideConv1d(rows * before, rows * num_maps, width, rows=rows, fold=fold)
            self.convolutions.append(convolution)
            if pool_top or layer < len(widths):
                self.poolings.append(DynamicKMaxPooling(k_top, layer, len(widths)))
            self.activations.append(BiasActivation(convolution.out_channels))
            rows, before = rows // 2 if fold else rows, num_maps
        self.num_channels = rows * before

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """The last layer's maps and their lengths."""
        num_words = lengths
        x = self._with_added_rows(x)
        for layer, convolution in enumerate(self.convolutions):
            x, lengths = convolution(x, lengths)
            if layer < len(self.poolings):
                x, lengths = self.poolings[layer](x, lengths, num_words)
            x = self.activations[layer](x, lengths)
        return x, lengths

    def trace(self, x: Tensor, lengths: Tensor) -> list[PooledLayer]:
        """What each layer selected; for layers that all pool."""
        num_words = lengths
        x = self._with_added_rows(x)
        layers = []
        modules = zip(self.convolutions, self.poolings, self.activations, strict=True)
        for convolution, pooling, activation in modules:
            x, lengths = convolution(x, lengths)
            x, lengths, positions = pooling(x, lengths, num_words, return_positions=True)
            x = activation(x, lengths)
            layers.append(PooledLayer(x, lengths, positions))
        return layers

    def _with_added_rows(self, x: Tensor) -> Tensor:
        return functional.pad(x, (0, 0, 0, self.added_rows)) if self.added_rows else x


def check_layers(widths: Sequence[int], maps: Sequence[int]) -> None:
    """Raises a ModelError unless there is a width and a number of maps for each layer."""
    if not widths or len(widths) != len(maps):
        raise ModelError(
            f"expected a width and a number of maps for each layer, got widths={list(widths)} and "
            f"maps={list(maps)}"
        )
    for width, num_maps in zip(widths, maps, strict=True):
        check_sizes(widths=width, maps=num_maps)
