"""Row-wise convolution layers, as in the DCNN."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor
from torch.nn import functional

from graphsent.layers import WideConv1d
from graphsent.layers.phrase_convolution import convolve
from graphsent.models.encoders.filters import Filter, row_filters
from graphsent.models.encoders.pooled_layers import PooledLayers, check_layers

__all__ = ["RowMaps"]


class RowMaps(PooledLayers):
    r"""Layers of wide convolution, folding, dynamic k-max pooling, bias and tanh.

    `A Convolutional Neural Network for Modelling Sentences <https://aclanthology.org/P14-1062>`_
    (Kalchbrenner et al. 2014), section 3. Row r of map j of layer l is

    .. math::
        F^l_{j,r} = \tanh\Bigl(b^l_{j,r} + \mathrm{kmax}_{k_l}\bigl(
            Z^l_{j,2r-1} + Z^l_{j,2r}\bigr)\Bigr), \qquad
        Z^l_{j,r} = \sum_q W^l_{j,q,r} * F^{l-1}_{q,r}

    with :math:`F^0` the word vectors, one row per element. If the number of rows cannot be halved
    in every layer, zero rows are appended.

    Args:
        num_rows: Size of the word vectors.
        widths: Filter width of each layer.
        maps: Number of feature maps of each layer.
        k_top: Number of values that the last layer keeps, and the minimum in all others.
        fold: Whether to sum pairs of adjacent rows in each layer.
        pool_top: Whether the last layer pools.

    Shapes:
        As those of :class:`~graphsent.models.encoders.pooled_layers.PooledLayers`, with word
        vectors of size ``num_rows`` and channels ``row * maps + map``. With ``pool_top`` a sentence
        has ``k_top`` steps, or all if there are fewer.
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
        check_layers(widths, maps)
        halves = 2 ** len(widths) if fold else 1
        rows = -(-num_rows // halves) * halves
        before, convolutions = 1, []
        for width, num_maps in zip(widths, maps, strict=True):
            sizes = rows * before, rows * num_maps, width
            convolutions.append(WideConv1d(*sizes, rows=rows, fold=fold))
            rows, before = rows // 2 if fold else rows, num_maps
        super().__init__(convolutions, len(widths) - (not pool_top), k_top)
        self.num_rows = num_rows
        self.k_top = k_top
        self.num_channels = rows * before

    def first_filters(self) -> list[Filter]:
        """The filters of the first layer, one per map and row."""
        return row_filters(self.convolutions[0], self.num_rows)

    def _convolve(
        self, convolution: WideConv1d, x: Tensor, ranges: Tensor, words: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        x = x if words is None else x.index_select(0, words)
        added = convolution.in_channels - x.shape[1]  # in the first layer
        x = functional.pad(x, (0, added)) if added else x
        return convolve(x, ranges, *convolution.filters())
