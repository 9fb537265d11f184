"""Expressions in operations of torch, which autograd differentiates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from graphsent.propagation.recurrence.expressions import Domain, Ref, Value, reached
from graphsent.propagation.recurrence.operations import POINTWISE

_POINTWISE = {**POINTWISE, "relu": torch.relu}  # others have another gradient at 0


class Evaluation:
    """The values of expressions at some nodes with the same number of predecessors.

    Args:
        states: parts of the predecessors' states, (nodes, predecessors, size).
        inputs: rows of the nodes, (nodes, width).
        constants: tensors by number.
    """

    def __init__(
        self, states: Sequence[Tensor], inputs: Sequence[Tensor], constants: Sequence[Tensor]
    ) -> None:
        self.states, self.inputs, self.constants = states, inputs, constants
        self.values: dict[int, Tensor] = {}

    def run(self, values: Iterable[Value]) -> None:
        """Computes some values, and all they are made of."""
        for value in reached(values):
            if id(value) not in self.values:
                self.values[id(value)] = self._made(value)

    def joined(self, refs: Sequence[Ref]) -> Tensor:
        """Columns side by side, (nodes, width)."""
        self.run(ref.value for ref in refs)
        rows = next((part for part in (*self.inputs, *self.states)), None)
        parts = []
        for ref in refs:
            part = self._read(ref, Domain.NODE)
            parts.append(part.expand(len(rows), -1) if part.dim() < 2 else part)
        return parts[0] if len(parts) == 1 else torch.cat(parts, -1)

    def _made(self, value: Value) -> Tensor:
        if value.op == "input":
            return self.inputs[value.data]
        if value.op == "constant":
            return self.constants[value.data].reshape(-1)
        if value.op == "state":
            part, slot = value.data
            return self.states[part] if slot is None else self.states[part][:, slot]
        if value.op == "number":
            like = (*self.inputs, *self.states)[0]
            return like.new_full((1,), value.data)
        if value.op == "degree":
            state = self.states[0]
            return state.new_full((len(state), 1), state.shape[1])
        if value.op == "product":
            return self._product(value)
        args = [self._read(ref, value.domain) for ref in value.args]
        return self._operation(value, args)

    def _operation(self, value: Value, args: list[Tensor]) -> Tensor:
        if value.op in _POINTWISE:
            return _POINTWISE[value.op](*args)
        if value.op == "fixed":
            return args[0].detach()
        if value.op == "rowsum":
            return args[0].sum(-1, keepdim=True)
        if value.op == "pack":
            return torch.cat(args, -1)
        arg = self._read(value.args[0], Domain.EDGE)
        return arg.sum(1) if value.op == "sum" else torch.softmax(arg, 1)

    def _product(self, value: Value) -> Tensor:
        total = None
        for rows, number, column, first, width in value.data:
            weight = self.constants[number][:, column : column + rows.width]
            part = functional.linear(self.values[id(rows)], weight)
            if width < value.width:
                part = functional.pad(part, (first, value.width - first - width))
            total = part if total is None else total + part
        return total

    def _read(self, ref: Ref, domain: Domain) -> Tensor:
        rows = self.values[id(ref.value)]
        rows = rows[..., ref.first : ref.first + (1 if ref.spread else ref.width)]
        if ref.spread:
            rows = rows.expand(*rows.shape[:-1], ref.width)
        return rows.unsqueeze(1) if domain == Domain.EDGE and rows.dim() == 2 else rows


def hoisted_inputs(
    hoisted: Sequence[Value], inputs: Sequence[Tensor], constants: Sequence[Tensor]
) -> list[Tensor]:
    """Inputs that are made of others for all nodes at once.

    Args:
        hoisted: what they are, in order; later ones may be made of the ones before.
        inputs: (num_rows, width) each, or (width,) for all nodes.
        constants: tensors by number.

    Returns:
        (num_rows, width) for each, or (width,) if all inputs are for all nodes.
    """
    rows = [part if part.dim() > 1 else part.unsqueeze(0) for part in inputs]
    flat = all(part.dim() == 1 for part in inputs)
    results: list[Tensor] = []
    for value in hoisted:
        result = Evaluation((), [*rows, *results], constants).joined([value.ref()])
        results.append(result)
    return [result.squeeze(0) if flat else result for result in results]


def placed_columns(rows: Tensor, columns: Sequence[tuple[int, int]], width: int) -> Tensor:
    """Ranges of columns where they belong, zeros in all others.

    Args:
        rows: (num_rows, n), the ranges side by side.
        columns: the first and the last column + 1 of each range, in order.
        width: number of columns of the result.
    """
    parts, end = [], 0
    made = rows.split([last - first for first, last in columns], 1)
    for (first, last), part in zip(columns, made, strict=True):
        parts.append(functional.pad(part, (first - end, 0)))
        end = last
    return functional.pad(torch.cat(parts, 1), (0, width - end))
