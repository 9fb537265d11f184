"""Convolution and pooling of concatenated sentences in compiled code.

Sentences are ranges of rows of a matrix. A function returns None if there is no compiled code for
its arguments; its caller then computes the same in torch.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from graphsent.kernels.library import kernels_for, loaded_kernels, threads_for
from graphsent.kernels.structures import Convolution, Largest, Windows
from graphsent.propagation.errors import PropagationError
from graphsent.propagation.gradients import check_not_batched, save, saved
from graphsent.propagation.memory import empty
from graphsent.propagation.untraced import untraced

_VECTOR_BYTES = 64  # of the widest SIMD vectors


@untraced
def sum_windows(
    products: Tensor, ranges: Tensor, width: int, words: Tensor | None
) -> Tensor | None:
    """The sums of :func:`graphsent.layers.phrase_convolution.sum_windows`.

    Args:
        products: (num_rows, width * channels).
        ranges: (num_sentences, 2) int64.
        width: m.
        words: Row of each word, (num_words,) int64; None if words are rows.

    Returns:
        (num_steps, channels).
    """
    if not kernels_for(products) or not ranges.is_cpu:
        return None
    _check_numbers("words", ranges, len(products if words is None else words) + 1)
    if words is not None:
        _check_numbers("rows", words, len(products))
        words = words.contiguous()
    return _SumWindows.apply(products, ranges.contiguous(), width, words)


@untraced
def keep_largest(x: Tensor, ranges: Tensor, counts: Tensor) -> tuple[Tensor, Tensor] | None:
    """The values of :func:`graphsent.layers.phrase_convolution.keep_largest`.

    Args:
        x: (num_rows, channels).
        ranges: (num_sentences, 2) int64.
        counts: Numbers of values to keep, at most the sentences' lengths, (num_sentences,) int64.

    Returns:
        The kept values, and their positions in the sentence, int32, both (sum of counts, channels).
    """
    if not kernels_for(x) or not ranges.is_cpu:
        return None
    _check_numbers("rows", ranges, len(x) + 1)
    return _KeepLargest.apply(x, ranges.contiguous(), counts.contiguous())


@untraced
def convolve(x: Tensor, ranges: Tensor, weight: Tensor, groups: int) -> Tensor | None:
    """The sums of :func:`graphsent.layers.phrase_convolution.convolve`.

    Args:
        x: (num_rows, groups * q).
        ranges: (num_sentences, 2) int64.
        weight: (groups * j, q, m).
        groups: Number of groups.

    Returns:
        (num_steps, groups * j).
    """
    if not kernels_for(x, weight) or not ranges.is_cpu:
        return None
    _check_numbers("rows", ranges, len(x) + 1)
    return _Convolve.apply(x, ranges.contiguous(), weight, groups)


def _check_numbers(name: str, numbers: Tensor, count: int) -> None:
    """Raises an IndexError unless all numbers are from 0 to ``count - 1``."""
    if numbers.numel():
        low, high = torch.aminmax(numbers)
        if low < 0 or high >= count:
            raise IndexError(f"expected numbers of {name} below {count}, got {low} to {high}")


def _num_steps(ranges: Tensor, width: int) -> int:
    """Number of steps of wide convolution over all sentences."""
    lengths = ranges[:, 1] - ranges[:, 0]
    return int(((lengths + width - 1) * (lengths > 0)).sum())


def _longest(ranges: Tensor) -> int:
    return max(0, int((ranges[:, 1] - ranges[:, 0]).max())) if len(ranges) else 0


def _vectors(count: int, like: Tensor) -> Tensor:
    """Aligned memory for ``count`` SIMD vectors."""
    return like.new_empty(count * _VECTOR_BYTES // like.element_size())


def _zeros(*shape: int, like: Tensor) -> Tensor:
    return empty(*shape, like=like).zero_()


def _first_order(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates the ``backward`` of an autograd function that has no second-order gradients.

    With ``create_graph=True`` it raises a PropagationError.
    """

    @functools.wraps(backward)
    def wrapper(ctx: Any, *gradients: Tensor | None) -> Any:
        check_not_batched(*gradients)
        if torch.is_grad_enabled():
            raise PropagationError(
                "expected first-order gradients, got create_graph=True: compiled convolution and "
                "pooling have no second-order gradients; set GRAPHSENT_KERNELS=0 to get them"
            )
        return backward(ctx, *gradients)

    return untraced(wrapper)


