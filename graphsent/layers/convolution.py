"""One-dimensional convolution over sentences of different lengths."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from graphsent._names import check_choice
from graphsent._numbers import check_sizes
from graphsent.layers.activation import ACTIVATIONS, check_activation
from graphsent.layers.correlation import METHODS, correlate
from graphsent.layers.errors import LayerError
from graphsent.layers.lengths import check_batch, zero_beyond


class _Conv1d(nn.Module):
    """What wide and narrow convolution share."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        width: int,
        *,
        rows: int = 1,
        fold: bool = False,
        bias: bool = False,
        activation: str = "identity",
        method: str = "auto",
    ) -> None:
        super().__init__()
        check_sizes(
            LayerError, in_channels=in_channels, out_channels=out_channels, width=width, rows=rows
        )
        _check_rows(in_channels, out_channels, rows, fold)
        check_activation(activation)
        check_choice("method", method, METHODS, LayerError)
        self.in_channels = in_channels
        self.out_channels = out_channels // 2 if fold else out_channels
        self.width = width
        self.rows = rows
        self.fold = fold
        self.activation = activation
        self.method = method
        self.weight = nn.Parameter(torch.empty(out_channels, in_channels // rows, width))
        self.bias = nn.Parameter(torch.empty(self.out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws from U(-1/sqrt(n), 1/sqrt(n)), n the fan-in, as ``torch.nn.Conv1d`` does."""
        bound = 1 / math.sqrt(self.weight[0].numel())
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def filters(self) -> tuple[Tensor, int]:
        """The weight of a grouped convolution, and its number of groups.

        Returns:
            (out_channels, in_channels / groups, width), and the number of rows, or of pairs of rows
            if they are folded.
        """
        if not self.fold:
            return self.weight, self.rows
        # The sum of two rows is one group with the inputs of both.
        pairs = self.weight.unflatten(0, (self.rows // 2, 2, -1)).transpose(1, 2)
        return pairs.flatten(2, 3).flatten(0, 1), self.rows // 2

    def _finish(self, y: Tensor, new_lengths: Tensor) -> tuple[Tensor, Tensor]:
        if self.bias is not None:
            y = y + self.bias[:, None]
        return ACTIVATIONS[self.activation](zero_beyond(y, new_lengths)), new_lengths

    def extra_repr(self) -> str:
        """The sizes, and options other than the default."""
        parts = [f"{self.in_channels}, {self.out_channels}, width={self.width}"]
        parts += [f"rows={self.rows}"] * (self.rows != 1) + ["fold=True"] * self.fold
        parts += ["bias=True"] * (self.bias is not None)
        parts += [f"activation={self.activation!r}"] * (self.activation != "identity")
        parts += [f"method={self.method!r}"] * (self.method != "auto")
        return ", ".join(parts)


def _check_rows(in_channels: int, out_channels: int, rows: int, fold: bool) -> None:
    for name, size in (("in_channels", in_channels), ("out_channels", out_channels)):
        if size % rows:
            raise LayerError(f"expected {name} to be a multiple of rows = {rows}, got {size}")
    if fold and rows % 2:
        raise LayerError(f"expected an even number of rows to fold, got {rows}")


def _at_least(num_steps: int, x: Tensor) -> Tensor:
    """``x`` (batch, channels, time), padded with zeros to at least ``num_steps`` steps."""
    missing = num_steps - x.shape[2]
    return functional.pad(x, (0, missing)) if missing > 0 else x


class WideConv1d(_Conv1d):
    r"""Convolution over every overlap of filter and sentence: s words give s + m - 1 steps.

    `A Convolutional Neural Network for Modelling Sentences <https://aclanthology.org/P14-1062>`_
    (Kalchbrenner et al. 2014), sections 3.1 and 3.5: row r of map j is

    .. math::
        y_{j,r,t} = f\left(b_{j,r} + \sum_q \sum_{a=1}^{m} w_{j,q,r,a}\, x_{q,r,t-m+a}\right),
        \qquad t = 1, \ldots, s + m - 1

    where x is zero outside the sentence, and q runs over the maps of x. Filters are not flipped.
    With ``rows=1``, every output depends on every input (full convolution). In the DCNN, rows are
    the dimensions of the embedding, each with its own filters; folding and pooling come before bias
    and activation, which are a separate layer, :class:`~graphsent.layers.BiasActivation`.

    A sentence of length 0 stays empty. Values of x beyond the lengths of the sentences are ignored,
    and y is zero beyond the new lengths, also with bias and activation.

    Channels are numbered row by row: ``channel = row * maps + map``. The parameters are those of
    ``torch.nn.Conv1d`` with ``groups=rows``.

    Args:
        in_channels: Rows times maps of x.
        out_channels: Rows times maps of y.
        width: m.
        rows: Number of rows, which do not mix.
        fold: Whether rows 2i - 1 and 2i are added before the bias
            (:class:`~graphsent.layers.Folding`); y then has half of ``out_channels``.
        bias: Whether there is a bias.
        activation: f: ``"identity"``, ``"tanh"`` or ``"relu"``.
        method: How sums are computed: ``"direct"``, ``"fft"`` (by Fourier transforms, equal up to
            rounding), or ``"auto"``, the faster of the two: transforms for filters of at least 16
            steps in a batch of 50, of at least 24 with eight rows or more
            (:func:`~graphsent.layers.correlation.faster_method`).

    Raises:
        LayerError: An option is unknown, or sizes and options do not fit together.

    Shapes:
        - x: (batch, in_channels, time)
        - lengths, new lengths: (batch,) int64
        - w (``weight``): (out_channels, in_channels / rows, m)
        - y: (batch, out_channels, time + m - 1), half of the channels with ``fold``

    Example:
        >>> import torch
        >>> conv = WideConv1d(1, 1, 3)
        >>> _ = conv.load_state_dict({"weight": torch.tensor([[[1.0, 0.0, -1.0]]])})
        >>> y, new_lengths = conv(torch.tensor([[[1.0, 2.0, 3.0]]]), torch.tensor([3]))
        >>> y.tolist(), new_lengths.tolist()
        ([[[-1.0, -2.0, -2.0, 2.0, 3.0]]], [5])
    """

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Convolves: (batch, in_channels, time) -> (batch, out_channels, time + m - 1).

        Returns:
            y and the new lengths, s + m - 1 for s > 0, otherwise 0.
        """
        check_batch(x, lengths, self.in_channels)
        margin = self.width - 1
        new_lengths = torch.where(lengths > 0, lengths + margin, 0)
        padded = _at_least(1, zero_beyond(x, lengths))  # a batch of empty sentences has no steps
        y = correlate(padded, lengths, *self.filters(), margin=margin, method=self.method)
        return self._finish(y[:, :, : x.shape[2] + margin], new_lengths)


class NarrowConv1d(_Conv1d):
    r"""Convolution over full overlaps of filter and sentence: s words give s - m + 1 steps.

    .. math::
        y_{j,r,t} = f\left(b_{j,r} + \sum_q \sum_{a=1}^{m} w_{j,q,r,a}\, x_{q,r,t+a-1}\right),
        \qquad t = 1, \ldots, \max(1, s - m + 1)

    where x is zero beyond the sentence: one of fewer than m words is padded with zeros to m, and
    gives a single step. A sentence of length 0 stays empty.

    With one row per dimension of the embedding and ``activation="tanh"``, this is the first layer
    of the Max-TDNN (Collobert and Weston 2008); with ``rows=1`` and ``"relu"``, that of the network
    of Kim (2014). Arguments, errors and parameters are those of
    :class:`~graphsent.layers.WideConv1d`.

    Shapes:
        - x: (batch, in_channels, time)
        - lengths, new lengths: (batch,) int64
        - w (``weight``): (out_channels, in_channels / rows, m)
        - y: (batch, out_channels, max(1, time - m + 1)), half of the channels with ``fold``

    Example:
        >>> import torch
        >>> conv = NarrowConv1d(1, 1, 3)
        >>> _ = conv.load_state_dict({"weight": torch.tensor([[[1.0, 10.0, 100.0]]])})
        >>> x = torch.tensor([[[1.0, 2.0, 3.0, 4.0]], [[5.0, 6.0, 0.0, 0.0]]])
        >>> y, new_lengths = conv(x, torch.tensor([4, 2]))
        >>> y.squeeze(1).tolist(), new_lengths.tolist()
        ([[321.0, 432.0], [65.0, 0.0]], [2, 1])
    """

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Convolves: (batch, in_channels, time) -> (batch, out_channels, max(1, time - m + 1)).

        Returns:
            y and the new lengths, max(1, s - m + 1) for s > 0, otherwise 0.
        """
        check_batch(x, lengths, self.in_channels)
        margin = self.width - 1
        new_lengths = torch.where(lengths > 0, (lengths - margin).clamp(min=1), 0)
        padded = _at_least(self.width, zero_beyond(x, lengths))
        y = correlate(padded, lengths, *self.filters(), margin=0, method=self.method)
        return self._finish(y, new_lengths)
