"""Correlation of batches of signals with filters: by windows, by torch, or by Fourier transforms.

All three make the same sums. What is fastest depends on the sizes: ``faster_method``.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

# Measured on one core of an AMD EPYC with gradients, for groups, inputs and outputs of sentence
# models (1 to 100 each), 10 to 300 steps, batches of 1 to 50, float32 and float64.
# Products over windows pass torch's own convolution at so many groups, and steps of a batch,
_MOST_GROUPS_OF_TORCH = 7
_MOST_STEPS_OF_TORCH = 100
# until memory of that size has to be asked of the system anew each time.
_MOST_BYTES_OF_WINDOWS = 2**24
# Transforms pass both at filters of this width in a large batch; in a small one the filters' own
# transforms count, and for little work all that is called.
_WIDTH_OF_TRANSFORMS = 14
_SENTENCES_TIMES_WIDTH = 100
_LEAST_PRODUCTS_OF_TRANSFORMS = 1_000_000

METHODS = ("auto", "direct", "fft")


def correlate(x: Tensor, weight: Tensor, groups: int, *, margin: int, method: str) -> Tensor:
    r"""Sums of products of filters and signals.

    .. math::
        y_{b,g,j,t} = \sum_q \sum_{a=0}^{m-1} w_{g,j,q,a}\, x_{b,g,q,t+a-\text{margin}}

    where x is zero outside of its steps.

    Args:
        x: (batch, groups * q, time), not empty.
        weight: (groups * j, q, m).
        groups: number of groups, which do not mix.
        margin: how many zeros are on either side of x: m - 1 or 0; in the latter case m is at most
            time.
        method: ``"direct"``, ``"fft"``, or ``"auto"``: the faster.

    Returns:
        (batch, groups * j, time - m + 1 + 2 * margin), in any order in memory.
    """
    if method == "auto":
        method = faster_method(x, weight, margin)
    if method == "fft" and len(x):  # MKL has no transform of nothing
        return _by_transforms(x, weight, groups, margin)
    if _windows_are_faster(x, weight, groups):
        return _by_windows(x, weight, groups, margin)
    return functional.conv1d(x, weight, groups=groups, padding=margin)


def faster_method(x: Tensor, weight: Tensor, margin: int) -> str:
    """``"direct"`` or ``"fft"``, whichever takes less time for :func:`correlate`.

    On the CPU, in single and double precision, transforms are faster for filters of m steps from
    ``batch * (m - 14) >= 100`` on (m = 16 in a batch of 50), given a million products or more.
    Everything else is direct; on other devices nothing was measured.
    """
    num_products = len(x) * weight.numel() * (x.shape[2] + margin)
    long = len(x) * (weight.shape[2] - _WIDTH_OF_TRANSFORMS) >= _SENTENCES_TIMES_WIDTH
    worthwhile = long and num_products >= _LEAST_PRODUCTS_OF_TRANSFORMS
    measured = x.is_cpu and x.dtype in (torch.float32, torch.float64)
    return "fft" if worthwhile and measured else "direct"


def _windows_are_faster(x: Tensor, weight: Tensor, groups: int) -> bool:
    num_steps = len(x) * x.shape[2]
    size = num_steps * x.shape[1] * weight.shape[2] * x.element_size()
    many = groups > _MOST_GROUPS_OF_TORCH and num_steps > _MOST_STEPS_OF_TORCH
    return x.is_cpu and many and size <= _MOST_BYTES_OF_WINDOWS


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
    """The least number from ``num_steps`` on that 2, 3 and 5 make up: others are slow."""
    size = num_steps
    while 30 ** size.bit_length() % size:
        size += 1
    return size


def _by_windows(x: Tensor, weight: Tensor, groups: int, margin: int) -> Tensor:
    """One product a group over the windows of all sentences in a row.

    With few channels a group, torch's own convolution takes about twice as long.
    """
    num_sentences, _, num_steps = x.shape
    width = weight.shape[2]
    # The zeros after a sentence are those before the next one, too.
    row = functional.pad(x.transpose(0, 1), (0, margin)).flatten(1)
    row = functional.pad(row, (margin, width - 1 - margin))  # (channels, batch * steps + m - 1)
    y = _Windows.apply(row.unflatten(0, (groups, -1)), weight.unflatten(0, (groups, -1)))
    y = y.flatten(0, 1).unflatten(1, (num_sentences, num_steps + margin))
    # Without margins the last windows of a sentence reach into the next.
    return y[..., : num_steps - width + 1 + 2 * margin].transpose(0, 1)


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
