"""Backward passes written by hand, and the gradients of what they give."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from graphsent.propagation.errors import PropagationError
from graphsent.propagation.untraced import untraced

Plain = Callable[..., Sequence[Tensor]]


def by_hand(plain: Plain, num_options: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Marks the ``backward`` of an autograd function, which autograd does not see through.

    Where gradients are to have gradients of their own (``create_graph=True``), another one takes
    its place: what ``forward`` does is done once more in operations of torch, and these are
    differentiated.

    Args:
        plain: what ``forward`` does, in operations of torch: from the context and the tensors to
            the results. The tensors are the first that ``forward`` has saved, in their order.
        num_options: arguments of ``forward`` that come before the tensors.
    """

    def mark(backward: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(backward)
        def wrapper(ctx: Any, *gradients: Tensor | None) -> Any:
            if not torch.is_grad_enabled():
                return backward(ctx, *gradients)
            needed = ctx.needs_input_grad[num_options:]
            tensors = ctx.saved_tensors[: len(needed)]
            results = _differentiable(functools.partial(plain, ctx), tensors, needed, gradients)
            return *[None] * num_options, *results

        return untraced(wrapper)

    return mark


def first_order(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Marks the ``backward`` of an autograd function whose gradients have none of their own.

    Asking for them is a PropagationError.
    """

    @functools.wraps(backward)
    def wrapper(ctx: Any, *gradients: Tensor | None) -> Any:
        if torch.is_grad_enabled():
            raise PropagationError(
                "expected gradients of first order, got gradients of gradients: compiled "
                "convolution and pooling have none; they have with GRAPHSENT_KERNELS=0"
            )
        return backward(ctx, *gradients)

    return untraced(wrapper)


def _differentiable(
    plain: Plain,
    tensors: Sequence[Tensor | None],
    needed: Sequence[bool],
    gradients: Sequence[Tensor | None],
) -> list[Tensor | None]:
    """The gradients of a function's tensors that are needed, with gradients of their own."""
    # Views, so that one that is given twice is told apart.
    given = [
        part.view_as(part) if need and part is not None else part
        for part, need in zip(tensors, needed, strict=True)
    ]
    pairs = zip(plain(*given), gradients, strict=True)
    known = [
        (result, gradient)
        for result, gradient in pairs
        if gradient is not None and result.requires_grad
    ]
    if not known:
        return [None] * len(needed)
    wanted: list[Any] = [part for part, need in zip(given, needed, strict=True) if need]
    found = iter(
        torch.autograd.grad(
            [result for result, _ in known],
            wanted,
            [gradient for _, gradient in known],
            create_graph=True,
            allow_unused=True,
        )
    )
    return [next(found) if need else None for need in needed]
