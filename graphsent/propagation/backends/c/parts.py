"""The functions of a cell with their gradients, and which of their values have arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graphsent.propagation.backends.c.arrays import (
    LEAVES,
    Unsupported,
    choose_arrays,
    needed,
)
from graphsent.propagation.recurrence.differentiation import Share, differentiate
from graphsent.propagation.recurrence.expressions import Value, reached
from graphsent.propagation.recurrence.recurrence import Traced


class Part:
    """One of the functions of a cell, with its gradients.

    Args:
        traced: the function.
        prefix: of the names of arrays.
        starts: whether its nodes are those of the first level.
    """

    def __init__(self, traced: Traced, prefix: str, *, starts: bool) -> None:
        self.traced, self.prefix, self.starts = traced, prefix, starts
        self.results = traced.results
        count = traced.num_values
        self.gradients = differentiate(traced.expressions, traced.results)
        self.values = reached(ref.value for part in self.results for ref in part)
        whole = [value for _, value in self._whole_results()]
        self.forward = choose_arrays(self.values, whole, set())
        behind = self.gradients.values()
        forward = set(self.values)
        self.back_values = [
            value
            for value in reached(behind)
            if value not in forward and (value.number >= count or value.op == "gradient")
        ]
        used = self._used_behind()
        self.kept = {value for value in needed(used, self.forward) if value in self.forward}
        roots = {share.sums for share in self.gradients.weights}
        known = set(self.forward) | set(self.values)
        self.backward = choose_arrays(self.back_values, roots, known) - set(self.values)
        self.direct = self._direct()

    def _used_behind(self) -> list[Value]:
        """Values of the forward pass that the backward pass reads, or what they are made of."""
        known = set(self.values)
        used = [v for value in self.back_values for v in value.inputs() if v in known]
        used += [v for v in self.gradients.values() if v in known]
        return used + [share.term.rows for share in self.gradients.weights]

    def _whole_results(self) -> list[tuple[int, Value]]:
        """Parts of the new state that are all columns of one value."""
        found = []
        for number, refs in enumerate(self.results):
            value = refs[0].value
            if len(refs) == 1 and refs[0] == value.ref() and value.op not in LEAVES:
                found.append((number, value))
        return found

    def _direct(self) -> dict[Value, int]:
        """The values whose array is that of a part of the states."""
        found: dict[Value, int] = {}
        for number, value in self._whole_results():
            if value.op not in ("product", "pack"):
                found.setdefault(value, number)
        return found

    def input_width(self, number: int) -> int:
        """Numbers in a row of an input."""
        return next(v.width for v in self.values if v.op == "input" and v.data == number)

    def differentiated_inputs(self, num_inputs: int) -> tuple[str, ...]:
        """Of which inputs, hoisted ones behind the others, there are gradients: "all" or ""."""
        count = num_inputs + len(self.traced.hoisted)
        return tuple("all" if n in self.gradients.inputs else "" for n in range(count))

    def differentiated_constants(self) -> tuple[str, ...]:
        """Whether the gradient of each constant is filled, or added to zeros."""
        return tuple(self._kind(number, shape) for number, shape in enumerate(self.traced.shapes))

    def _kind(self, number: int, shape: tuple[int, ...]) -> str:
        terms = [share.term for share in self.gradients.weights if share.term.weight == number]
        shares = self.gradients.constants.get(number, ())
        if terms and shares:
            raise Unsupported("it uses a parameter as a weight and as numbers")
        if not terms:
            return "" if not shares else "all" if width_of(shares) == math.prod(shape) else "some"
        filled: set[int] = set()
        for term in terms:
            columns = set(range(term.column, term.column + term.rows.width))
            if columns & filled and not columns <= filled:
                return "some"  # it would add to some columns what it stores in others
            filled |= columns
        return "all" if len(filled) == shape[1] else "some"


def width_of(shares: Sequence[Share]) -> int:
    """The columns up to the last of some shares."""
    return max(share.first + share.ref.width for share in shares)
