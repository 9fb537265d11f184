"""Row-wise convolution layers, as in the DCNN."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from torch import Tensor, nn
from torch.nn import functional

from graphsent.errors import ModelError
from graphsent.layers import BiasActivation, DynamicKMaxPooling, WideConv1d
from graphsent.layers.phrase_convolution import convolve, keep_largest
from graphsent.models.arguments import check_sizes

__all__ = ["LayerMaps", "RowMaps", "check_layers"]


class LayerMaps(NamedTuple):
    """The maps of a layer, for several sentences.

    Attributes:
        values: (num_steps, rows * maps), after pooling, bias and non-linearity; the concatenated
            steps of all sentences.
        ranges: Their ranges, (num_sentences, 2) int64.
        positions: (num_steps, rows * maps), the position of each value in the sentence's
            convolution, from 0; None if the layer does not pool.
    """

    values: Tensor
    ranges: Tensor
    positions: Tensor | None


class RowMaps(nn.Module):
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
        - rows: word vectors, (num_vectors, num_rows)
        - ranges: half-open word range of each sentence, (num_sentences, 2) int64
        - words: the row of each word, (num_words,) int64; by default one row per word, in order
        - result: (num_steps, ``num_channels``), the concatenated steps of all sentences, channels
          ``row * maps + map``; and their ranges, (num_sentences, 2) int64. With ``pool_top`` a
          sentence has ``k_top`` steps, or all if there are fewer.
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
        self.k_top = k_top
        self.added_rows = rows - num_rows
        self.convolutions: Any = nn.ModuleList()
        self.poolings: Any = nn.ModuleList()
        self.activations: Any = nn.ModuleList()
        before = 1
        for layer, (width, num_maps) in enumerate(zip(widths, maps, strict=True), start=1):
            convolution = WideConv1d(rows * before, rows * num_maps, width, rows=rows, fold=fold)
            self.convolutions.append(convolution)
            if pool_top or layer < len(widths):
                self.poolings.append(DynamicKMaxPooling(k_top, layer, len(widths)))
            self.activations.append(BiasActivation(convolution.out_channels))
            rows, before = rows // 2 if fold else rows, num_maps
        self.num_channels = rows * before

    def forward(
        self, rows: Tensor, ranges: Tensor, words: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The last layer's maps and their ranges."""
        for layer in self.trace(rows, ranges, words):
            rows, ranges, _ = layer
        return rows, ranges

    def trace(
        self, rows: Tensor, ranges: Tensor, words: Tensor | None = None
    ) -> Iterator[LayerMaps]:
        """The maps of each layer; arguments as in :meth:`forward`."""
        num_words = ranges[:, 1] - ranges[:, 0]
        x = rows if words is None else rows.index_select(0, words)
        x = functional.pad(x, (0, self.added_rows)) if self.added_rows else x
        for layer, convolution in enumerate(self.convolutions):
            x, ranges = convolve(x, ranges, *convolution.filters())
            positions = None
            if layer < len(self.poolings):
                k = self.poolings[layer].counts(num_words)
                x, ranges, positions = keep_largest(x, ranges, k)
            x = self.activations[layer].of_rows(x)
            yield LayerMaps(x, ranges, positions)


def check_layers(widths: Sequence[int], maps: Sequence[int]) -> None:
    """Raises a ModelError unless there is one width and one number of maps per layer."""
    if not widths or len(widths) != len(maps):
        raise ModelError(
            f"expected one width and one number of maps per layer, got widths={list(widths)} and "
            f"maps={list(maps)}"
        )
    for width, num_maps in zip(widths, maps, strict=True):
        check_sizes(widths=width, maps=num_maps)
