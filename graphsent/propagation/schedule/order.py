"""Rows of nodes by position in a schedule, and by number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx

from graphsent.propagation.memory import empty
from graphsent.propagation.schedule.schedule import Schedule


class _Permute(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, rows: Tensor, order: Tensor, inverse: Tensor) -> Tensor:
        ctx.save_for_backward(order, inverse)
        result = empty(len(order), *rows.shape[1:], like=rows)
        return torch.index_select(rows, 0, order, out=result)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        order, inverse = ctx.saved_tensors
        return _Permute.apply(gradient, inverse, order), None, None


def by_position(rows: Tensor, schedule: Schedule) -> Tensor:
    """Rows of nodes, in the order of the schedule."""
    return _Permute.apply(rows, schedule.nodes, schedule.position)


def by_node(rows: Tensor, schedule: Schedule) -> Tensor:
    """Rows in the order of the schedule, in the order of the graph's nodes."""
    return _Permute.apply(rows, schedule.position, schedule.nodes)


def in_order(
    states: Sequence[Tensor], schedule: Schedule, num_results: int | None
) -> tuple[Tensor, ...]:
    """So many parts of states by position, by node; all as they are if it is None."""
    if num_results is None:
        return tuple(states)
    return tuple(by_node(part, schedule) for part in states[:num_results])
