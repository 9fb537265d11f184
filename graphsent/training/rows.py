"""Steps of optimizers on the rows of a table that a batch uses."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

__all__ = ["distinct_rows", "has_rows", "step_by_rows"]


def step_by_rows(
    optimizer: Optimizer,
    base: type[Optimizer],
    step: Callable[[Tensor, Tensor, dict[str, Any]], bool],
    closure: Callable[[], Any] | None,
) -> Any:
    """Takes the step of an optimizer derived from ``base``, one of torch; returns the loss.

    Parameters for which ``step`` returns False, having done nothing, are left to ``base``.
    """
    loss = None
    if closure is not None:
        with torch.enable_grad():
            loss = closure()
    done = []
    try:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is not None and step(parameter, gradient, group):
                    done.append((parameter, gradient))
                    parameter.grad = None
        # Unwrapped: the hooks on steps have already been called for this one.
        inspect.unwrap(base.step)(optimizer)
    finally:
        for parameter, gradient in done:
            parameter.grad = gradient
    return loss


def has_rows(gradient: Tensor) -> bool:
    """Whether a gradient is sparse in its rows only."""
    return gradient.is_sparse and gradient.sparse_dim() == 1


def distinct_rows(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """The row indices of a sparse gradient, without duplicates, and their values."""
    rows = gradient._indices()[0]
    if not gradient.is_coalesced() and (not rows.is_cpu or len(rows.unique()) < len(rows)):
        gradient = gradient.coalesce()
        rows = gradient._indices()[0]
    return rows, gradient._values()