class _SumWindows(Function):
    @staticmethod
    def forward(
        ctx: Any, products: Tensor, ranges: Tensor, width: int, words: Tensor | None
    ) -> Tensor:
        products = products.contiguous()
        size = products.shape[1] // width
        sums = empty(_num_steps(ranges, width), size, like=products)
        windows = Windows(width, size, len(ranges), threads_for(len(products)))
        windows.point(ranges=ranges, words=words, products=products, sums=sums)
        loaded_kernels(products).windows_forward(ctypes.byref(windows))
        ctx.save_for_backward(ranges, words)
        ctx.num_rows, ctx.width = len(products), width
        return sums

    @staticmethod
    @_first_order
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        ranges, words = ctx.saved_tensors
        gradient = gradient.contiguous()
        size = gradient.shape[1]
        products = _zeros(ctx.num_rows, ctx.width * size, like=gradient)
        windows = Windows(ctx.width, size, len(ranges), threads_for(len(products)))
        windows.point(ranges=ranges, words=words, products=products, sums=gradient)
        loaded_kernels(gradient).windows_backward(ctypes.byref(windows))
        return products, None, None, None


class _KeepLargest(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, ranges: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        x = x.contiguous()
        size, num_kept, longest = x.shape[1], int(counts.sum()), _longest(ranges)
        kept = empty(num_kept, size, like=x)
        steps = x.new_empty(num_kept, size, dtype=torch.int32)
        largest = Largest(size, len(ranges), longest, threads_for(len(x)))
        workspace = _vectors(largest.num_threads * (2 * longest + 1), x)
        largest.point(ranges=ranges, counts=counts, rows=x, kept=kept, steps=steps)
        largest.point(workspace=workspace)
        loaded_kernels(x).largest_forward(ctypes.byref(largest))
        ctx.save_for_backward(ranges, counts, steps)
        ctx.mark_non_differentiable(steps)
        ctx.num_rows = len(x)
        return kept, steps

    @staticmethod
    @_first_order
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        ranges, counts, steps = ctx.saved_tensors
        gradient = gradient.contiguous()
        rows = _zeros(ctx.num_rows, gradient.shape[1], like=gradient)
        largest = Largest(gradient.shape[1], len(ranges), 0, threads_for(len(rows)))
        largest.point(ranges=ranges, counts=counts, rows=rows, kept=gradient, steps=steps)
        loaded_kernels(gradient).largest_backward(ctypes.byref(largest))
        return rows, None, None


class _Convolve(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, ranges: Tensor, weight: Tensor, groups: int) -> Tensor:
        x, weight = x.contiguous(), weight.contiguous()
        y = empty(_num_steps(ranges, weight.shape[2]), len(weight), like=x)
        _run_convolution("convolve", x, ranges, weight, groups, y=y)
        save(ctx, x, ranges, weight)
        ctx.groups = groups
        return y

    @staticmethod
    @_first_order
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, ranges, weight = saved(ctx)
        of_x, of_weight = ctx.needs_input_grad[0], ctx.needs_input_grad[2]
        dx = _zeros(*x.shape, like=x) if of_x else None
        dweight = torch.empty_like(weight) if of_weight else None
        found = {"dy": gradient.contiguous(), "dx": dx, "dweight": dweight}
        _run_convolution("convolve_back", x, ranges, weight, ctx.groups, **found)
        return dx, None, dweight, None


def _run_convolution(
    name: str, x: Tensor, ranges: Tensor, weight: Tensor, groups: int, **others: Tensor | None
) -> None:
    library, (num_outputs, inputs, width) = loaded_kernels(x), weight.shape
    sizes = groups, inputs, num_outputs // groups, width, len(ranges), _longest(ranges)
    arguments = Convolution(*sizes, threads_for(len(x)))
    count = library.convolution_vectors(ctypes.byref(arguments))
    workspace = _vectors(arguments.num_threads * count, x)
    arguments.point(ranges=ranges, x=x, weight=weight, workspace=workspace, **others)
    getattr(library, name)(ctypes.byref(arguments))
