"""The pointwise part of the GRU over sequences: from sums to states, and back."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from graphsent.propagation.fused import Block, Product
from graphsent.propagation.fused_slots import SlotLevel
from graphsent.propagation.pointwise import logistic_derivative


class SequenceGRU:
    r"""Rule of ``torch.nn.GRU``, which resets after the product, for ``run_slots`` with one slot.

    .. math::
        \tilde h = \tanh(x + \sigma(r) * s), \qquad
        h = (1 - \sigma(z)) * \tilde h + \sigma(z) * h_{t-1}

    The sums r, z, s are in this order in the rows of the weight; x, which is behind them in the
    bias, is of the inputs alone. The inputs are r, z, x.

    Args:
        size: of a state.
    """

    num_parts = 1
    num_kept = 0
    # tanh by the logistic function of twice the sum
    order = (Block(0, 0), Block(1, 1), Block(2, None, 2.0), Block(3, 2, 2.0))
    products = (Product(0, order[:3]),)
    late = None
    direct = (0,)
    compiled = "gru"

    def __init__(self, size: int) -> None:
        self.size = size

    def forward(self, level: SlotLevel, states: Sequence[Tensor]) -> None:
        """See ``SlotRule``."""
        (h,), before = states, level.slots[0][:, 0]
        r, z, s, x = level.gates
        level.sums[:, : 2 * self.size].sigmoid_()
        x.addcmul_(r, s).sigmoid_()
        torch.mul(x, 2, out=h).sub_(1)
        torch.lerp(h, before, z, out=h)

    def backward(self, level: SlotLevel, gradients: Sequence[Tensor], into: SlotLevel) -> None:
        """See ``SlotRule``."""
        (dh,), before, dbefore = gradients, level.slots[0][:, 0], into.slots[0][:, 0]
        r, z, s, candidate = level.gates
        dr, dz, ds, dx = into.gates
        torch.mul(dh, z, out=dbefore)
        logistic_derivative(z, out=dz)
        dz.mul_(torch.add(before, candidate, alpha=-2).add_(1)).mul_(dh)
        logistic_derivative(candidate, out=dx)
        dx.mul_(torch.sub(dh, dbefore)).mul_(4)
        torch.mul(dx, r, out=ds)
        logistic_derivative(r, out=dr)
        dr.mul_(s).mul_(dx).mul_(0.5)  # s comes doubled
