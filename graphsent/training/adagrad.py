"""AdaGrad for tables of which a batch uses few rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Adagrad

from graphsent.training.rows import distinct_rows, has_rows, step_by_rows

__all__ = ["RowAdagrad"]


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
        return step_by_rows(self, Adagrad, self._step, closure)

    def _step(self, table: Tensor, gradient: Tensor, group: dict[str, Any]) -> bool:
        unusual = group["weight_decay"] or group["maximize"] or group["differentiable"]
        if unusual or not has_rows(gradient):
            return False
        state, eps = self.state[table], group["eps"]
        state["step"] += 1
        rate = float(group["lr"]) / (1 + (float(state["step"]) - 1) * group["lr_decay"])
        rows, values = distinct_rows(gradient)
        sums = state["sum"]
        sums.index_add_(0, rows, values.square())
        step = values / sums.index_select(0, rows).sqrt_().add_(eps)
        table.index_add_(0, rows, step, alpha=-rate)
        return True
