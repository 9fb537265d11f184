"""A stack of wide convolutions whose last layer is pooled under guidance."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from graphsent._names import unknown
from graphsent.errors import ModelError
from graphsent.layers import (
    AttentionPooling,
    BiasActivation,
    DynamicKMaxPooling,
    KMaxPooling,
    WideConv1d,
)
from graphsent.models.arguments import check_sizes
from graphsent.models.filters import Filter, row_filters
from graphsent.models.padding import padded
from graphsent.models.phrase_convolution import convolve_phrases, word_products
from graphsent.models.row_maps import RowMaps, check_layers

__all__ = ["FullMaps", "GuidedStack"]

_CONVOLUTIONS = ("full", "rowwise")
_POOLS = ("kmax", "none")
_READOUTS = ("sum", "kmax")


class FullMaps(nn.Module):
    r"""Layers of wide convolution over all channels, with dynamic k-max pooling between them.

    *Tree-LSTM Guided Attention Pooling of DCNN for Semantic Sentence Modeling* (Chen et al.),
    equations 2 and 3:

    .. math::
        c^l_t = \tanh(W_l \, \mathrm{vec}(c^{l-1}_{t:t+m_l-1}) + b_l)

    Args:
        in_channels: Length of a word vector.
        hidden: Number of maps of each layer.
        widths: :math:`m_l` of each layer.
        k_top: Least number of values that pooling keeps.
        pool: Whether there is pooling between layers.

    Shapes:
        - vectors: (num_words, in_channels)
        - result: (num_phrases, hidden, steps)
    """

    def __init__(
        self, in_channels: int, hidden: int, widths: Sequence[int], k_top: int, *, pool: bool
    ) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList()
        self.poolings = nn.ModuleList()
        self.activations = nn.ModuleList()
        for layer, width in enumerate(widths, start=1):
            self.convolutions.append(WideConv1d(in_channels, hidden, width))
            self.activations.append(BiasActivation(hidden))
            if pool and layer < len(widths):
                self.poolings.append(DynamicKMaxPooling(k_top, layer, len(widths)))
            in_channels = hidden

    def word_rows(self, vectors: Tensor) -> Tensor:
        """What each word adds to the first layer, (num_words, width * hidden)."""
        return word_products(self.convolutions[0], vectors)

    def forward(self, rows: Tensor, ranges: Tensor) -> tuple[Tensor, Tensor]:
        """The last layer's maps and their lengths.

        Args:
            rows: What :meth:`word_rows` gave.
            ranges: First and last + 1 word of each phrase, (num_phrases, 2) int64.
        """
        num_words = ranges[:, 1] - ranges[:, 0]
        x, lengths = convolve_phrases(rows, ranges, self.convolutions[0].width)
        x = self.activations[0](x, lengths)
        for layer in range(1, len(self.convolutions)):
            if self.poolings:
                x, lengths = self.poolings[layer - 1](x, lengths, num_words)
            x, lengths = self.convolutions[layer](x, lengths)
            x = self.activations[layer](x, lengths)
        return x, lengths


class GuidedStack(nn.Module):
    """Convolutions over a sentence, and one vector of the positions of the last layer.

    Args:
        in_channels: Length of a word vector.
        hidden: Number of channels of the last layer, and length of the guide.
        widths: Width of the filters of each layer.
        convolution: ``"full"``, see :class:`FullMaps`; or ``"rowwise"``, see
            :class:`~graphsent.models.row_maps.RowMaps`, whose last layer is projected to ``hidden``
            channels.
        row_maps: Number of maps of each layer with ``"rowwise"``.
        pool: ``"kmax"`` or ``"none"`` between layers; with ``"none"`` position t of the last layer
            covers the words from t minus the sum of ``width - 1`` to t.
        readout: ``"sum"``, the mean of the positions by attention; ``"kmax"``, the ``k_top``
            largest values of each channel after positions were multiplied by their weights.
        k_top: Least number of values that pooling keeps.
        temperature: Of the attention, see :class:`~graphsent.layers.AttentionPooling`.

    Raises:
        ModelError: Sizes or choices are wrong, or do not fit together.

    Shapes:
        - rows: what :meth:`word_rows` makes of word vectors, (num_words, ...)
        - ranges: first and last + 1 word of each phrase, (num_phrases, 2) int64
        - guide: (num_phrases, hidden)
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
        for name, value, valid in (
            ("convolution", convolution, _CONVOLUTIONS),
            ("pool", pool, _POOLS),
            ("readout", readout, _READOUTS),
        ):
            if value not in valid:
                raise ModelError(unknown(name, value, valid))
        check_sizes(hidden=hidden, k_top=k_top)
        if not temperature > 0:
            raise ModelError(f"temperature: expected a positive number, got {temperature}")
        self.widths = tuple(widths)
        self.projection: WideConv1d | None = None
        if convolution == "full":
            check_layers(widths, [hidden] * len(widths))
            self.layers = FullMaps(in_channels, hidden, widths, k_top, pool=pool == "kmax")
        else:
            if pool == "none":
                raise ModelError("pool='none' is a choice of convolution='full' only")
            self.layers = RowMaps(in_channels, widths, row_maps, k_top, pool_top=False)
            self.projection = WideConv1d(self.layers.num_channels, hidden, 1, bias=True)
        self.attention = AttentionPooling(temperature)
        self.top = KMaxPooling(k_top)
        self.readout = readout
        self.num_features = hidden if readout == "sum" else hidden * k_top

    def word_rows(self, vectors: Tensor) -> Tensor:
        """What is computed once for each word, (num_words, ...), from (num_words, in_channels)."""
        return self.layers.word_rows(vectors) if self.projection is None else vectors

    def first_filters(self) -> list[Filter]:
        """The filters over word vectors."""
        weight = self.layers.convolutions[0].weight.detach()
        if isinstance(self.layers, RowMaps):
            return row_filters(weight, self.layers.num_rows)
        return [
            Filter(f"map {number}", each, slice(None))
            for number, each in enumerate(weight, start=1)
        ]

    def forward(self, rows: Tensor, ranges: Tensor, guide: Tensor) -> Tensor:
        """The vectors of phrases; see the class."""
        x, lengths = self.positions(rows, ranges)
        pooled, weights = self.attention(x, lengths, guide, return_weights=True)
        if self.readout == "sum":
            return pooled
        return self.top(x * weights[:, None], lengths)[0].flatten(1)

    def without_guide(self, rows: Tensor, ranges: Tensor) -> Tensor:
        """The ``k_top`` largest values of each channel, (num_phrases, hidden * k_top)."""
        return self.top(*self.positions(rows, ranges))[0].flatten(1)

    def weights(self, rows: Tensor, ranges: Tensor, guide: Tensor) -> tuple[Tensor, Tensor]:
        """The weight of each position, (num_phrases, steps), and how many there are of each."""
        x, lengths = self.positions(rows, ranges)
        return self.attention(x, lengths, guide, return_weights=True)[1], lengths

    def positions(self, rows: Tensor, ranges: Tensor) -> tuple[Tensor, Tensor]:
        """The last layer, (num_phrases, hidden, steps), and its lengths."""
        if self.projection is None:
            return self.layers(rows, ranges)
        return self.projection(*self.layers(*padded(rows, ranges)))
