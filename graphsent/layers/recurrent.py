"""``torch.nn.LSTM`` and ``torch.nn.GRU`` by the engine of the cells."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import torch
from torch import Tensor, nn
from torch.nn import functional

from graphsent.layers.chained import Fewest, Recurrent


class LSTM(Recurrent, nn.LSTM):
    r"""``torch.nn.LSTM``, its arguments, weights and results, by generated walks over chains.

    .. math::
        c_t = \sigma(f_t) * c_{t-1} + \sigma(i_t) * \tanh(g_t), \qquad
        h_t = \sigma(o_t) * \tanh(c_t)

    with the sums i, f, g, o of :math:`W x_t + b + U h_{t-1} + b'`. It differs from torch's in how
    fast it is, and in that a padded batch may come with lengths.

    What the engine does not do runs in torch, with the same results: projections (``proj_size``),
    devices and types of numbers without compiled kernels, autocast, tracing and compiling. So
    does, with ``engine="auto"``, what is faster there: passes with gradients over one sequence, and
    passes without gradients over batches without padding, or of less than 16 steps.

    Args:
        *args: those of ``torch.nn.LSTM``, as are other options.
        engine: ``"auto"``; ``"levels"``, the engine wherever it can; or ``"torch"``, its own code.

    Raises:
        LayerError: there is no such engine; or lengths are not those of the batch.

    Shapes:
        - ``input``: (time, batch, input_size), with ``batch_first`` (batch, time, input_size);
          (time, input_size) for one sequence; or a ``PackedSequence``
        - ``hx``: h and c before the first step, each (layers * directions, batch, hidden_size);
          zeros by default
        - ``lengths``: (batch,) int64, 1 to time, of a padded batch; all of time by default
        - result: the h of the last layer, as the input, directions * hidden_size wide and zero
          beyond the lengths; and h and c after the last step, shaped as ``hx``

    Example:
        >>> import torch
        >>> lstm = LSTM(4, 3, batch_first=True, bidirectional=True)
        >>> output, (h, c) = lstm(torch.randn(2, 5, 4), lengths=torch.tensor([5, 2]))
        >>> output.shape, h.shape, bool(output[1, 2:].any())
        (torch.Size([2, 5, 6]), torch.Size([2, 2, 3]), False)
    """

    _fewest = Fewest(full=inf, mixed=16, gradients=1, alone=inf)

    _num_parts = 2

    @staticmethod
    def _step(state: Sequence[Tensor], x: Tensor, weight: Tensor) -> Sequence[Tensor]:
        h, c = state
        i, f, g, o = (x + functional.linear(h, weight)).chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c

    def _divided(self, weights: Sequence[Tensor]) -> tuple[Tensor | None, Sequence[Tensor]]:
        return (weights[2] + weights[3] if self.bias else None), weights[1:2]


class GRU(Recurrent, nn.GRU):
    r"""``torch.nn.GRU``, its arguments, weights and results, by generated walks over chains.

    .. math::
        n_t = \tanh(W_n x_t + b_n + \sigma(r_t) * (U_n h_{t-1} + b'_n)), \qquad
        h_t = (1 - \sigma(z_t)) * n_t + \sigma(z_t) * h_{t-1}

    with the sums r, z of :math:`W x_t + b + U h_{t-1} + b'`. All else is as in :class:`LSTM`, but
    that a state is h alone, and that torch is faster at forward passes without padding only up to
    31 steps, and with gradients up to 3, whatever the number of sequences.

    Args:
        *args: those of ``torch.nn.GRU``, as are other options.
        engine: see :class:`LSTM`.

    Raises:
        LayerError: there is no such engine; or lengths are not those of the batch.

    Example:
        >>> import torch
        >>> output, h = GRU(4, 3)(torch.randn(5, 2, 4))
        >>> output.shape, h.shape
        (torch.Size([5, 2, 3]), torch.Size([1, 2, 3]))
    """

    _fewest = Fewest(full=32, mixed=16, gradients=4, alone=4)

    _num_parts = 1

    @staticmethod
    def _step(
        state: Sequence[Tensor], x: Tensor, weight: Tensor, bias: Tensor | None = None
    ) -> Sequence[Tensor]:
        (h,) = state
        r, z, n = x.chunk(3, -1)
        s, t, m = functional.linear(h, weight, bias).chunk(3, -1)
        n = torch.tanh(n + torch.sigmoid(r + s) * m)
        return (torch.lerp(n, h, torch.sigmoid(z + t)),)

    def _divided(self, weights: Sequence[Tensor]) -> tuple[Tensor | None, Sequence[Tensor]]:
        return (weights[2] if self.bias else None), weights[1:4:2]
