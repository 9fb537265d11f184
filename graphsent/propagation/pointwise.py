"""Pointwise steps that fused rules have in common, in place."""

from __future__ import annotations

import torch
from torch import Tensor


def tanh_of(values: Tensor, out: Tensor) -> None:
    """``torch.tanh`` by the logistic function, which is twice as fast on a CPU."""
    torch.mul(values, 2, out=out).sigmoid_().mul_(2).sub_(1)


def logistic_derivative(logistic: Tensor, out: Tensor) -> None:
    r"""The derivative of :math:`\sigma` from its values."""
    torch.addcmul(logistic, logistic, logistic, value=-1, out=out)


def add_through_output(gate: Tensor, tanh_c: Tensor, dh: Tensor, dc: Tensor) -> None:
    r"""Adds to the gradient of c what comes through :math:`h = \mathrm{gate} * \tanh(c)`."""
    square = tanh_c * tanh_c
    torch.addcmul(gate, gate, square, value=-1, out=square)
    dc.addcmul_(dh, square)


def by_slot(gates: Tensor, count: int) -> Tensor:
    """Gates side by side, (nodes, count * size), as (nodes, count, size)."""
    return gates.unflatten(1, (count, -1))
