"""The pointwise operations of expressions, in torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor


def copy(rows: Tensor, out: Tensor | None = None) -> Tensor:
    """The rows themselves, or a copy."""
    return rows if out is None else out.copy_(rows)


def maximum(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
    """The first of equal numbers."""
    return torch.where((a >= b) | a.isnan(), a, b, out=out)


def largest(*parts: Tensor, out: Tensor | None = None) -> Tensor:
    """The largest of several numbers."""
    return torch.amax(torch.stack(torch.broadcast_tensors(*parts)), 0, out=out)


def step(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
    """1 where the first number is not less, else 0."""
    return copy((a >= b).to(a.dtype), out)


def where(condition: Tensor, a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
    """The second number where the first is not 0, else the third."""
    return torch.where(condition != 0, a, b, out=out)


POINTWISE: dict[str, Callable[..., Tensor]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "exp": torch.exp,
    "relu": partial(torch.clamp_min, min=0),
    "maximum": maximum,
    "largest": largest,
    "step": step,
    "where": where,
}
"""By name, on tensors that can be broadcast; ``out`` is where the result belongs."""
