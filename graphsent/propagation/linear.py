"""Linear maps by the products of the compiled kernels."""

from __future__ import annotations

import ctypes
from typing import Any

from torch import Tensor
from torch.autograd import Function
from torch.nn import functional

from graphsent.kernels.library import contiguous, kernels_for, kernels_of, threads_for
from graphsent.kernels.structures import Linear
from graphsent.propagation.autocast import autocast_enabled
from graphsent.propagation.gradients import by_hand
from graphsent.propagation.memory import empty
from graphsent.propagation.untraced import untraced

FEWEST = 1 << 23
"""Products of numbers below which torch is called: calling the kernels takes some 10 us longer."""


@untraced
def linear(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    r"""What ``torch.nn.functional.linear`` gives, :math:`x W^\top + b`, in less time on many CPUs.

    Args:
        rows: x, (num_rows, in_feats).
        weight: W, (out_feats, in_feats).
        bias: b, (out_feats,); zero by default.

    Returns:
        (num_rows, out_feats).
    """
    if _fits(rows, weight, bias) and kernels_for(rows, weight, bias):
        return _Linear.apply(rows, weight, bias)
    return functional.linear(rows, weight, bias)


def _fits(rows: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    """Whether these are two large matrices; what is no linear map is left to torch, to say so."""
    return (
        rows.dim() == weight.dim() == 2
        and rows.shape[1] == weight.shape[1]
        and (bias is None or bias.shape == weight.shape[:1])
        and len(rows) * weight.numel() >= FEWEST
        and not autocast_enabled("cpu")
    )


def _plain(_: Any, rows: Tensor, weight: Tensor, bias: Tensor | None) -> tuple[Tensor]:
    return (functional.linear(rows, weight, bias),)


class _Linear(Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(rows, weight, bias)
        sums = empty(len(rows), len(weight), like=rows)
        _run("forward", rows, weight, bias=bias, sums=sums)
        return sums

    @staticmethod
    @by_hand(_plain, num_options=0)
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        tensors = ctx.saved_tensors
        results = [
            empty(*part.shape, like=part) if part is not None and needed else None
            for part, needed in zip(tensors, ctx.needs_input_grad, strict=True)
        ]
        named = dict(zip(("dinputs", "dweight", "dbias"), results, strict=True))
        _run("backward", tensors[0], tensors[1], sums=gradient, **named)
        return tuple(results)


def _run(name: str, rows: Tensor, weight: Tensor, **others: Tensor | None) -> None:
    """Fills tensors that are among the others."""
    (num_rows, in_feats), columns = rows.shape, len(weight)
    call = Linear(num_rows, in_feats, columns, threads_for(num_rows))
    named = {"inputs": rows, "weight": weight, **others}
    tensors = dict(zip(named, contiguous(list(named.values())), strict=True))
    library, pointer = kernels_of(rows), ctypes.byref(call)
    workspace = empty(library.linear_numbers(pointer, name == "backward"), like=rows)
    call.point(**tensors, workspace=workspace)
    getattr(library, f"linear_{name}")(pointer)
