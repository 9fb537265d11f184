"""Correlation of batches of signals with filters: by windows, by torch, or by Fourier transforms.

All methods compute the same sums; which is fastest depends on the sizes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from graphsent.layers.lengths import only_torch, time_mask

# Measured on one core of an AMD EPYC with gradients, for groups, inputs and outputs of sentence
# models (1 to 100 each), 10 to 300 steps, batches of 1 to 50, float32 and float64.
# Products over windows are faster than torch's convolution for more groups, and more steps in a
# batch, than these,
_MOST_GROUPS_OF_TORCH = 7
_MOST_STEPS_OF_TORCH = 100
# unless windows are so large that the system has to provide new memory for them each time.
_MOST_BYTES_OF_WINDOWS = 2**24
# Padding is left out if at most this share of the columns remains and, with torch's convolution, if
# that saves at least this many products.
_MOST_TO_KEEP = 0.8
_LEAST_PRODUCTS_TO_SAVE = 15_000_000
# Transforms are faster than torch's convolution, or than windows, for filters wider than these; in
# small batches only for wider ones, because the filters are transformed, too; and never for few
# products, where the overhead of the calls dominates.
_WIDEST_OF_TORCH = 14
_WIDEST_OF_WINDOWS = 22
_SENTENCES_TIMES_STEPS = 100
_LEAST_PRODUCTS_OF_TRANSFORMS = 1_000_000

METHODS = ("auto", "direct", "fft")


def correlate(
    x: Tensor, lengths: Tensor, weight: Tensor, groups: int, *, margin: int, method: str
) -> Tensor:
    r"""Sums of products of filters and signals.

    .. math::
        y_{b,g,j,t} = \sum_q \sum_{a=0}^{m-1} w_{g,j,q,a}\, x_{b,g,q,t+a-\text{margin}}

    where x is zero outside its steps.

    Args:
        x: (batch, groups * q, time), with at least one step, and zeros beyond the lengths.
        lengths: (batch,) int64.
        weight: (groups * j, q, m).
        groups: Number of groups, which do not mix.
        margin: Number of zeros on either side of x, m - 1 or 0; if 0, m is at most time.
        method: ``"direct"``, ``"fft"``, or ``"auto"``, the faster of the two.

    Returns:
        (batch, groups * j, time - m + 1 + 2 * margin), with any strides.
    """
    if method == "auto":
        method = faster_method(x, weight, groups, margin)
    if method == "fft" and len(x):  # MKL cannot transform an empty batch
        return _by_transforms(x, weight, groups, margin)
    if x.is_cpu and not only_torch():
        return _directly_on_cpu(x, lengths, weight, groups, margin)
    return functional.conv1d(x, weight, groups=groups, padding=margin)


def faster_method(x: Tensor, weight: Tensor, groups: int, margin: int) -> str:
    """``"direct"`` or ``"fft"``, whichever is faster in :func:`correlate`.

    Other devices than the CPU, and other dtypes than float32 and float64, were not measured: there
    it is ``"direct"``.

    Args:
        x: (batch, groups * q, time).
        weight: (groups * j, q, m).
        groups: Number of groups.
        margin: Number of zeros on either side of x.
    """
    num_products = len(x) * weight.numel() * (x.shape[2] + margin)
    widest = _WIDEST_OF_WINDOWS if groups > _MOST_GROUPS_OF_TORCH else _WIDEST_OF_TORCH
    long = len(x) * (weight.shape[2] - widest) >= _SENTENCES_TIMES_STEPS
    worthwhile = long and num_products >= _LEAST_PRODUCTS_OF_TRANSFORMS
    measured = x.is_cpu and x.dtype in (torch.float32, torch.float64)
    return "fft" if worthwhile and measured else "direct"


def _directly_on_cpu(
    x: Tensor, lengths: Tensor, weight: Tensor, groups: int, margin: int
) -> Tensor:
    by_windows = _windows_are_faster(x, weight, groups)
    num_columns = len(x) * (x.shape[2] + margin)
    num_kept = int((lengths + margin).clamp(min=weight.shape[2]).sum())
    saved = (num_columns - num_kept) * weight.numel()
    packed = by_windows or saved >= _LEAST_PRODUCTS_TO_SAVE
    packed = packed and num_kept <= _MOST_TO_KEEP * num_columns
    if not (by_windows or packed):
        return functional.conv1d(x, weight, groups=groups, padding=margin)
    return correlate_in_a_row(
        x,
        weight,
        groups,
        margin=margin,
        columns=kept_columns(lengths, x.shape[2], weight.shape[2], margin) if packed else None,
        correlate=correlate_windows if by_windows else _correlate_row,
    )


def _correlate_row(signal: Tensor, weight: Tensor, groups: int) -> Tensor:
    return functional.conv1d(signal[None], weight, groups=groups)[0]


def _windows_are_faster(x: Tensor, weight: Tensor, groups: int) -> bool:
    num_steps = len(x) * x.shape[2]
    size = num_steps * x.shape[1] * weight.shape[2] * x.element_size()
    many = groups > _MOST_GROUPS_OF_TORCH and num_steps > _MOST_STEPS_OF_TORCH
    return many and size <= _MOST_BYTES_OF_WINDOWS


def _by_transforms(x: Tensor, weight: Tensor, groups: int, margin: int) -> Tensor:
    num_outputs = x.shape[2] - weight.shape[2] + 1 + 2 * margin
    num_steps = _fast_size(x.shape[2] + margin)
    dtype = torch.promote_types(x.dtype, torch.float32)  # there are no transforms of bfloat16
    # One margin serves both ends: the first step of a cyclic signal follows its last.
    signal = functional.pad(x.to(dtype).unflatten(1, (groups, -1)), (margin, 0))
    spectrum = torch.fft.rfft(signal, num_steps)
    filters = torch.fft.rfft(weight.to(dtype).unflatten(0, (groups, -1)), num_steps).conj()
    product = torch.einsum("bgqf,gjqf->bgjf", spectrum, filters)
    y = torch.fft.irfft(product, num_steps)[..., :num_outputs]
    return y.flatten(1, 2).to(x.dtype)


def _fast_size(num_steps: int) -> int:
    """The least size from ``num_steps`` up whose prime factors are at most 5; others are slow."""
    size = num_steps
    while 30 ** size.bit_length() % size:
        size += 1
    return size


def kept_columns(lengths: Tensor, num_steps: int, width: int, margin: int) -> Tensor:
    """The columns that correlation needs when the sentences of a padded batch are concatenated.

    The zeros after a sentence are also those before the next. A sentence shorter than the filter
    keeps as many columns as its first window spans.

    Args:
        lengths: (batch,) int64.
        num_steps: Number of steps of the batch.
        width: m.
        margin: Number of zeros on either side of a sentence.

    Returns:
        (num_kept,) int64, each from 0 to ``batch * (num_steps + margin) - 1``.
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
    correlate: Callable[[Tensor, Tensor, int], Tensor],
) -> Tensor:
    """:func:`correlate` for sentences concatenated to one signal.

    Args:
        x: (batch, channels, time), zeros beyond the lengths.
        weight: (outputs, channels / groups, m).
        groups: Number of groups.
        margin: Number of zeros on either side of a sentence.
        columns: Columns of the padded batch to keep, see :func:`kept_columns`; None for all.
        correlate: Computes all full overlaps, (outputs, n), of a signal (channels, n + m - 1) and
            filters, for a number of groups.

    Returns:
        (batch, outputs, time - m + 1 + 2 * margin).
    """
    num_sentences, _, num_steps = x.shape
    width = weight.shape[2]
    row = functional.pad(x.transpose(0, 1), (0, margin)).flatten(1)
    if columns is not None:
        places = columns.new_full((row.shape[1],), len(columns))
        places[columns] = torch.arange(len(columns), device=columns.device)
        row = _Pack.apply(row, columns, places)
    y = correlate(functional.pad(row, (margin, width - 1 - margin)), weight, groups)
    if columns is not None:
        y = _Unpack.apply(y, columns, places)
    y = y.unflatten(1, (num_sentences, num_steps + margin))
    # Without margins, the last windows of a sentence reach into the next.
    return y[..., : num_steps - width + 1 + 2 * margin].transpose(0, 1)


