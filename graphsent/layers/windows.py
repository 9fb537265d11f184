"""Correlation as one matrix product a group, over the windows of all sentences in a row."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from graphsent.layers.lengths import time_mask

# Columns of padding are left out if that leaves less than this part.
_MOST_TO_KEEP = 0.8


def correlate_windows(
    x: Tensor, lengths: Tensor, weight: Tensor, groups: int, margin: int
) -> Tensor:
    """``correlate`` on the CPU: arguments and result are the same.

    With few channels a group, torch's own convolution takes about twice as long.
    """
    num_sentences, _, num_steps = x.shape
    width = weight.shape[2]
    # The zeros after a sentence are those before the next one, too.
    row = functional.pad(x.transpose(0, 1), (0, margin)).flatten(1)
    # A sentence shorter than the filter keeps as many zeros as its first window takes.
    kept = time_mask((lengths + margin).clamp(min=width), num_steps + margin)
    columns = kept.flatten().nonzero().squeeze(1)
    mixed = len(columns) < _MOST_TO_KEEP * row.shape[1]
    if mixed:
        places = torch.full((row.shape[1],), len(columns))
        places[columns] = torch.arange(len(columns))
        row = _Pack.apply(row, columns, places)
    row = functional.pad(row, (margin, width - 1 - margin))
    y = _Windows.apply(row.unflatten(0, (groups, -1)), weight.unflatten(0, (groups, -1)))
    y = y.flatten(0, 1)
    if mixed:
        y = _Unpack.apply(y, columns, places)
    y = y.unflatten(1, (num_sentences, num_steps + margin))
    # Without margins the last windows of a sentence reach into the next.
    return y[..., : num_steps - width + 1 + 2 * margin].transpose(0, 1)


class _Pack(torch.autograd.Function):
    """Some columns of a matrix: ``row[:, columns]``, where ``places[columns]`` count from 0."""

    @staticmethod
    def forward(row: Tensor, columns: Tensor, places: Tensor) -> Tensor:
        return row.index_select(1, columns)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return _Unpack.apply(gradient, *ctx.saved_tensors), None, None


class _Unpack(torch.autograd.Function):
    """The transpose of ``_Pack``: zeros in columns that were left out, the last of ``places``."""

    @staticmethod
    def forward(packed: Tensor, columns: Tensor, places: Tensor) -> Tensor:
        return functional.pad(packed, (0, 1)).index_select(1, places)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return _Pack.apply(gradient, *ctx.saved_tensors), None, None


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
        return sum(functional.pad(parts[:, :, a], (a, width - 1 - a)) for a in range(width))
    total = parts.new_zeros(groups, q, num_windows + width - 1)
    for a in range(width):
        total[:, :, a : a + num_windows] += parts[:, :, a]
    return total
