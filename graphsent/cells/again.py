"""The recursion of a fused run in operations of torch, for gradients of gradients."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor, nn

from graphsent.cells.fusion import Fused, overridden
from graphsent.cells.recursion import State
from graphsent.propagation.autocast import without_autocast
from graphsent.propagation.errors import PropagationError
from graphsent.propagation.levels import run_levels
from graphsent.propagation.schedule.schedule import Schedule
from graphsent.propagation.schedule.slots import Slots

if TYPE_CHECKING:
    from graphsent.cells.base import TreeCell


class Again(NamedTuple):
    """What a cell does by ``combine`` instead of by its rule, with the same numbers.

    Attributes:
        cell: the cell.
        fused: its rule, and the maps of this.
        schedule: of the graph, on the device of the tensors.
        slots: which predecessor is in which slot, of cells that tell them apart.
        inner: what ``combine`` reads at all nodes with predecessors, where these have no inputs
            and the rule reads the bias instead.
    """

    cell: TreeCell
    fused: Fused
    schedule: Schedule
    slots: Slots | None
    inner: Tensor | None

    def __call__(
        self, start: Sequence[Tensor], inputs: Tensor, maps: Sequence[Tensor | None]
    ) -> State:
        """See :data:`graphsent.propagation.gradients.Recur`."""
        if overridden(self.cell, "split_inputs_of_rule", "fused_inputs"):
            raise PropagationError(
                "expected gradients of first order, got gradients of gradients: "
                f"{type(self.cell).__name__} has a fused_inputs of its own, but no "
                "split_inputs_of_rule that goes back"
            )
        values = self._values(inputs, maps)
        if self.inner is not None:
            inputs = self.inner.detach()
        num_inner = self.schedule.num_nodes - self.schedule.num_sources
        columns = self.cell.split_inputs_of_rule(inputs.expand(num_inner, -1))
        cell = _with_values(self.cell, values)
        with without_autocast(inputs.device.type):
            return run_levels(cell.combine, self.schedule, start, columns, self.slots)

    def _values(
        self, inputs: Tensor, maps: Sequence[Tensor | None]
    ) -> dict[nn.Module, dict[str, Tensor]]:
        """The weights and biases of the cell's maps, by module and name."""
        fused = self.fused
        modules, weights = fused.maps, maps[1:]
        values = {
            module: {"weight": weight.view_as(module.weight)}
            for module, weight in zip(modules, weights, strict=True)
        }
        if fused.bias is not None:
            bias = maps[0] if self.inner is None else inputs
            values.setdefault(fused.bias, {})["bias"] = bias
        missing = values.keys() - set(self.cell.modules())
        if missing:
            raise PropagationError(
                "expected gradients of first order, got gradients of gradients: the rule of "
                f"{type(self.cell).__name__} has maps that are no modules of it: {missing}"
            )
        return values


def _with_values(module: nn.Module, values: Mapping[nn.Module, Mapping[str, Tensor]]) -> nn.Module:
    """A copy of a module in which those of some modules stand for their parameters."""
    twin = copy.copy(module)
    vars(twin).update(values.get(module, {}))
    vars(twin)["_modules"] = {
        name: None if child is None else _with_values(child, values)
        for name, child in module._modules.items()
    }
    return twin
