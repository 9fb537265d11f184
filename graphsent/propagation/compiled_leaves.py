"""The states of nodes without predecessors, in compiled code: one pass over the sums."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx

from graphsent.propagation.compiled import (
    Arguments,
    contiguous,
    fields,
    kernels_for,
    needs_gradients,
    threads_for,
)
from graphsent.propagation.gradients import first_order
from graphsent.propagation.memory import empty


class Leaves(Arguments):
    """``struct leaves`` of ``kernels/leaves.h``."""

    _fields_ = fields(
        "has_output size num_rows num_threads", "sums h c gates kept dh dc dsums workspace"
    )

    @classmethod
    def forward(cls, gate_output: bool, sums: Tensor, keep: bool) -> tuple[Leaves, list[Tensor]]:
        """The arguments; and what they fill: h, c and, to ``keep``, gates and tanh(c).

        The caller keeps all tensors, those that go in and those that come out.
        """
        num_rows, size = len(sums), sums.shape[1] // (2 + gate_output)
        filled = [empty(num_rows, size, like=sums) for _ in range(3 if keep else 2)]
        if keep:
            filled.insert(2, empty(*sums.shape, like=sums))
        leaves = cls(gate_output, size, num_rows, threads_for(num_rows))
        leaves.point(sums=sums, **dict(zip(("h", "c", "gates", "kept"), filled, strict=False)))
        return leaves, filled

    @classmethod
    def backward(cls, gates: Tensor, kept: Tensor, *gradients: Tensor) -> tuple[Leaves, Tensor]:
        """The arguments, and what they fill: the gradient of the sums; all kept by the caller."""
        num_rows, size = kept.shape
        dsums = empty(*gates.shape, like=gates)
        leaves = cls(gates.shape[1] // size - 2, size, num_rows, threads_for(num_rows))
        leaves.point(gates=gates, kept=kept, dsums=dsums)
        leaves.point(**dict(zip(("dh", "dc"), gradients, strict=True)))
        return leaves, dsums


def lstm_leaves(sums: Tensor, gate_output: bool = True) -> tuple[Tensor, Tensor] | None:
    r"""The states h and c of a Tree-LSTM's nodes without predecessors.

    .. math::
        c = \sigma(i) * \tanh(u), \qquad h = \sigma(o) * \tanh(c)

    Args:
        sums: i, o, u, in this order, (num_rows, 3 * size).
        gate_output: with False there is no o, and :math:`h = \tanh(c)`.

    Returns:
        h and c, (num_rows, size); None where there is no compiled code for it.
    """
    if not kernels_for(sums):
        return None
    return _CompiledLeaves.apply(gate_output, needs_gradients(sums), sums)


class _CompiledLeaves(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, gate_output: bool, keep: bool, sums: Tensor
    ) -> tuple[Tensor, Tensor]:
        sums = sums.contiguous()
        leaves, (h, c, *kept) = Leaves.forward(gate_output, sums, keep)
        leaves.run("leaves", sums, backward=False)
        ctx.save_for_backward(*kept)
        return h, c

    @staticmethod
    @first_order
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        gates, kept = ctx.saved_tensors
        given = contiguous(gradients)
        leaves, dsums = Leaves.backward(gates, kept, *given)
        leaves.run("leaves", gates, backward=True)
        return None, None, dsums
