"""Adadelta for tables of which a batch uses few rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Adadelta

from graphsent.kernels.library import kernels_for
from graphsent.training.rows import distinct_rows, has_rows, step_by_rows

__all__ = ["RowAdadelta"]


class RowAdadelta(Adadelta):
    r"""torch's Adadelta, fused, and with support for row-sparse gradients.

    .. math::
        E \leftarrow \rho E + (1 - \rho) g^2, \qquad
        \Delta = \frac{\sqrt{D + \epsilon}}{\sqrt{E + \epsilon}}\, g, \qquad
        D \leftarrow \rho D + (1 - \rho) \Delta^2, \qquad
        \theta \leftarrow \theta - \eta \Delta

    (Zeiler 2012). Where g is zero, :math:`\theta` does not change, and E and D decay by
    :math:`\rho`. A row without a gradient catches up on this decay when it next receives one, for
    all steps since. Results equal those of torch's Adadelta on the dense gradient, up to rounding;
    ``last`` in the state is the step to which E and D of each row are up to date. Without compiled
    code, or with other options, it falls back to torch, which rejects weight decay with sparse
    gradients.
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Takes a step; returns the result of the closure, if given."""
        return step_by_rows(self, Adadelta, self._step, closure)

    def _step(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> bool:
        unusual = group["maximize"] or group["differentiable"] or group["capturable"]
        by_rows = has_rows(gradient) and not group["weight_decay"]
        if not by_rows and "last" in self.state[parameter]:
            _catch_up(self.state[parameter], group["rho"])
        if unusual:
            return False
        if by_rows:
            _step_on_rows(parameter, *distinct_rows(gradient), self._state_of(parameter), group)
            return True
        if kernels_for(parameter, gradient) is None:
            return False
        # The whole parameter as a single row.
        state = self._state_of(parameter)
        last = parameter.new_full((1,), float(state["step"]))
        parts = (gradient, state["square_avg"], state["acc_delta"], parameter)
        if not all(part.is_contiguous() for part in parts):
            return False
        row, squares, moved, table = (part.view(1, -1) for part in parts)
        rows = torch.zeros(1, dtype=torch.int64, device="cpu")
        state["step"] += 1
        return _step_in_c(rows, row, squares, moved, table, last, state["step"], group)

    def _state_of(self, parameter: Tensor) -> dict[str, Any]:
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros((), device="cpu")
            state["square_avg"] = torch.zeros_like(parameter)
            state["acc_delta"] = torch.zeros_like(parameter)
        return state


def _catch_up(state: dict[str, Any], rho: float) -> None:
    """Brings E and D of all rows up to date, before a dense gradient."""
    decay = _decay(rho, float(state["step"]) - state.pop("last"), state["square_avg"])
    state["square_avg"].mul_(decay)
    state["acc_delta"].mul_(decay)


def _decay(rho: float, num_steps: Tensor, table: Tensor) -> Tensor:
    """The factor of each row after steps without a gradient, with the dimensions of a table."""
    return (rho**num_steps).view(-1, *[1] * (table.dim() - 1))


def _step_on_rows(
    table: Tensor, rows: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]
) -> None:
    squares, moved = state["square_avg"], state["acc_delta"]
    if "last" not in state:
        state["last"] = table.new_full((len(table),), float(state["step"]))
    last = state["last"]
    state["step"] += 1
    if _step_in_c(rows, gradient, squares, moved, table, last, state["step"], group):
        return
    step, rho, eps = float(state["step"]), group["rho"], group["eps"]
    decay = _decay(rho, step - 1 - last.index_select(0, rows), table)
    square = squares.index_select(0, rows) * decay * rho
    square.addcmul_(gradient, gradient, value=1 - rho)
    way = moved.index_select(0, rows) * decay
    change = (way + eps).sqrt_().div_((square + eps).sqrt_()).mul_(gradient)
    way.mul_(rho).addcmul_(change, change, value=1 - rho)
    squares.index_copy_(0, rows, square)
    moved.index_copy_(0, rows, way)
    last.index_fill_(0, rows, step)
    table.index_add_(0, rows, change, alpha=-float(group["lr"]))


def _step_in_c(
    rows: Tensor,
    gradient: Tensor,
    squares: Tensor,
    moved: Tensor,
    table: Tensor,
    last: Tensor,
    step: Tensor,
    group: dict[str, Any],
) -> bool:
    """The fused equivalent; returns False if there is no compiled code for it."""
    given = (gradient, squares, moved, table, last)
    library = kernels_for(*given)
    if library is None or table.dim() != 2 or not all(part.is_contiguous() for part in given):
        return False
    rows = rows.contiguous()
    pointers = (part.data_ptr() for part in (rows, *given))
    numbers = (float(group[name]) for name in ("lr", "rho", "eps", "weight_decay"))
    return bool(library.adadelta_rows(*table.shape, len(rows), *pointers, int(step), *numbers))
