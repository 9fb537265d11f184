"""Linear maps whose gradients over many levels cost less than torch's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from graphsent.propagation.autocast import autocast_enabled
from graphsent.propagation.untraced import untraced


class DeferredLinear(TorchFunctionMode):
    """While active, ``torch.nn.functional.linear`` leaves the gradients of weights to the end.

    A linear map of the rows of one level adds a product, and an addition to a tensor of the
    weight's size, to every level of the backward pass. Here each level only sets its rows aside:
    the gradient of a weight is one product over the rows of all levels. It passes to the weight
    through autograd as always, whether that is a parameter or computed itself.
    """

    def __init__(self) -> None:
        super().__init__()
        self._weights: dict[tuple[int, int], _Weight] = {}

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Replaces linear maps whose weight needs a gradient."""
        if func is not functional.linear or not torch.is_grad_enabled():
            return func(*args, **(kwargs or {}))
        return self._linear(*args, **(kwargs or {}))

    def _linear(self, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        needs_gradient = weight.requires_grad or (bias is not None and bias.requires_grad)
        # Which types of numbers are multiplied under autocast, and what the gradients are, is left
        # to torch.
        if not needs_gradient or autocast_enabled(input.device.type):
            return functional.linear(input, weight, bias)
        key = (id(weight), id(bias))
        if key not in self._weights:
            self._weights[key] = _Weight(weight, bias)
        known = self._weights[key]
        return _Linear.apply(known, input, known.token)


class _Weight:
    """A weight, and what its gradient is to be made of."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self.tensors = (weight, bias)  # kept, so that their ids stay theirs
        self.rows: list[tuple[Tensor, Tensor]] = []
        self._backward_pass = -1
        self.token = _Collect.apply(self, weight, bias)

    def add(self, rows: Tensor, gradient: Tensor) -> None:
        """Sets rows aside; those of another backward pass are of no use any more."""
        if self._backward_pass != (backward_pass := torch._C._current_graph_task_id()):
            self._backward_pass = backward_pass
            self.rows.clear()
        self.rows.append(tuple(part.reshape(-1, part.shape[-1]) for part in (rows, gradient)))


class _Collect(Function):
    """The gradients of a weight: in the backward pass it comes after all its uses."""

    @staticmethod
    def forward(ctx: FunctionCtx, known: _Weight, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.known = known
        return torch.empty(0, device="cpu")

    @staticmethod
    @untraced
    def backward(ctx: Any, token: Tensor) -> tuple[Tensor | None, ...]:
        if not ctx.known.rows:
            return None, None, None
        rows, gradients = (torch.cat(parts) for parts in zip(*ctx.known.rows, strict=True))
        ctx.known.rows.clear()
        weight = gradients.t() @ rows if ctx.needs_input_grad[1] else None
        return None, weight, gradients.sum(0) if ctx.needs_input_grad[2] else None


class _Linear(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, known: _Weight, input: Tensor, token: Tensor) -> Tensor:
        ctx.known = known
        weight, bias = known.tensors
        ctx.save_for_backward(input, weight)
        return functional.linear(input, weight, bias)

    @staticmethod
    @untraced
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        input, weight = ctx.saved_tensors
        ctx.known.add(input, gradient)
        dinput = gradient @ weight if ctx.needs_input_grad[1] else None
        return None, dinput, torch.empty(0, device="cpu")
