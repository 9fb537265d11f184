"""The states of leaves in compiled code: product, gates and state in one pass."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx

from graphsent.propagation.compiled import Arguments, fields, kernels_for
from graphsent.propagation.gradients import first_order
from graphsent.propagation.memory import empty


class _Leaves(Arguments):
    """``struct leaves`` of ``kernels/leaves.h``."""

    _fields_ = fields(
        "has_output size in_size num_rows num_threads",
        "rows weight bias h c gates kept dh dc dsums drows dweight dbias workspace",
    )


def lstm_leaves(
    rows: Tensor, weight: Tensor, bias: Tensor, gate_output: bool = True
) -> tuple[Tensor, Tensor] | None:
    r"""The states h and c of a Tree-LSTM's nodes without predecessors.

    .. math::
        c = \sigma(i) * \tanh(u), \qquad h = \sigma(o) * \tanh(c)

    Args:
        rows: inputs, (num_rows, in_feats).
        weight: of i, o, u, in this order, (3 * size, in_feats).
        bias: (3 * size,).
        gate_output: with False there is no o, and :math:`h = \tanh(c)`.

    Returns:
        h and c, (num_rows, size); None where there is no compiled code for it.
    """
    tensors = (rows, weight, bias)
    if not len(rows) or not kernels_for(*tensors):
        return None
    keep = torch.is_grad_enabled() and any(part.requires_grad for part in tensors)
    return _CompiledLeaves.apply(gate_output, keep, *tensors)


class _CompiledLeaves(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, gate_output: bool, keep: bool, *tensors: Tensor
    ) -> tuple[Tensor, Tensor]:
        rows, weight, bias = (part.contiguous() for part in tensors)
        size, num_rows = len(weight) // (2 + gate_output), len(rows)
        h, c = (empty(num_rows, size, like=rows) for _ in range(2))
        kept = [
            empty(num_rows, k * size, like=rows) if keep else None for k in (2 + gate_output, 1)
        ]
        leaves = _Leaves(gate_output, size, rows.shape[1], num_rows, torch.get_num_threads())
        leaves.point(rows=rows, weight=weight, bias=bias, h=h, c=c, gates=kept[0], kept=kept[1])
        leaves.run("leaves", rows, backward=False)
        ctx.gate_output = gate_output
        if keep:
            ctx.save_for_backward(rows, weight, *kept)
        return h, c

    @staticmethod
    @first_order
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        rows, weight, gates, kept = ctx.saved_tensors
        dstates = [part.contiguous() for part in gradients]
        drows = empty(*rows.shape, like=rows) if ctx.needs_input_grad[2] else None
        dsums, dbias = empty(*gates.shape, like=rows), weight.new_zeros(len(weight))
        dweight = empty(*weight.shape, like=weight)
        leaves = _Leaves(
            ctx.gate_output, kept.shape[1], rows.shape[1], len(rows), torch.get_num_threads()
        )
        leaves.point(rows=rows, weight=weight, gates=gates, kept=kept)
        leaves.point(dh=dstates[0], dc=dstates[1], dsums=dsums, drows=drows)
        leaves.point(dweight=dweight, dbias=dbias)
        leaves.run("leaves", rows, backward=True)
        return None, None, drows, dweight, dbias
