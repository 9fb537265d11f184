"""Correlation of batches of signals with filters, sum by sum or by Fourier transforms."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

METHODS = ("auto", "direct", "fft")


def correlate(x: Tensor, weight: Tensor, groups: int, method: str) -> Tensor:
    r"""All full overlaps of the filters with the signals.

    .. math::
        y_{b,g,j,t} = \sum_q \sum_{a=0}^{m-1} w_{g,j,q,a}\, x_{b,g,q,t+a}

    Args:
        x: (batch, groups * inputs, time), time at least m.
        weight: (groups * outputs, inputs, m).
        groups: number of groups, which do not mix.
        method: ``"direct"``, ``"fft"``, or ``"auto"``: the faster.

    Returns:
        (batch, groups * outputs, time - m + 1).
    """
    if method == "auto":
        method = faster_method(x, weight)
    if method == "fft" and len(x):  # MKL has no transform of nothing
        return _by_transform(x, weight, groups)
    return functional.conv1d(x, weight, groups=groups)


def faster_method(x: Tensor, weight: Tensor) -> str:
    """``"direct"`` or ``"fft"``, whichever takes less time."""
    return "fft" if weight.shape[2] > 64 else "direct"


def _by_transform(x: Tensor, weight: Tensor, groups: int) -> Tensor:
    num_steps, width = x.shape[2], weight.shape[2]
    dtype = torch.promote_types(x.dtype, torch.float32)  # there are no transforms of bfloat16
    signal = torch.fft.rfft(x.to(dtype).unflatten(1, (groups, -1)), num_steps)
    filters = torch.fft.rfft(weight.to(dtype).unflatten(0, (groups, -1)), num_steps).conj()
    product = torch.einsum("bgqf,gjqf->bgjf", signal, filters)
    # The first of the cyclic overlaps are the full ones.
    y = torch.fft.irfft(product, num_steps)[..., : num_steps - width + 1]
    return y.flatten(1, 2).to(x.dtype)
