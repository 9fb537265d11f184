"""The pointwise part of TreeNet's compositor: from sums to states, and back."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from graphsent.propagation.fused import Block, Product
from graphsent.propagation.fused_slots import SlotLevel
from graphsent.propagation.pointwise import (
    add_through_output,
    by_slot,
    logistic_derivative,
    tanh_of,
)


class Composition:
    r"""Rule of TreeNet's compositor, for ``run_slots`` with two slots s and c.

    .. math::
        c = \sigma(g_s) * c_s + \sigma(g_c) * c_c, \qquad h = \sigma(o) * \tanh(c)

    with the sums :math:`g_s, g_c, o` in this order in the rows of the weight and in the inputs.

    Args:
        size: of a state.
    """

    num_parts = 2
    num_kept = 1
    order = (Block(0, 0), Block(1, 1), Block(2, 2))
    products = (Product(0, order),)
    late = None
    direct = (1,)
    compiled = "composition"

    def __init__(self, size: int) -> None:
        self.size = size

    def forward(self, level: SlotLevel, states: Sequence[Tensor]) -> None:
        """See ``SlotRule``."""
        h, c = states
        level.sums.sigmoid_()
        sibling, child = level.slots[1].unbind(1)
        torch.mul(level.gates[0], sibling, out=c)
        c.addcmul_(level.gates[1], child)
        tanh_of(c, out=level.kept)
        torch.mul(level.gates[2], level.kept, out=h)

    def backward(self, level: SlotLevel, gradients: Sequence[Tensor], into: SlotLevel) -> None:
        """See ``SlotRule``."""
        dh, dc = gradients
        tanh_c = level.kept
        add_through_output(level.gates[2], tanh_c, dh, dc)
        logistic_derivative(level.sums, out=into.sums)
        into.gates[2].mul_(tanh_c).mul_(dh)
        through_c, by_gate = slice(0, 2 * self.size), dc.unsqueeze(1)
        by_slot(into.sums[:, through_c], 2).mul_(level.slots[1]).mul_(by_gate)
        torch.mul(by_slot(level.sums[:, through_c], 2), by_gate, out=into.slots[1])
