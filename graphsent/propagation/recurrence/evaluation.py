"""Evaluation of expressions by operations of torch, differentiable by autograd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from graphsent.propagation.linear import linear
from graphsent.propagation.recurrence.expressions import Domain, Ref, Term, Value, reached
from graphsent.propagation.recurrence.operations import OPERATIONS

SUMMED_AT_ONCE = 256
"""Longer sums over edges are computed in double precision, in C in parts of this length, to limit
rounding errors."""


class Evaluation:
    """Evaluates expressions, the columns of each result, with given constants, level by level."""

    def __init__(self, results: Sequence[Sequence[Ref]], constants: Sequence[Tensor]) -> None:
        self.results, self.constants = results, constants
        self.order = reached(ref.value for part in results for ref in part)
        self._common: dict[Value, Tensor] = {}  # shared by all nodes
        self._weights: dict[Term, Tensor] = {}

    def at(
        self,
        inputs: Sequence[Tensor],
        states: Sequence[Tensor] = (),
        target: Tensor | None = None,
        degree: int = 0,
    ) -> list[Tensor]:
        """The results at some nodes, (num_nodes, width) each.

        Here, values of the domain of sources have a row per edge.

        Args:
            inputs: Rows of the nodes, (num_nodes, width).
            states: Parts of the predecessors' states by edge, (num_edges, size); in slots
                (num_nodes, num_slots, size).
            target: (num_edges,) target node of each edge; None with slots.
            degree: The highest in-degree of the nodes.
        """
        self.inputs, self.states, self.degree = inputs, states, degree
        self.count = max(map(len, inputs))
        self.target: Any = target  # read only without slots
        self.values = dict(self._common)
        for value in self.order:
            if value not in self.values:
                self.values[value] = self._made(value)
                if value.domain == Domain.NODE and self.values[value].dim() == 1:  # of constants
                    self.values[value] = self.values[value].expand(self.count, value.width)
                if value.domain == Domain.CONSTANT:
                    self._common[value] = self.values[value]
        return [self.joined(refs, Domain.NODE) for refs in self.results]

    def weight(self, term: Term) -> Tensor:
        """The columns of a weight in a product, narrowed once for all levels, as their gradient."""
        if term not in self._weights:
            weight = self.constants[term.weight]
            self._weights[term] = weight.narrow(1, term.column, term.rows.width)
        return self._weights[term]

    def joined(self, refs: Sequence[Ref], domain: Domain) -> Tensor:
        """Columns of values side by side, one row per node or per edge."""
        count = self.count if domain == Domain.NODE else len(self.target)
        parts = [self.read(ref, domain).expand(count, ref.width) for ref in refs]
        return parts[0] if len(parts) == 1 else torch.cat(parts, -1)

    def read(self, ref: Ref, domain: Domain) -> Tensor:
        """Columns of a value at nodes or at edges; constants are one row, (width,)."""
        if domain == Domain.EDGE and ref.value.domain == Domain.NODE:
            return self.spread(self.read(ref, Domain.NODE))
        value, first, width, spread = ref
        rows, taken = self.values[value], 1 if spread else width
        if taken < value.width:
            rows = rows.narrow(-1, first, taken)
        return rows.expand(*rows.shape[:-1], width) if spread else rows

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
            return self._product(data)
        if op == "degree":
            return self.sum(self.inputs[0].new_ones(len(self.target), 1))
        if op == "pack":
            return self.joined(value.args, value.domain)
        if op == "rowsum":
            return self.read(value.args[0], value.domain).sum(-1, keepdim=True)
        return getattr(self, op)(self.read(value.args[0], Domain.EDGE))

    def _product(self, terms: Sequence[Term]) -> Tensor:
        first, *others = terms
        total = linear(self.values[first.rows], self.weight(first))
        for term in others:
            total.addmm_(self.values[term.rows], self.weight(term).t())
        return total

    def wide(self, rows: Tensor) -> Tensor:
        """Rows in the precision of sums over edges."""
        return rows.double() if self.degree > SUMMED_AT_ONCE else rows

    def spread(self, rows: Tensor) -> Tensor:
        """Gathers rows of targets: (num_nodes, width) -> (num_edges, width); sums gradients."""
        return self.wide(rows).index_select(0, self.target).to(rows.dtype)

    def sum(self, rows: Tensor) -> Tensor:
        """Sums over the edges to each node: (num_edges, width) -> (num_nodes, width)."""
        sums = self.wide(rows.new_zeros(len(self.inputs[0]), rows.shape[1]))
        return sums.index_add(0, self.target, self.wide(rows)).to(rows.dtype)

    def prod(self, rows: Tensor) -> Tensor:
        """As :meth:`sum`, products, which ``scatter_reduce`` cannot differentiate twice."""
        target, ordinal = self.target, torch.arange(len(rows), device=rows.device)
        place = ordinal - torch.searchsorted(target, target)  # among the edges of its target
        while len(second := torch.nonzero(place % 2).squeeze(1)):  # multiply pairs of neighbours
            first = torch.nonzero(place % 2 == 0).squeeze(1)
            others = torch.ones_like(rows).index_copy(0, second - 1, rows[second])
            rows, target, place = (rows * others)[first], target[first], place[first] // 2
        return rows.new_ones(len(self.inputs[0]), rows.shape[1]).index_copy(0, target, rows)

    def amax(self, rows: Tensor) -> Tensor:
        """As :meth:`sum`, maxima; gradients go evenly to all that are the largest."""
        # NaN, which equals nothing: even the values it replaces would take part of the gradient.
        return self.reduced(rows, "amax", torch.nan)

    def max(self, rows: Tensor) -> Tensor:
        """As :meth:`sum`, maxima; gradients go to the first that is the largest."""
        known = rows.detach()
        largest = (known == self.amax(known).index_select(0, self.target)) | known.isnan()
        edges = torch.arange(len(rows), device=rows.device).unsqueeze(1)
        return rows.gather(0, self.reduced(torch.where(largest, edges, len(rows)), "amin", 0))

    def reduced(self, rows: Tensor, how: str, missing: float) -> Tensor:
        """Reduces rows over the edges to each node, as ``Tensor.scatter_reduce`` does."""
        results = rows.new_full((len(self.inputs[0]), rows.shape[1]), missing)
        index = self.target.unsqueeze(1).expand_as(rows)
        return results.scatter_reduce(0, index, rows, how, include_self=False)


def hoisted_inputs(
    hoisted: Sequence[Value], inputs: Sequence[Tensor], constants: Sequence[Tensor]
) -> list[Tensor]:
    """Values that depend only on inputs, computed for all nodes at once.

    Args:
        hoisted: These values in order; later ones may depend on earlier ones.
        inputs: (num_rows, width) each, or (width,) for all nodes.
        constants: Tensors by number.

    Returns:
        (num_rows, width) for each value, or (width,) if all inputs are for all nodes.
    """
    rows = [part if part.dim() > 1 else part.unsqueeze(0) for part in inputs]
    flat = all(part.dim() == 1 for part in inputs)
    results: list[Tensor] = []
    for value in hoisted:
        results += Evaluation([[value.ref()]], constants).at([*rows, *results])
    return [result.squeeze(0) if flat else result for result in results]
