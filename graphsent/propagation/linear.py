"""Linear maps by the matrix products of the compiled kernels."""

from __future__ import annotations

import ctypes
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from graphsent.kernels.library import contiguous, kernels_for, loaded_kernels, threads_for
from graphsent.kernels.structures import Linear
from graphsent.propagation.autocast import autocast_enabled
from graphsent.propagation.gradients import ReverseMode, is_batched, save, saved
from graphsent.propagation.memory import empty
from graphsent.propagation.untraced import untraced

FEWEST = 1 << 23
"""Multiplications below which torch is called: calling the kernels takes some 10 us longer."""


@untraced
def linear(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    r"""``torch.nn.functional.linear``, :math:`x W^\top + b`, faster on many CPUs.

    Args:
        rows: x, (num_rows, in_feats).
        weight: W, (out_feats, in_feats).
        bias: B, (out_feats,); zero by default.

    Returns:
        (num_rows, out_feats).
    """
    fits = (  # else torch raises the error
        rows.dim() == weight.dim() == 2
        and rows.shape[1] == weight.shape[1]
        and (bias is None or bias.shape == weight.shape[:1])
    )
    large = fits and len(rows) * weight.numel() >= FEWEST
    if large and not autocast_enabled("cpu") and kernels_for(rows, weight, bias):
        return _Linear.apply(rows, weight, bias)
    return functional.linear(rows, weight, bias)


class _Linear(ReverseMode):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        # Like torch, save only what the gradients need: the rest may be freed or changed in place.
        of_rows, of_weight, _ = ctx.needs_input_grad
        save(ctx, rows if of_weight else None, weight if of_rows else None)
        ctx.in_feats = rows.shape[1]
        sums = empty(len(rows), len(weight), like=rows)
        _run("forward", ctx.in_feats, inputs=rows, weight=weight, bias=bias, sums=sums)
        return sums

    @staticmethod
    @untraced
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        rows, weight = saved(ctx)
        of_rows, of_weight, of_bias = ctx.needs_input_grad
        if torch.is_grad_enabled() or is_batched(gradient):  # differentiable, or without memory
            return (
                gradient @ weight if of_rows else None,
                gradient.t() @ rows if of_weight else None,
                gradient.sum(0) if of_bias else None,
            )
        num_rows, columns = gradient.shape
        drows = empty(num_rows, ctx.in_feats, like=gradient) if of_rows else None
        dweight = empty(columns, ctx.in_feats, like=gradient) if of_weight else None
        dbias = empty(columns, like=gradient) if of_bias else None
        named = {"dinputs": drows, "dweight": dweight, "dbias": dbias}
        _run("backward", ctx.in_feats, inputs=rows, weight=weight, sums=gradient, **named)
        return drows, dweight, dbias


def _run(name: str, in_feats: int, *, sums: Tensor, **others: Tensor | None) -> None:
    """Calls ``linear_forward`` or ``linear_backward``, which fill their output tensors."""
    num_rows, columns = sums.shape
    call = Linear(num_rows, in_feats, columns, threads_for(num_rows), 0, columns)
    named = {"sums": sums, **others}
    tensors = dict(zip(named, contiguous(list(named.values())), strict=True))
    library, pointer = loaded_kernels(sums), ctypes.byref(call)
    workspace = empty(library.linear_numbers(pointer, name == "backward"), like=sums)
    call.point(**tensors, workspace=workspace)
    getattr(library, f"linear_{name}")(pointer)
