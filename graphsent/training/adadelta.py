"""Adadelta for tables of which a batch touches few rows."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Adadelta

from graphsent.propagation.compiled import library_of
from graphsent.training.adagrad import distinct_rows, has_rows

__all__ = ["RowAdadelta"]


class RowAdadelta(Adadelta):
    r"""torch's Adadelta, which takes gradients of some rows of a table, too.

    .. math::
        E \leftarrow \rho E + (1 - \rho) g^2, \qquad
        \Delta = \frac{\sqrt{D + \epsilon}}{\sqrt{E + \epsilon}}\, g, \qquad
        D \leftarrow \rho D + (1 - \rho) \Delta^2, \qquad
        \theta \leftarrow \theta - \eta \Delta

    (Zeiler 2012). Where g is zero :math:`\theta` stays, and E and D are multiplied by
    :math:`\rho`: a row without gradient makes up for that when it next has one, by the number of
    steps since. The numbers are those that torch's Adadelta makes of the gradient of the whole
    table, but for rounding; ``last`` in the state is the step up to which E and D of each row are.
    Dense gradients, and other options, are left to torch, which takes no sparse ones.
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """A step; returns what the closure does, if there is one."""
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
            for table, group, _ in tables:
                self._step_on_rows(table, group)
                table.grad = None
            # Without what torch wraps round it: hooks on steps are called for this one already.
            inspect.unwrap(Adadelta.step)(self)
        finally:
            for table, _, gradient in tables:
                table.grad = gradient
        return loss

    def _step_on_rows(self, table: Tensor, group: dict[str, Any]) -> None:
        state = self.state[table]
        if not state:
            state["step"] = torch.zeros(())
            state["square_avg"], state["acc_delta"] = (torch.zeros_like(table) for _ in range(2))
        if "last" not in state:
            state["last"] = table.new_full((len(table),), float(state["step"]))
        state["step"] += 1
        rows, gradient = distinct_rows(table.grad)
        step, (rho, eps) = int(state["step"]), (group["rho"], group["eps"])
        sums = state["square_avg"], state["acc_delta"], table, state["last"]
        if _step_in_c(rows, gradient, sums, step, float(group["lr"]), rho, eps):
            return
        decay = rho ** (step - 1 - state["last"].index_select(0, rows))[:, None]
        squares = state["square_avg"].index_select(0, rows) * decay * rho
        moved = state["acc_delta"].index_select(0, rows) * decay
        squares.addcmul_(gradient, gradient, value=1 - rho)
        change = (moved + eps).sqrt_().div_((squares + eps).sqrt_()).mul_(gradient)
        moved.mul_(rho).addcmul_(change, change, value=1 - rho)
        state["square_avg"].index_copy_(0, rows, squares)
        state["acc_delta"].index_copy_(0, rows, moved)
        state["last"].index_fill_(0, rows, step)
        table.index_add_(0, rows, change, alpha=-float(group["lr"]))


def _step_in_c(
    rows: Tensor,
    gradient: Tensor,
    sums: tuple[Tensor, ...],
    step: int,
    rate: float,
    rho: float,
    eps: float,
) -> bool:
    """The same in one pass; False where there is no compiled code for it."""
    given = (gradient, *sums)
    library, table = library_of(*given), sums[2]
    if library is None or table.dim() != 2 or not all(part.is_contiguous() for part in given):
        return False
    rows = rows.contiguous()
    pointers = (part.data_ptr() for part in (rows, *given))
    return bool(
        library.adadelta_rows(*table.shape, len(rows), *pointers, step, rate, rho, eps)
    )
