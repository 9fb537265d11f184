"""The pointwise part of the Tree-LSTMs: from sums to states, and back."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from graphsent.propagation.fused import Block, tanh_
from graphsent.propagation.fused_edges import Segments


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

    def forward(self, gates: Tensor, c: Tensor, h: Tensor, tanh_c: Tensor) -> None:
        """Adds to ``c``, which holds m; fills ``h`` and ``tanh_c``."""
        i, u, *o = gates.split(self.size, -1)
        c.addcmul_(i, u, value=2).sub_(i)
        tanh_(tanh_c.copy_(c))
        if self.gate_output:
            torch.mul(o[0], tanh_c, out=h)
        else:
            h.copy_(tanh_c)

    def memory_gradient(self, gates: Tensor, tanh_c: Tensor, dh: Tensor, dc: Tensor) -> None:
        """Adds to ``dc``, the gradient of c, what comes through h."""
        square = tanh_c * tanh_c
        if self.gate_output:
            o = gates[:, 2 * self.size :]
            torch.addcmul(o, o, square, value=-1, out=square)
            dc.addcmul_(dh, square)
        else:
            dc.add_(dh).addcmul_(dh, square, value=-1)

    def backward(
        self, gates: Tensor, tanh_c: Tensor, dh: Tensor, dc: Tensor, dgates: Tensor
    ) -> None:
        """Gradients of the sums i, u, o from those of h and, in all, of c.

        ``dgates`` holds the derivatives of the logistic function.
        """
        i, u, *_ = gates.split(self.size, -1)
        di, du, *do = dgates.split(self.size, -1)
        tanh_u = torch.mul(u, 2).sub_(1)
        di.mul_(tanh_u).mul_(dc)
        du.mul_(i).mul_(dc).mul_(4)  # the logistic function of twice the sum, times two
        if self.gate_output:
            do[0].mul_(tanh_c).mul_(dh)


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
    direct = (1,)

    def __init__(
        self, size: int, count: int, *, gate_output: bool = True, shared_forget: bool = True
    ) -> None:
        self.size = size
        self.count = count
        self.gates = LSTMGates(size, gate_output)
        first = 3 if gate_output else 2
        forget = [Block(first + k, first if shared_forget else first + k) for k in range(count)]
        self.order = (*forget, *self.gates.order)
        self.products = ((0, self.order),)

    def forward(
        self, sums: Tensor, slots: Sequence[Tensor], states: Sequence[Tensor], kept: Tensor
    ) -> None:
        """See :class:`SlotRule`."""
        sums.sigmoid_()
        h, c = states
        forget, gates = self._split(sums)
        memory = slots[1].unbind(1)
        parts = forget.split(self.size, -1)
        torch.mul(parts[0], memory[0], out=c)
        for k in range(1, self.count):
            c.addcmul_(parts[k], memory[k])
        self.gates.forward(gates, c, h, kept)

    def backward(
        self,
        note: None,
        saved: tuple[Tensor, Sequence[Tensor], Tensor],
        gradients: Sequence[Tensor],
        dsums: Tensor,
        dslots: Sequence[Tensor],
    ) -> None:
        """See :class:`SlotRule`."""
        sums, slots, tanh_c = saved
        dh, dc = gradients
        forget, gates = self._split(sums)
        dforget, dgates = self._split(dsums)
        self.gates.memory_gradient(gates, tanh_c, dh, dc)
        torch.addcmul(sums, sums, sums, value=-1, out=dsums)
        self.gates.backward(gates, tanh_c, dh, dc, dgates)
        shape = (self.count, self.size)
        dforget.unflatten(-1, shape).mul_(slots[1]).mul_(dc.unsqueeze(1))
        torch.mul(forget.unflatten(-1, shape), dc.unsqueeze(1), out=dslots[1])

    def _split(self, columns: Tensor) -> tuple[Tensor, ...]:
        forget = self.count * self.size
        return columns[:, :forget], columns[:, forget:]


class ChildSumLSTM:
    r"""Rule of the child-sum Tree-LSTM, for :func:`run_edges`.

    .. math::
        c = \sigma(i) * \tanh(u) + \textstyle\sum_k \sigma(f_k) * c_k, \qquad
        h = \sigma(o) * \tanh(c)

    The sums i, o, u are in this order in the rows of the weight, which is applied to the sum of
    the predecessors' h, and in the columns of the inputs, where f is the last.

    Args:
        size: of a state.
        gate_output: whether there is an output gate; :math:`h = \tanh(c)` otherwise.
    """

    num_parts = 2
    num_pooled = 2
    num_kept = 1
    direct = (1,)

    def __init__(self, size: int, *, gate_output: bool = True) -> None:
        self.size = size
        self.gates = LSTMGates(size, gate_output)
        self.order = self.gates.order
        self.edge_order = (Block(0, len(self.order)),)
        self.products = ((0, self.order),)

    def pool(
        self,
        sums: Tensor,
        sources: Sequence[Tensor],
        segments: Segments,
        pooled: Sequence[Tensor],
    ) -> None:
        """See :class:`EdgeRule`."""
        segments.sum(sources[0], out=pooled[0])
        segments.sum(sums.sigmoid_() * sources[1], out=pooled[1])

    def pool_backward(
        self,
        saved: tuple[Tensor, Sequence[Tensor]],
        segments: Segments,
        dpooled: Sequence[Tensor],
        dsums: Tensor,
        dsources: Sequence[Tensor],
    ) -> None:
        """See :class:`EdgeRule`."""
        forget, sources = saved
        dh, dc = dsources
        segments.expand(dpooled[0], out=dh)
        segments.expand(dpooled[1], out=dc)
        torch.addcmul(forget, forget, forget, value=-1, out=dsums)
        dsums.mul_(sources[1]).mul_(dc)
        dc.mul_(forget)

    def update(
        self, sums: Tensor, pooled: Sequence[Tensor], states: Sequence[Tensor], kept: Tensor
    ) -> None:
        """See :class:`EdgeRule`."""
        h, c = states
        c.copy_(pooled[1])
        self.gates.forward(sums.sigmoid_(), c, h, kept)

    def update_backward(
        self,
        saved: tuple[Tensor, Sequence[Tensor], Tensor],
        gradients: Sequence[Tensor],
        dsums: Tensor,
        dpooled: Sequence[Tensor],
    ) -> None:
        """See :class:`EdgeRule`."""
        sums, _, tanh_c = saved
        dh, dc = gradients
        self.gates.memory_gradient(sums, tanh_c, dh, dc)
        torch.addcmul(sums, sums, sums, value=-1, out=dsums)
        self.gates.backward(sums, tanh_c, dh, dc, dsums)
        dpooled[1].copy_(dc)
