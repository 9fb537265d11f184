"""Backward passes that can be run, but not differentiated again."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx

from graphsent.propagation.errors import PropagationError


class _Refuse(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, gradient: Tensor) -> Tensor:
        return gradient.view_as(gradient)

    @staticmethod
    def backward(ctx: FunctionCtx, *_: Tensor) -> Tensor:
        raise PropagationError(
            "expected gradients of first order, got gradients of gradients: this engine has none; "
            'a cell has them with engine="dgl", an LSTM or GRU with engine="torch"'
        )


def first_order(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Marks the ``backward`` of an autograd function whose gradients have no gradients.

    They can be computed with ``create_graph=True``, but raise a PropagationError when they are
    differentiated. (What torch has for this lets gradients pass as constants where the incoming
    ones need no gradient.)
    """

    @functools.wraps(backward)
    def wrapper(ctx: Any, *gradients: Tensor | None) -> Any:
        if not torch.is_grad_enabled():
            return backward(ctx, *gradients)
        with torch.no_grad():
            results = backward(ctx, *gradients)
        several = results if isinstance(results, tuple) else (results,)
        refusing = tuple(
            None if result is None else _Refuse.apply(result.detach().requires_grad_())
            for result in several
        )
        return refusing if isinstance(results, tuple) else refusing[0]

    return wrapper
