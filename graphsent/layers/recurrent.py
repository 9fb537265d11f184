"""``torch.nn.LSTM`` and ``torch.nn.GRU`` on the engine of the cells."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import torch
from torch import Tensor, nn
from torch.nn import functional

from graphsent.layers.chained import Fewest, Recurrent


class LSTM(Recurrent, nn.LSTM):
    r"""``torch.nn.LSTM`` on the engine of the cells, with the same arguments, weights and results.

    .. math::
        c_t = \sigma(f_t) * c_{t-1} + \sigma(i_t) * \tanh(g_t), \qquad
        h_t = \sigma(o_t) * \tanh(c_t)

    with the sums i, f, g, o of :math:`W x_t + b + U h_{t-1} + b'`. It differs from torch's in
    speed, and in that a padded batch can be passed with lengths.

    What the engine does not support falls back to torch, with the same results: projections
    (``proj_size``), devices and dtypes without compiled kernels, autocast, tracing and compiling.
    With ``engine="auto"``, so does what is faster in torch: training on one sequence, and inference
    on batches without padding or of fewer than 16 steps. Only ``torch.jit.script``,
    ``torch.fx.symbolic_trace``, and batched gradients of the engine (``vectorize=True``), are
    errors.

    Args:
        *args: Positional arguments of ``torch.nn.LSTM``.
        engine: ``"auto"``, ``"levels"`` (the engine, if it supports the layer) or ``"torch"``.
        **options: Keyword arguments of ``torch.nn.LSTM``.

    Raises:
        LayerError: The engine is unknown; in ``forward``, the lengths do not fit the batch.

    Shapes:
        - ``input``: (time, batch, input_size), with ``batch_first`` (batch, time, input_size);
          (time, input_size) for one sequence; or a ``PackedSequence``
        - ``hx``: h and c before the first step, each (layers * directions, batch, hidden_size);
          zeros by default
        - ``lengths``: lengths of a padded batch, (batch,) int64, from 1 to time; time by default
        - result: h of the last layer, shaped as the input, with directions * hidden_size features,
          zero beyond the lengths; and h and c after the last step, shaped as ``hx``

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
    r"""``torch.nn.GRU`` on the engine of the cells, with the same arguments, weights and results.

    .. math::
        n_t = \tanh(W_n x_t + b_n + \sigma(r_t) * (U_n h_{t-1} + b'_n)), \qquad
        h_t = (1 - \sigma(z_t)) * n_t + \sigma(z_t) * h_{t-1}

    with the sums r, z of :math:`W x_t + b + U h_{t-1} + b'`. All else is as in :class:`LSTM`,
    except that a state is only h, and that torch is faster for inference without padding only up to
    31 steps, and for training up to 3 steps, for any number of sequences.

    Args:
        *args: Positional arguments of ``torch.nn.GRU``.
        engine: See :class:`LSTM`.
        **options: Keyword arguments of ``torch.nn.GRU``.

    Raises:
        LayerError: The engine is unknown; in ``forward``, the lengths do not fit the batch.

    Shapes:
        As in :class:`LSTM`, with h alone as ``hx`` and as the state after the last step

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
        return (n + torch.sigmoid(z + t) * (h - n),)

    def _divided(self, weights: Sequence[Tensor]) -> tuple[Tensor | None, Sequence[Tensor]]:
        return (weights[2] if self.bias else None), weights[1:4:2]
