"""The states of nodes without predecessors, in compiled code: one pass over the sums."""

from __future__ import annotations

import ctypes
from typing import Any

from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx

from graphsent.kernels.library import (
    contiguous,
    kernels_for,
    kernels_of,
    needs_gradients,
    threads_for,
)
from graphsent.kernels.structures import Structure, fields
from graphsent.propagation.gradients import by_hand
from graphsent.propagation.memory import empty
from graphsent.propagation.pointwise import lstm_state


class Leaves(Structure):
    """``struct leaves`` of ``kernels/leaves.h``."""

    _fields_ = fields(
        "has_output size num_rows num_threads", "sums h c gates kept dh dc dsums workspace affine"
    )


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
    return _CompiledLeaves.apply(gate_output, needs_gradients(sums), sums.contiguous())


def _plain(ctx: Any, sums: Tensor) -> tuple[Tensor, Tensor]:
    return lstm_state(sums, gate_output=ctx.gate_output)


class _CompiledLeaves(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, gate_output: bool, keep: bool, sums: Tensor
    ) -> tuple[Tensor, Tensor]:
        num_rows, size = len(sums), sums.shape[1] // (2 + gate_output)
        h, c = (empty(num_rows, size, like=sums) for _ in range(2))
        gates, kept = (
            (empty(*sums.shape, like=sums), empty(num_rows, size, like=sums))
            if keep
            else (None, None)
        )
        leaves = Leaves(gate_output, size, num_rows, threads_for(num_rows))
        unused = empty(leaves.num_threads, sums.shape[1] + size, like=sums)
        leaves.point(sums=sums, h=h, c=c, gates=gates, kept=kept, workspace=unused)
        kernels_of(sums).leaves_forward(ctypes.byref(leaves))
        ctx.gate_output = gate_output
        ctx.save_for_backward(sums, gates, kept)
        return h, c

    @staticmethod
    @by_hand(_plain, num_options=2)
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        _, gates, kept = contiguous(ctx.saved_tensors)
        dh, dc = contiguous(gradients)
        num_rows, size = kept.shape
        dsums = empty(*gates.shape, like=gates)
        leaves = Leaves(gates.shape[1] // size - 2, size, num_rows, threads_for(num_rows))
        leaves.point(gates=gates, kept=kept, dh=dh, dc=dc, dsums=dsums)
        kernels_of(gates).leaves_backward(ctypes.byref(leaves))
        return None, None, dsums
