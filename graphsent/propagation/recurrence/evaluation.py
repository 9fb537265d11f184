"""Expressions in operations of torch, which autograd differentiates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from graphsent.propagation.linear import linear
from graphsent.propagation.recurrence.expressions import Domain, Ref, Value, reached
from graphsent.propagation.recurrence.operations import OPERATIONS

SUMMED_AT_ONCE = 256
"""Longer sums over edges are made in double precision: each addition costs a bit of its digits."""


class Evaluation:
    """The values of expressions at some nodes, and at the edges to them.

    A value that has a row for each source of edges has one for each edge here.

    Args:
        inputs: rows of the nodes, (num_nodes, width).
        constants: tensors by number.
        states: parts of the predecessors' states by edge, (num_edges, size); in slots (num_nodes,
            num_slots, size).
        target: (num_edges,) the node of each edge, without slots.
        degree: of none of the nodes there are more edges.
        known: values that are known already.
    """

    def __init__(
        self,
        inputs: Sequence[Tensor],
        constants: Sequence[Tensor],
        states: Sequence[Tensor] = (),
        target: Tensor | None = None,
        degree: int = 0,
        known: Mapping[Value, Tensor] | None = None,
    ) -> None:
        self.inputs, self.constants, self.states = inputs, constants, states
        self.degree = degree
        self.target: Any = target  # which is read without slots alone
        self.values: dict[Value, Tensor] = dict(known or {})
        self._at_edges: dict[Ref, Tensor] = {}

    def run(self, values: Iterable[Value]) -> None:
        """Computes values, in an order in which they can be."""
        for value in values:
            if value not in self.values:
                self.values[value] = self._made(value)

    def joined(self, refs: Sequence[Ref]) -> Tensor:
        """Columns of computed values at nodes side by side, (num_nodes, width)."""
        return _side_by_side([self.rows(ref, Domain.NODE) for ref in refs])

    def rows(self, ref: Ref, domain: Domain) -> Tensor:
        """Columns of a value, a row for each node or each edge."""
        of_nodes = domain == Domain.NODE
        count = max(map(len, self.inputs)) if of_nodes else len(self.target)
        return self.read(ref, domain).expand(count, ref.width)

    def read(self, ref: Ref, domain: Domain) -> Tensor:
        """Columns of a value, at nodes or at edges; those of constants are one row, (width,)."""
        if domain == Domain.EDGE and ref.value.domain == Domain.NODE:
            if ref not in self._at_edges:
                rows = self.read(ref, Domain.NODE)
                self._at_edges[ref] = rows.index_select(0, self.target)
            return self._at_edges[ref]
        rows = self.values[ref.value]
        if ref.spread:
            return rows.narrow(-1, ref.first, 1).expand(*rows.shape[:-1], ref.width)
        return rows if ref.width == ref.value.width else rows.narrow(-1, ref.first, ref.width)

    def _made(self, value: Value) -> Tensor:
        op, data = value.op, value.data
        if op in OPERATIONS:
            return OPERATIONS[op].function(*(self.read(ref, value.domain) for ref in value.args))
        if op == "input":
            return self.inputs[data]
        if op == "constant":
            return self.constants[data].reshape(-1)
        if op == "state":
            part, slot = data
            return self.states[part] if slot is None else self.states[part][:, slot]
        if op == "number":
            return self.inputs[0].new_full((1,), data)
        if op == "product":
            return self._product(value)
        if op == "degree":
            return self._sum(self.inputs[0].new_ones(len(self.target), 1))
        if op == "pack":
            return _side_by_side([self.rows(ref, value.domain) for ref in value.args])
        args = [self.read(ref, value.domain) for ref in value.args]
        if op == "rowsum":
            return args[0].sum(-1, keepdim=True)
        if op == "back":
            return args[0] @ self._weight(data.weight, data.column, value.width)
        rows = self.read(value.args[0], Domain.EDGE)
        if op == "pull":  # of each edge from a source by itself
            return rows
        return self._sum(rows) if op == "sum" else self._softmax(rows)

    def _weight(self, number: int, column: int, width: int) -> Tensor:
        return self.constants[number].narrow(1, column, width)

    def _product(self, value: Value) -> Tensor:
        (rows, number, column, _), *others = value.data
        total = linear(self.values[rows], self._weight(number, column, rows.width))
        for rows, number, column, _ in others:
            total.addmm_(self.values[rows], self._weight(number, column, rows.width).t())
        return total

    def _sum(self, rows: Tensor) -> Tensor:
        """Sums over the edges to each node."""
        dtype = torch.float64 if self.degree > SUMMED_AT_ONCE else rows.dtype
        sums = rows.new_zeros(len(self.inputs[0]), rows.shape[1], dtype=dtype)
        return sums.index_add(0, self.target, rows.to(dtype)).to(rows.dtype)

    def _softmax(self, scores: Tensor) -> Tensor:
        target = self.target
        highest = scores.new_full((len(self.inputs[0]), scores.shape[1]), -torch.inf)
        index = target.unsqueeze(1).expand_as(scores)
        highest.scatter_reduce_(0, index, scores.detach(), "amax")
        weights = torch.exp(scores - highest.index_select(0, target))
        return weights / self._sum(weights).index_select(0, target)


def _side_by_side(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts, -1)


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
        evaluation = Evaluation([*rows, *results], constants)
        evaluation.run(reached([value]))
        results.append(evaluation.joined([value.ref()]))
    return [result.squeeze(0) if flat else result for result in results]


def chosen_rows(weight: Tensor, ranges: Sequence[tuple[int, int]]) -> Tensor:
    """Ranges of the rows of a weight or bias one below the other, which give such columns.

    Args:
        weight: (out_feats, ...).
        ranges: the first and the last row + 1 of each range, in order.
    """
    ends = [end for pair in ranges for end in pair]
    sizes = [after - before for before, after in pairwise((0, *ends, len(weight)))]
    return torch.cat(weight.split(sizes)[1::2])


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
