"""Correlation of all sentences of a batch as one signal, without the padding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from graphsent.layers.lengths import time_mask

Correlate = Callable[[Tensor, Tensor, int], Tensor]


def kept_columns(lengths: Tensor, num_steps: int, width: int, margin: int) -> Tensor:
    """The columns that correlation needs, of the sentences of a padded batch one after another.

    The zeros after a sentence serve as those before the next. A sentence shorter than the filter
    keeps as many columns as its first window spans.

    Args:
        lengths: (batch,) int64.
        num_steps: number of steps of the batch.
        width: m.
        margin: number of zeros on either side of a sentence.

    Returns:
        (number of columns,) int64, each from 0 to ``batch * (num_steps + margin) - 1``.
    """
    kept = time_mask((lengths + margin).clamp(min=width), num_steps + margin)
    return kept.flatten().nonzero().squeeze(1)


def correlate_in_a_row(
    x: Tensor,
    weight: Tensor,
    groups: int,
    *,
    margin: int,
    columns: Tensor | None,
    correlate: Correlate,
) -> Tensor:
    """:func:`~graphsent.layers.correlation.correlate` for sentences one after another.

    Args:
        x: (batch, channels, time), zeros beyond the lengths.
        weight: (outputs, channels / groups, m).
        groups: number of groups.
        margin: number of zeros on either side of a sentence.
        columns: columns of the padded batch to keep, see :func:`kept_columns`; None for all.
        correlate: gives all full overlaps (outputs, n) of a signal (channels, n + m - 1), filters
            and groups.

    Returns:
        (batch, outputs, time - m + 1 + 2 * margin).
    """
    num_sentences, _, num_steps = x.shape
    width = weight.shape[2]
    row = functional.pad(x.transpose(0, 1), (0, margin)).flatten(1)
    if columns is not None:
        places = torch.full((row.shape[1],), len(columns))
        places[columns] = torch.arange(len(columns))
        row = _Pack.apply(row, columns, places)
    y = correlate(functional.pad(row, (margin, width - 1 - margin)), weight, groups)
    if columns is not None:
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
