"""Layers of convolution over the words of many sentences, with pooling between them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from torch import Tensor, nn

from graphsent.errors import ModelError
from graphsent.layers import BiasActivation, DynamicKMaxPooling, WideConv1d
from graphsent.layers.phrase_convolution import keep_largest
from graphsent.models.arguments import check_sizes
from graphsent.models.encoders.filters import FilterEncoder

__all__ = ["LayerMaps", "PooledLayers", "check_layers"]


class LayerMaps(NamedTuple):
    """The maps of a layer, for several sentences.

    Attributes:
        values: (num_steps, channels), after pooling, bias and non-linearity; the concatenated steps
            of all sentences.
        ranges: Their ranges, (num_sentences, 2) int64.
        positions: (num_steps, channels), the position of each value in the sentence's convolution,
            from 0; None if the layer does not pool.
    """

    values: Tensor
    ranges: Tensor
    positions: Tensor | None


class PooledLayers(FilterEncoder):
    """Base class of layers of wide convolution, dynamic k-max pooling, bias and tanh.

    Args:
        convolutions: The convolution of each layer.
        num_pooled: Number of layers that pool: the first ones.
        k_top: Number of values that the last layer keeps if it pools, and the minimum in all
            others.

    Raises:
        ModelError: ``k_top`` is not positive.

    Shapes:
        - rows: word vectors, (num_rows, in_channels)
        - ranges: half-open word range of each sentence, (num_sentences, 2) int64
        - words: the row of each word, (num_words,) int64; by default one row per word, in order
        - result: (num_steps, channels), the concatenated steps of all sentences; and their ranges,
          (num_sentences, 2) int64
    """

    def __init__(self, convolutions: Sequence[WideConv1d], num_pooled: int, k_top: int) -> None:
        super().__init__()
        check_sizes(k_top=k_top)
        self.convolutions: Any = nn.ModuleList(convolutions)
        self.poolings: Any = nn.ModuleList(
            DynamicKMaxPooling(k_top, layer, len(convolutions))
            for layer in range(1, num_pooled + 1)
        )
        self.activations: Any = nn.ModuleList(
            BiasActivation(convolution.out_channels) for convolution in convolutions
        )

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
        x = rows
        for layer, convolution in enumerate(self.convolutions):
            x, ranges = self._convolve(convolution, x, ranges, None if layer else words)
            positions = None
            if layer < len(self.poolings):
                # Monotone activations preserve the order of values: applied after, they cost less.
                k = self.poolings[layer].counts(num_words)
                x, ranges, positions = keep_largest(x, ranges, k)
            x = self.activations[layer].of_rows(x)
            yield LayerMaps(x, ranges, positions)

    @abstractmethod
    def _convolve(
        self, convolution: WideConv1d, x: Tensor, ranges: Tensor, words: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """The convolution of one layer, without bias, and its ranges."""


def check_layers(widths: Sequence[int], maps: Sequence[int]) -> None:
    """Raises a ModelError unless there is one width and one number of maps per layer."""
    if not widths or len(widths) != len(maps):
        raise ModelError(
            f"expected one width and one number of maps per layer, got widths={list(widths)} and "
            f"maps={list(maps)}"
        )
    for width, num_maps in zip(widths, maps, strict=True):
        check_sizes(widths=width, maps=num_maps)
