"""A stack of wide convolutions with guided attention pooling of the last layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from graphsent._names import check_choice
from graphsent.errors import ModelError
from graphsent.graphs.spans import sum_of_rows
from graphsent.layers import AttentionPooling, WideConv1d
from graphsent.layers.phrase_convolution import stacked_largest, word_products
from graphsent.models.arguments import check_sizes
from graphsent.models.encoders.filters import Filter, FilterEncoder
from graphsent.models.encoders.full_maps import FullMaps
from graphsent.models.encoders.row_maps import RowMaps

__all__ = ["GuidedStack"]

_CONVOLUTIONS = ("full", "rowwise")
_POOLS = ("kmax", "none")
_READOUTS = ("sum", "kmax")


class GuidedStack(FilterEncoder):
    """Convolutions over a sentence, with the positions of the last layer pooled to one vector.

    Args:
        in_channels: Size of the word vectors.
        hidden: Number of channels of the last layer, and size of the guide.
        widths: Filter width of each layer.
        convolution: ``"full"``, see :class:`~graphsent.models.encoders.full_maps.FullMaps`; or
            ``"rowwise"``, see :class:`~graphsent.models.encoders.row_maps.RowMaps`, whose last
            layer is projected to ``hidden`` channels.
        row_maps: Number of feature maps of each layer with ``"rowwise"``.
        pool: Pooling between layers, ``"kmax"`` or ``"none"``; with ``"none"`` position t of the
            last layer covers the words from t minus the sum of ``width - 1`` to t.
        readout: ``"sum"``, the attention-weighted mean of the positions; or ``"kmax"``, the
            ``k_top`` largest values of each channel of the weighted positions.
        k_top: Minimum number of values that pooling keeps.
        temperature: Temperature of the attention, see :class:`~graphsent.layers.AttentionPooling`.

    Raises:
        ModelError: Sizes or choices are invalid or incompatible.

    Shapes:
        - rows: word vectors, (num_rows, in_channels)
        - ranges: half-open word range of each phrase, (num_phrases, 2) int64
        - guide: (num_phrases, hidden)
        - words: the row of each word, (num_words,) int64; by default one row per word, in order
        - result: (num_phrases, ``num_features``)
    """

    def __init__(
        self,
        in_channels: int,
        hidden: int,
        widths: Sequence[int],
        *,
        convolution: str,
        row_maps: Sequence[int],
        pool: str,
        readout: str,
        k_top: int,
        temperature: float,
    ) -> None:
        super().__init__()
        check_choice("convolution", convolution, _CONVOLUTIONS, ModelError)
        check_choice("pool", pool, _POOLS, ModelError)
        check_choice("readout", readout, _READOUTS, ModelError)
        check_sizes(hidden=hidden)
        if not temperature > 0:
            raise ModelError(f"temperature: expected a positive number, got {temperature}")
        self.widths = tuple(widths)
        self.layers: FullMaps | RowMaps
        self.projection: Any = None
        if convolution == "full":
            self.layers = FullMaps(in_channels, hidden, widths, k_top, pool=pool == "kmax")
        else:
            if pool == "none":
                raise ModelError(f"pool='none' needs convolution='full', got {convolution!r}")
            self.layers = RowMaps(in_channels, widths, row_maps, k_top, pool_top=False)
            self.projection = WideConv1d(self.layers.num_channels, hidden, 1, bias=True)
        self.attention = AttentionPooling(temperature)
        self.k_top = k_top
        self.readout = readout
        self.num_features = hidden if readout == "sum" else hidden * k_top

    def first_filters(self) -> list[Filter]:
        """The filters over word vectors."""
        return self.layers.first_filters()

    def forward(
        self, rows: Tensor, ranges: Tensor, guide: Tensor | None, words: Tensor | None = None
    ) -> Tensor:
        """The vectors of phrases; see the class.

        Without a guide, they are the ``k_top`` largest values of each channel, (num_phrases, hidden
        * k_top).
        """
        x, steps = self.positions(rows, ranges, words)
        if guide is None:
            return self._largest(x, steps)
        weights = self.attention.weights(x, steps, guide)
        weighted = x * weights[:, None]
        if self.readout == "kmax":
            return self._largest(weighted, steps)
        return sum_of_rows(
            weighted, torch.arange(len(x), device=x.device), steps[:, 0].contiguous()
        )

    def weights(
        self, rows: Tensor, ranges: Tensor, guide: Tensor, words: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The weight of each position, (num_positions,), and the positions per phrase."""
        x, steps = self.positions(rows, ranges, words)
        return self.attention.weights(x, steps, guide), steps[:, 1] - steps[:, 0]

    def positions(
        self, rows: Tensor, ranges: Tensor, words: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The last layer, (num_positions, hidden), and the range of each phrase."""
        x, steps = self.layers(rows, ranges, words)
        if self.projection is not None:
            x = word_products(self.projection, x) + self.projection.bias
        return x, steps

    def _largest(self, x: Tensor, steps: Tensor) -> Tensor:
        """The ``k_top`` largest values of each channel, padded with zeros."""
        return stacked_largest(x, steps, self.k_top).transpose(1, 2).flatten(1)
