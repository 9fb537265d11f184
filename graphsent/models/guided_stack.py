"""A stack of wide convolutions whose last layer is pooled under guidance."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from graphsent.errors import ModelError
from graphsent.layers import AttentionPooling, DynamicKMaxPooling, KMaxPooling, WideConv1d
from graphsent.models.arguments import check_sizes
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
        - x: (batch, in_channels, time)
        - result: (batch, hidden, steps)
    """

    def __init__(
        self, in_channels: int, hidden: int, widths: Sequence[int], k_top: int, *, pool: bool
    ) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList()
        self.poolings = nn.ModuleList()
        for layer, width in enumerate(widths, start=1):
            self.convolutions.append(
                WideConv1d(in_channels, hidden, width, bias=True, activation="tanh")
            )
            if pool and layer < len(widths):
                self.poolings.append(DynamicKMaxPooling(k_top, layer, len(widths)))
            in_channels = hidden

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """The last layer's maps and their lengths."""
        num_words = lengths
        for layer, convolution in enumerate(self.convolutions):
            x, lengths = convolution(x, lengths)
            if layer < len(self.poolings):
                x, lengths = self.poolings[layer](x, lengths, num_words)
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
        - x: (batch, in_channels, time)
        - guide: (batch, hidden)
        - result: (batch, ``num_features``)
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
                raise ModelError(f"unknown {name} {value!r}: expected one of {', '.join(valid)}")
        check_sizes(hidden=hidden, k_top=k_top)
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

    def forward(self, x: Tensor, lengths: Tensor, guide: Tensor) -> Tensor:
        """The vectors of sentences; see the class."""
        x, lengths = self.positions(x, lengths)
        pooled, weights = self.attention(x, lengths, guide, return_weights=True)
        if self.readout == "sum":
            return pooled
        return self.top(x * weights[:, None], lengths)[0].flatten(1)

    def without_guide(self, x: Tensor, lengths: Tensor) -> Tensor:
        """The ``k_top`` largest values of each channel, (batch, hidden * k_top)."""
        return self.top(*self.positions(x, lengths))[0].flatten(1)

    def weights(self, x: Tensor, lengths: Tensor, guide: Tensor) -> tuple[Tensor, Tensor]:
        """The weight of each position, (batch, steps), and their number, (batch,) int64."""
        x, lengths = self.positions(x, lengths)
        return self.attention(x, lengths, guide, return_weights=True)[1], lengths

    def positions(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """The last layer, (batch, hidden, steps), and its lengths."""
        x, lengths = self.layers(x, lengths)
        return (x, lengths) if self.projection is None else self.projection(x, lengths)
