"""Convolution layers over all channels, as in AP-DCNN."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from graphsent.layers import WideConv1d
from graphsent.layers.phrase_convolution import sum_windows, word_products
from graphsent.models.encoders.filters import Filter
from graphsent.models.encoders.pooled_layers import PooledLayers, check_layers

__all__ = ["FullMaps"]


class FullMaps(PooledLayers):
    r"""Layers of wide convolution over all channels, with dynamic k-max pooling between them.

    *Tree-LSTM Guided Attention Pooling of DCNN for Semantic Sentence Modeling* (Chen et al.),
    equations 2 and 3:

    .. math::
        c^l_t = \tanh(W_l \, \mathrm{vec}(c^{l-1}_{t:t+m_l-1}) + b_l)

    Args:
        in_channels: Size of the word vectors.
        hidden: Number of feature maps of each layer.
        widths: Filter width :math:`m_l` of each layer.
        k_top: Minimum number of values that pooling keeps.
        pool: Whether to pool between layers.
    """

    def __init__(
        self, in_channels: int, hidden: int, widths: Sequence[int], k_top: int, *, pool: bool
    ) -> None:
        check_layers(widths, [hidden] * len(widths))
        sizes = zip([in_channels, *[hidden] * (len(widths) - 1)], widths, strict=True)
        convolutions = [WideConv1d(before, hidden, width) for before, width in sizes]
        super().__init__(convolutions, len(widths) - 1 if pool else 0, k_top)

    def first_filters(self) -> list[Filter]:
        """The filters of the first layer, one per map."""
        return [
            Filter(f"map {number}", each, slice(None))
            for number, each in enumerate(self.convolutions[0].weight.detach(), start=1)
        ]

    def _convolve(
        self, convolution: WideConv1d, x: Tensor, ranges: Tensor, words: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        return sum_windows(word_products(convolution, x), ranges, convolution.width, words)
