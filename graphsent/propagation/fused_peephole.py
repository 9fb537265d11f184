"""The pointwise part of the Tree-LSTMs with peepholes: from sums to states, and back."""

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


class PeepholeLSTM:
    r"""Rule of the Tree-LSTMs with peepholes, for ``run_slots``.

    .. math::
        c = \sigma(i) * \tanh(g) + \textstyle\sum_k \sigma(f_k) * c_k, \qquad
        h = \sigma(o) * \tanh(c)

    The sums are i, :math:`f_1, \dots, f_N`, g, o in this order in the rows of the first weight,
    which is applied to h in the slots; the second one is applied to c there and gives i and
    :math:`f_1, \dots, f_N`; the late one is applied to the new c and gives o. The inputs are i, f,
    g, o, with one f for all, or one for each.

    Args:
        size: of a state.
        count: number of forget gates: that of the slots, or 1 for all of them together.
        shared_forget: whether the inputs have one f for all forget gates.
    """

    num_parts = 2
    num_kept = 1
    direct = (1,)
    compiled = "peephole"

    def __init__(self, size: int, count: int, *, shared_forget: bool = True) -> None:
        self.size = size
        self.count = count
        after = 1 if shared_forget else count  # blocks of f in the inputs
        forget = tuple(Block(1 + k, 1 + min(k, after - 1)) for k in range(count))
        early = (*forget, Block(0, 0))
        update = Block(count + 1, after + 1, 2.0)  # the logistic function of twice the sum
        self.order = (*early, update, Block(count + 2, after + 2))
        self.products = (Product(0, self.order), Product(1, early))
        self.late = Product(1, (Block(0, 0),), first=count + 2)

    def forward(self, level: SlotLevel, states: Sequence[Tensor]) -> None:
        """See ``SlotRule``."""
        self._early(level.sums).sigmoid_()
        c, memory = states[1], level.slots[1]
        i, g = level.gates[self.count], level.gates[self.count + 1]
        if self.count > 1:
            torch.mul(level.gates[0], memory[:, 0], out=c)
            for k in range(1, self.count):
                c.addcmul_(level.gates[k], memory[:, k])
        else:
            torch.sum(memory, 1, out=c).mul_(level.gates[0])
        c.addcmul_(i, g, value=2).sub_(i)

    def finish(self, level: SlotLevel, states: Sequence[Tensor]) -> None:
        """See ``SlotRule``."""
        h, c = states
        tanh_of(c, out=level.kept)
        torch.mul(level.gates[-1].sigmoid_(), level.kept, out=h)

    def finish_backward(
        self, level: SlotLevel, gradients: Sequence[Tensor], into: SlotLevel
    ) -> None:
        """See ``SlotRule``."""
        dh, dc = gradients
        o, tanh_c = level.gates[-1], level.kept
        add_through_output(o, tanh_c, dh, dc)
        logistic_derivative(o, out=into.gates[-1])
        into.gates[-1].mul_(tanh_c).mul_(dh)

    def backward(self, level: SlotLevel, gradients: Sequence[Tensor], into: SlotLevel) -> None:
        """See ``SlotRule``."""
        dc = gradients[1]
        i, g = level.gates[self.count], level.gates[self.count + 1]
        early = self._early(into.sums)
        logistic_derivative(self._early(level.sums), out=early)
        forget, memory = by_slot(into.sums[:, : self.count * self.size], self.count), level.slots[1]
        forget.mul_(memory if self.count > 1 else memory.sum(1, keepdim=True))
        into.gates[self.count].mul_(torch.mul(g, 2).sub_(1))
        into.gates[self.count + 1].mul_(i).mul_(4)
        by_slot(early, self.count + 2).mul_(dc.unsqueeze(1))
        gates = by_slot(level.sums[:, : self.count * self.size], self.count)
        torch.mul(gates, dc.unsqueeze(1).expand_as(memory), out=into.slots[1])

    def _early(self, sums: Tensor) -> Tensor:
        """The columns of all gates but o."""
        return sums[:, : -self.size]