class _Pack(torch.autograd.Function):
    """Selects columns of a matrix, ``row[:, columns]``; ``places[columns]`` is 0, 1, and so on."""

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
    """The transpose of ``_Pack``: columns that were left out, the last of ``places``, are zero."""

    @staticmethod
    def forward(packed: Tensor, columns: Tensor, places: Tensor) -> Tensor:
        return functional.pad(packed, (0, 1)).index_select(1, places)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return _Pack.apply(gradient, *ctx.saved_tensors), None, None


def correlate_windows(signal: Tensor, weight: Tensor, groups: int) -> Tensor:
    """All full overlaps of filters and signal, as one matrix product per group.

    With few channels per group, torch's convolution takes about twice as long.

    Args:
        signal: (groups * q, n + m - 1).
        weight: (groups * j, q, m).
        groups: Number of groups, which do not mix.

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
        gradient = gradient.to(signal.dtype)  # autocast changes the dtype of results
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
    # Several times as fast as copying Tensor.unfold().
    shifted = [signal[:, :, a : a + num_windows] for a in range(width)]
    return torch.stack(shifted, 2).flatten(1, 2)


def _add_windows(parts: Tensor) -> Tensor:
    """The transpose of ``_windows``: (g, q, m, n) -> (g, q, n + m - 1)."""
    groups, q, width, num_windows = parts.shape
    if torch.is_grad_enabled():  # for second-order gradients
        shifted = [functional.pad(parts[:, :, a], (a, width - 1 - a)) for a in range(width)]
        return functools.reduce(torch.add, shifted)
    total = parts.new_zeros(groups, q, num_windows + width - 1)
    for a in range(width):
        total[:, :, a : a + num_windows] += parts[:, :, a]
    return total
