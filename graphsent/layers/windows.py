"""Correlation of long signals as one matrix product a group, over all windows."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def correlate_windows(signal: Tensor, weight: Tensor, groups: int) -> Tensor:
    """All full overlaps of filters and signal.

    With few channels a group, torch's own convolution takes about twice as long.

    Args:
        signal: (groups * q, n + m - 1).
        weight: (groups * j, q, m).
        groups: number of groups, which do not mix.

    Returns:
        (groups * j, n).
    """
    y = _Windows.apply(signal.unflatten(0, (groups, -1)), weight.unflatten(0, (groups, -1)))
    return y.flatten(0, 1)


class _Windows(torch.autograd.Function):
    """All windows of a signal times filters: (g, q, n + m - 1), (g, j, q, m) -> (g, j, n)."""

    @staticmethod
    def forward(signal: Tensor, weight: Tensor) -> Tensor:
        return weight.flatten(2) @ _windows(signal, weight.shape[3])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        signal, weight = ctx.saved_tensors
        gradient = gradient.to(signal.dtype)  # under autocast the result has another
        of_signal = of_weight = None
        if ctx.needs_input_grad[0]:
            parts = weight.flatten(2).transpose(1, 2) @ gradient
            of_signal = _add_windows(parts.unflatten(1, weight.shape[2:]))
        if ctx.needs_input_grad[1]:
            windows = _windows(signal, weight.shape[3])
            of_weight = (gradient @ windows.transpose(1, 2)).view_as(weight)
        return of_signal, of_weight


def _windows(signal: Tensor, width: int) -> Tensor:
    """(g, q, n + m - 1) -> (g, q * m, n): column t is the window that begins at step t."""
    num_windows = signal.shape[2] - width + 1
    # Several times as fast as a copy of Tensor.unfold().
    shifted = [signal[:, :, a : a + num_windows] for a in range(width)]
    return torch.stack(shifted, 2).flatten(1, 2)


def _add_windows(parts: Tensor) -> Tensor:
    """The transpose of ``_windows``: (g, q, m, n) -> (g, q, n + m - 1)."""
    groups, q, width, num_windows = parts.shape
    if torch.is_grad_enabled():  # for derivatives of second order
        shifted = [functional.pad(parts[:, :, a], (a, width - 1 - a)) for a in range(width)]
        return functools.reduce(torch.add, shifted)
    total = parts.new_zeros(groups, q, num_windows + width - 1)
    for a in range(width):
        total[:, :, a : a + num_windows] += parts[:, :, a]
    return total
