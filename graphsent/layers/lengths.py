"""Masks and checks for batches of sentences of different lengths."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from graphsent.kernels.library import transformed
from graphsent.layers.errors import LayerError

_INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
# Tensors of at least this many values are masked bitwise, which is faster (on one core).
_MANY_VALUES = 2**16


def time_mask(lengths: Tensor, num_steps: int) -> Tensor:
    """The steps that belong to each sentence.

    Args:
        lengths: (batch,) int64.
        num_steps: Number of steps of the batch.

    Returns:
        (batch, num_steps) bool, true at step t of sentence b if ``t < lengths[b]``.

    Example:
        >>> import torch
        >>> time_mask(torch.tensor([2, 0]), 3).int().tolist()
        [[1, 1, 0], [0, 0, 0]]
    """
    return torch.arange(num_steps, device=lengths.device) < lengths[:, None]


def zero_beyond(x: Tensor, lengths: Tensor) -> Tensor:
    """``x`` with zeros at the steps beyond each sentence's length.

    Args:
        x: (batch, channels, time).
        lengths: (batch,) int64.

    Returns:
        (batch, channels, time). NaN is replaced, too, and no gradient flows to replaced values.

    Example:
        >>> import torch
        >>> zero_beyond(torch.ones(2, 1, 3), torch.tensor([1, 3])).squeeze(1).tolist()
        [[1.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    """
    own = time_mask(lengths, x.shape[2])[:, None]
    by_bits = x.is_floating_point() and x.element_size() in _INTEGERS
    if x.numel() < _MANY_VALUES or not by_bits or only_torch():
        return x.masked_fill(~own, 0)
    return _ZeroBeyond.apply(x, own)


def lowest_beyond(x: Tensor, lengths: Tensor) -> Tensor:
    """``x`` with minus infinity at the steps beyond each sentence's length.

    Args:
        x: (batch, channels, time).
        lengths: (batch,) int64.

    Returns:
        (batch, channels, time); otherwise as :func:`zero_beyond`.
    """
    own = time_mask(lengths, x.shape[2])[:, None]
    return zero_beyond(x, lengths) + torch.where(own, 0.0, -torch.inf).to(x.dtype)


def only_torch() -> bool:
    """Whether torch has to see each operation: under ``torch.compile``, or as for kernels."""
    return torch.compiler.is_compiling() or transformed()


class _ZeroBeyond(torch.autograd.Function):
    """``x`` where ``own`` is true, otherwise zero: a linear map that is its own transpose.

    ``masked_fill`` takes several times as long for many values, and a product would keep NaN.
    """

    @staticmethod
    def forward(x: Tensor, own: Tensor) -> Tensor:
        bits = _INTEGERS[x.element_size()]
        return (x.view(bits) & -own.to(bits)).view(x.dtype)  # -1 has all bits set, 0 none

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return _ZeroBeyond.apply(gradient, *ctx.saved_tensors), None


def check_batch(x: Tensor, lengths: Tensor, num_channels: int | None = None) -> None:
    """Raises a LayerError unless ``x`` and ``lengths`` are a batch.

    The values of ``lengths`` are only checked on the CPU, as on a GPU the check would synchronize,
    and not where torch has to see each operation, as under ``torch.compile`` and ``torch.func``.

    Args:
        x: Expected to be (batch, channels, time), floating point.
        lengths: Expected to be (batch,) int64, from 0 to time.
        num_channels: The expected number of channels; any by default.
    """
    channels = "channels" if num_channels is None else f"{num_channels} channels"
    if x.dim() != 3 or num_channels not in (None, x.shape[1]):
        raise LayerError(f"expected x of shape (batch, {channels}, time), got {tuple(x.shape)}")
    if not x.is_floating_point():
        raise LayerError(f"expected x to be floating point, got {x.dtype}")
    check_lengths("lengths", lengths, len(x), x.shape[2])


def check_lengths(
    name: str, lengths: Tensor, size: int, longest: int | None = None, shortest: int = 0
) -> None:
    """Raises a LayerError unless ``lengths`` is (size,) int64, with values within these bounds."""
    if not isinstance(lengths, Tensor):
        raise LayerError(f"expected {name} to be a tensor, got {type(lengths).__name__}")
    if lengths.dtype != torch.int64 or lengths.shape != (size,):
        raise LayerError(
            f"expected {name} of shape (batch,) = ({size},), int64, "
            f"got {tuple(lengths.shape)}, {lengths.dtype}"
        )
    if not lengths.is_cpu or not size or only_torch():
        return
    low, high = (int(value) for value in torch.aminmax(lengths))
    if low < shortest or (longest is not None and high > longest):
        limit = "" if longest is None else f" and at most time = {longest}"
        raise LayerError(f"expected {name} of at least {shortest}{limit}, got {low} to {high}")


def check_packable() -> None:
    """Raises a LayerError under transforms of ``torch.func``, where torch cannot pack sequences."""
    if torch._C._are_functorch_transforms_active():
        raise LayerError(
            "sequences of different lengths do not run in transforms of torch.func (grad, vmap, "
            "jvp, ...): use torch.autograd, which also computes higher-order gradients"
        )
