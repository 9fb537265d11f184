"""The pointwise part of the Tree-LSTMs: from sums to states, and back."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from graphsent.propagation.fused import Block, Product
from graphsent.propagation.fused_slots import SlotLevel
from graphsent.propagation.pointwise import add_through_output, logistic_derivative, tanh_of


class LSTMGates:
    r"""The gates i, u and o of a Tree-LSTM, and the state made of them.

    .. math::
        c = m + \sigma(i) * \tanh(u), \qquad h = \sigma(o) * \tanh(c)

    with m what the forget gates leave of the memory. Gates are side by side in the order i, u, o;
    the sum of u comes doubled, so that all of them are logistic: :math:`\tanh(u) = 2 \sigma(2u) -
    1`. What is kept for the backward pass are the gates and :math:`\tanh(c)`.

    Args:
        size: of a state.
        gate_output: whether there is an output gate; :math:`h = \tanh(c)` otherwise.
    """

    def __init__(self, size: int, gate_output: bool) -> None:
        self.size = size
        self.gate_output = gate_output
        # The cells have them in the order i, o, u.
        update = 2 if gate_output else 1
        self.order = (Block(0, 0), Block(update, update, 2.0), Block(1, 1))[: 2 + gate_output]

    def forward(self, gates: Sequence[Tensor], c: Tensor, h: Tensor, tanh_c: Tensor) -> None:
        """Adds to ``c``, which holds m; fills ``h`` and ``tanh_c``."""
        c.addcmul_(gates[0], gates[1], value=2).sub_(gates[0])
        tanh_of(c, out=tanh_c)
        if self.gate_output:
            torch.mul(gates[2], tanh_c, out=h)
        else:
            h.copy_(tanh_c)

    def memory_gradient(
        self, gates: Sequence[Tensor], tanh_c: Tensor, dh: Tensor, dc: Tensor
    ) -> None:
        """Adds to ``dc``, the gradient of c, what comes through h."""
        if self.gate_output:
            add_through_output(gates[2], tanh_c, dh, dc)
        else:
            dc.add_(dh).addcmul_(dh, tanh_c * tanh_c, value=-1)

    def backward(
        self, gates: Sequence[Tensor], tanh_c: Tensor, dh: Tensor, dgates: Sequence[Tensor]
    ) -> None:
        """Gradients of the sums, those of i and u still to be multiplied by that of c.

        ``dgates`` holds the derivatives of the logistic function.
        """
        dgates[0].mul_(torch.mul(gates[1], 2).sub_(1))
        dgates[1].mul_(gates[0]).mul_(4)  # the logistic function of twice the sum, times two
        if self.gate_output:
            dgates[2].mul_(tanh_c).mul_(dh)


class NaryLSTM:
    r"""Rule of the N-ary Tree-LSTM, for :func:`run_slots`.

    .. math::
        c = \sigma(i) * \tanh(u) + \textstyle\sum_k \sigma(f_k) * c_k, \qquad
        h = \sigma(o) * \tanh(c)

    with the sums i, o, u, :math:`f_1, \dots, f_N` in this order in the rows of the weight. The
    inputs have columns for i, o, u and f, shared by all forget gates, or for each as the weight.

    Args:
        size: of a state.
        count: N.
        gate_output: whether there is an output gate; :math:`h = \tanh(c)` otherwise.
        shared_forget: whether the inputs have one block for all forget gates.
    """

    num_parts = 2
    num_kept = 1
    late = None
    direct = (1,)
    compiled = "nary"

    def __init__(
        self, size: int, count: int, *, gate_output: bool = True, shared_forget: bool = True
    ) -> None:
        self.size = size
        self.count = count
        self.gates = LSTMGates(size, gate_output)
        first = 3 if gate_output else 2
        forget = [Block(first + k, first if shared_forget else first + k) for k in range(count)]
        self.order = (*forget, *self.gates.order)
        self.products = (Product(0, self.order),)

    def forward(self, level: SlotLevel, states: Sequence[Tensor]) -> None:
        """See :class:`SlotRule`."""
        level.sums.sigmoid_()
        h, c = states
        memory = level.slots[1].unbind(1)
        torch.mul(level.gates[0], memory[0], out=c)
        for k in range(1, self.count):
            c.addcmul_(level.gates[k], memory[k])
        self.gates.forward(level.gates[self.count :], c, h, level.kept)

    def backward(self, level: SlotLevel, gradients: Sequence[Tensor], into: SlotLevel) -> None:
        """See :class:`SlotRule`."""
        dh, dc = gradients
        gates = level.gates[self.count :]
        self.gates.memory_gradient(gates, level.kept, dh, dc)
        logistic_derivative(level.sums, out=into.sums)
        self.gates.backward(gates, level.kept, dh, into.gates[self.count :])
        # The forget gates come first, then i and u.
        forget, through_c = self.count * self.size, (self.count + 2) * self.size
        shape, by_gate = (self.count, self.size), dc.unsqueeze(1)
        into.sums[:, :forget].unflatten(1, shape).mul_(level.slots[1])
        into.sums[:, :through_c].unflatten(1, (-1, self.size)).mul_(by_gate)
        torch.mul(level.sums[:, :forget].unflatten(1, shape), by_gate, out=into.slots[1])
