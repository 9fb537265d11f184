"""Buffers that are read and written level by level, differentiable and without copies.

To autograd an in-place write makes a new tensor: the gradient of a buffer that is written once per
level would be copied once per level. Here autograd sees reads and writes as operations on a
*token*. Each takes the token of the previous one, so that the backward pass visits them in exactly
the reverse order, and neither the values of a buffer nor their gradients are copied.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from graphsent.propagation.gradients import ReverseMode, check_not_batched
from graphsent.propagation.untraced import untraced

Rows = slice | Tensor
_engine: Any = torch.autograd.Variable._execution_engine


class Tape:
    """The order of all reads and writes of one propagation, in a ``with`` statement."""

    def __init__(self) -> None:
        self.token: Tensor | None = None  # of the last one; None until something has a gradient

    def __enter__(self) -> Tape:
        return self

    def __exit__(self, *_: object) -> None:
        # The history of the token holds the buffers, which hold the tape: a cycle through autograd
        # is never collected, and without a backward pass it would keep all states.
        self.token = None


class Buffer:
    """The values of one name at all rows; it takes over the memory of ``values``."""

    def __init__(self, tape: Tape, values: Tensor) -> None:
        self.tape = tape
        self.values = values.detach()
        self._gradients: dict[int, Tensor] = {}  # by backward pass: several may run at once
        if _has_gradient(values):
            tape.token = _Write.apply(self, None, tape.token, values)

    def read(self, rows: Rows) -> Tensor:
        """A copy of some rows, (len(rows), ...)."""
        if not self._recorded:
            return self.copy(rows)
        result, self.tape.token = _Read.apply(self, rows, self.tape.token)
        return result

    def write(self, rows: slice, values: Tensor) -> None:
        """Overwrites some rows, each at most once."""
        if self._recorded or _has_gradient(values):
            self.tape.token = _Write.apply(self, rows, self.tape.token, values)
        else:
            self.values[rows] = values

    def copy(self, rows: Rows) -> Tensor:
        """A copy of some rows, detached."""
        if isinstance(rows, slice):
            return self.values[rows].clone()
        return self.values.index_select(0, rows)

    def add_gradient(self, rows: Rows, gradient: Tensor) -> None:
        """Adds to the gradient of some rows."""
        gradients = self._gradient()
        if isinstance(rows, slice):
            gradients[rows] += gradient
        else:
            gradients.index_add_(0, rows, gradient)

    def take_gradient(self, rows: slice | None) -> Tensor:
        """The gradient of some rows, reset to 0: the values before a write had no effect.

        With None, that of all rows, which is not kept.
        """
        gradients = self._gradient()
        if rows is None:
            return self._gradients.pop(torch._C._current_graph_task_id())
        gradient = gradients[rows].clone()
        gradients[rows] = 0
        return gradient

    @property
    def _recorded(self) -> bool:
        return self.tape.token is not None and torch.is_grad_enabled()

    def _gradient(self) -> Tensor:
        """The gradients in this backward pass; freed when the pass ends."""
        backward_pass = torch._C._current_graph_task_id()
        if backward_pass not in self._gradients:
            self._gradients[backward_pass] = torch.zeros_like(self.values)
            _engine.queue_callback(lambda: self._gradients.pop(backward_pass, None))
        return self._gradients[backward_pass]


def _has_gradient(values: Tensor) -> bool:
    """Whether a write has to be recorded; it then refuses gradients in forward mode."""
    forward_mode = torch.autograd.forward_ad._current_level >= 0
    return forward_mode or (torch.is_grad_enabled() and values.requires_grad)


def _token(like: Tensor) -> Tensor:
    # It is empty; its device tells the backward pass which stream to run in.
    return like.new_empty(0, dtype=torch.float32)


class _Read(ReverseMode):
    @staticmethod
    def forward(ctx: Any, buffer: Buffer, rows: Rows, token: Tensor) -> tuple[Tensor, Tensor]:
        ctx.buffer, ctx.rows = buffer, rows
        # Zeros for states that nobody reads would take 4 % of a cell's step by `run_traced`.
        ctx.set_materialize_grads(False)
        return buffer.copy(rows), _token(buffer.values)

    @staticmethod
    @untraced
    def backward(
        ctx: Any, gradient: Tensor | None, token: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        check_not_batched(gradient)
        if gradient is not None:
            ctx.buffer.add_gradient(ctx.rows, gradient)
        return None, None, _token(ctx.buffer.values) if token is None else token


class _Write(ReverseMode):
    """Overwrites some rows of a buffer; with None, its values are those it was made from."""

    @staticmethod
    def forward(
        ctx: Any, buffer: Buffer, rows: slice | None, token: Tensor | None, values: Tensor
    ) -> Tensor:
        ctx.buffer, ctx.rows = buffer, rows
        if rows is not None:
            buffer.values[rows] = values
        return _token(buffer.values)

    @staticmethod
    @untraced
    def backward(ctx: Any, token: Tensor) -> tuple[Tensor | None, ...]:
        gradient = ctx.buffer.take_gradient(ctx.rows)
        before = token if ctx.needs_input_grad[2] else None
        return None, None, before, gradient
