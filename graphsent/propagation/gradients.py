"""Saved tensors of autograd functions that run compiled code, and a check of their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from graphsent.propagation.errors import PropagationError

_functorch: Any = torch._C._functorch  # pyright: ignore[reportAttributeAccessIssue]


class ReverseMode(Function):
    """Base class of autograd functions that have no forward mode."""

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """Raises a PropagationError: torch's own asks the user to implement this method."""
        raise PropagationError(
            "expected gradients in reverse mode, got tensors of torch.autograd.forward_ad: cells "
            'with engine="dgl" and dgl.prop_nodes_topo have forward mode'
        )


def is_batched(gradient: Tensor) -> bool:
    """Whether a gradient is a batch of gradients, which has no memory."""
    return bool(_functorch.is_legacy_batchedtensor(gradient))


def check_not_batched(*gradients: Tensor | None) -> None:
    """Raises a PropagationError if gradients of results are batched."""
    if any(part is not None and is_batched(part) for part in gradients):
        raise PropagationError(
            "expected gradients one at a time, got is_grads_batched=True or vectorize=True: "
            'cells with engine="dgl", layers with engine="torch" and dgl.prop_nodes_topo have '
            "batched gradients"
        )


def save(ctx: Any, *tensors: Tensor | None) -> None:
    """Saves tensors for :func:`saved`."""
    ctx.save_for_backward(*tensors)
    ctx.kinds = [_kind(part) for part in tensors]


def saved(ctx: Any) -> Sequence[Any]:
    """The saved tensors; raises a RuntimeError if one is of another kind than when it was saved.

    Then compiled code would read or write beyond it: autograd does not notice that ``part.data`` is
    another tensor, as after ``module.double()``.
    """
    tensors = ctx.saved_tensors
    for part, kind in zip(tensors, ctx.kinds, strict=True):
        if _kind(part) != kind:
            raise RuntimeError(
                f"expected a saved tensor {_shown(kind)} in the backward pass, got "
                f"{_shown(_kind(part))}: its data were replaced after the forward pass"
            )
    return tensors


def _kind(part: Tensor | None) -> Any:
    return None if part is None else (part.shape, part.dtype, part.device)


def _shown(kind: Any) -> str:
    return f"of shape {tuple(kind[0])} and {kind[1]} on {kind[2]}"
