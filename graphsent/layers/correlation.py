"""Correlation of batches of signals with filters: by windows, by torch, or by Fourier transforms.

All compute the same sums; sizes decide which is fastest.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from graphsent.layers.packing import correlate_in_a_row, kept_columns
from graphsent.layers.windows import correlate_windows

# Measured on one core of an AMD EPYC with gradients, for groups, inputs and outputs of sentence
# models (1 to 100 each), 10 to 300 steps, batches of 1 to 50, float32 and float64.
# Products over windows are faster than torch's own convolution for more groups and more steps in a
# batch than these,
_MOST_GROUPS_OF_TORCH = 7
_MOST_STEPS_OF_TORCH = 100
# unless windows are so large that the system has to provide their memory anew each time.
_MOST_BYTES_OF_WINDOWS = 2**24
# Padding is left out if at most this share of the columns remains, and for torch's convolution if
# that saves at least this many products.
_MOST_TO_KEEP = 0.8
_LEAST_PRODUCTS_TO_SAVE = 15_000_000
# Transforms are faster than torch's convolution, or than windows, for filters wider than these: in
# a small batch only for wider ones, since the filters are transformed, too, and never for few
# products, where the overhead of the calls is all that counts.
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

    where x is zero outside of its steps.

    Args:
        x: (batch, groups * q, time), with at least one step, and zeros beyond the lengths.
        lengths: (batch,) int64.
        weight: (groups * j, q, m).
        groups: number of groups, which do not mix.
        margin: number of zeros on either side of x, m - 1 or 0; if 0, m is at most time.
        method: ``"direct"``, ``"fft"``, or ``"auto"``: the faster.

    Returns:
        (batch, groups * j, time - m + 1 + 2 * margin), in any order in memory.
    """
    if method == "auto":
        method = faster_method(x, weight, groups, margin)
    if method == "fft" and len(x):  # MKL cannot transform an empty batch
        return _by_transforms(x, weight, groups, margin)
    if x.is_cpu:
        return _directly_on_cpu(x, lengths, weight, groups, margin)
    return functional.conv1d(x, weight, groups=groups, padding=margin)


def faster_method(x: Tensor, weight: Tensor, groups: int, margin: int) -> str:
    """``"direct"`` or ``"fft"``, whichever is faster in :func:`correlate`.

    On the CPU, in single and double precision, transforms are faster for filters of m steps from
    ``batch * (m - 14) >= 100`` on (m = 16 in a batch of 50), given a million products or more;
    with eight or more groups from ``batch * (m - 22) >= 100`` on (m = 24). Everything else is
    direct; on other devices nothing was measured.

    Args:
        x: (batch, groups * q, time).
        weight: (groups * j, q, m).
        groups: number of groups.
        margin: number of zeros on either side of x.
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
    # One margin serves both ends: beyond its last step a cyclic signal goes on with its first.
    signal = functional.pad(x.to(dtype).unflatten(1, (groups, -1)), (margin, 0))
    spectrum = torch.fft.rfft(signal, num_steps)
    filters = torch.fft.rfft(weight.to(dtype).unflatten(0, (groups, -1)), num_steps).conj()
    product = torch.einsum("bgqf,gjqf->bgjf", spectrum, filters)
    y = torch.fft.irfft(product, num_steps)[..., :num_outputs]
    return y.flatten(1, 2).to(x.dtype)


def _fast_size(num_steps: int) -> int:
    """The least size from ``num_steps`` on without prime factors above 5: other sizes are slow."""
    size = num_steps
    while 30 ** size.bit_length() % size:
        size += 1
    return size
