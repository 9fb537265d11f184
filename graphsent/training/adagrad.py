"""AdaGrad for tables of which a batch uses few rows."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Adagrad

__all__ = ["RowAdagrad", "distinct_rows", "has_rows"]


class RowAdagrad(Adagrad):
    r"""torch's AdaGrad, with row-sparse steps that cost time in proportion to their rows.

    .. math::
        G \leftarrow G + g^2, \qquad \theta \leftarrow \theta - \eta\, g / (\sqrt G + \epsilon)

    for the rows with a gradient g. Results, options and state are those of ``torch.optim.Adagrad``
    (Duchi et al. 2011), which for the same step creates several sparse tensors and sorts their
    rows. All other cases fall back to it, including those it rejects, such as weight decay with
    sparse gradients.
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Takes a step; returns the result of the closure, if given."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        tables = [
            (table, group, table.grad)
            for group in self.param_groups
            if not (group["weight_decay"] or group["maximize"] or group["differentiable"])
            for table in group["params"]
            if table.grad is not None and has_rows(table.grad)
        ]
        try:
            for table, group, gradient in tables:
                self._step_on_rows(table, gradient, group)
                table.grad = None
            # Unwrapped: the hooks on steps have already been called for this one.
            inspect.unwrap(Adagrad.step)(self)
        finally:
            for table, _, gradient in tables:
                table.grad = gradient
        return loss

    def _step_on_rows(self, table: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state, eps = self.state[table], group["eps"]
        state["step"] += 1
        rate = float(group["lr"]) / (1 + (float(state["step"]) - 1) * group["lr_decay"])
        rows, values = distinct_rows(gradient)
        sums = state["sum"]
        sums.index_add_(0, rows, values.square())
        step = values / sums.index_select(0, rows).sqrt_().add_(eps)
        table.index_add_(0, rows, step, alpha=-rate)


def has_rows(gradient: Tensor) -> bool:
    """Whether a gradient is sparse in its rows only."""
    return gradient.is_sparse and gradient.sparse_dim() == 1


def distinct_rows(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """The row indices of a sparse gradient, without duplicates, and their values."""
    rows = gradient._indices()[0]
    if not gradient.is_coalesced() and (not rows.is_cpu or len(rows.unique()) < len(rows)):
        gradient = gradient.coalesce()
        rows = gradient._indices()[0]
    return rows, gradient._values()
