"""Gradients of gradients, where autograd does not see through what was computed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from graphsent.propagation.errors import PropagationError
from graphsent.propagation.untraced import untraced

Plain = Callable[..., Sequence[Tensor]]


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


def differentiable_gradients(
    plain: Plain,
    tensors: Sequence[Tensor | None],
    needed: Sequence[bool],
    gradients: Sequence[Tensor | None],
) -> list[Tensor | None]:
    """Gradients that have gradients of their own, by doing once more what a function did.

    Args:
        plain: what it did, in operations of torch: from tensors to results.
        tensors: what it was given.
        needed: for each of them, whether its gradient is.
        gradients: of the results.
    """
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
