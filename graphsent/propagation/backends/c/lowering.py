"""The functions of a cell with their gradients, and which of their values are stored in arrays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations

from graphsent.propagation.recurrence.expressions import Domain, Value, reached
from graphsent.propagation.recurrence.operations import OPERATIONS
from graphsent.propagation.recurrence.recurrence import Traced

LEAVES = ("input", "constant", "state", "gradient", "number", "degree")
"""Values that are given."""

OVER_EDGES = ("sum", "pull", "prod", "others", "max", "amax", "first")
"""Loops over the edges of a node."""


class Lowered:
    """``start`` or ``combine`` of a cell, with its gradients.

    Args:
        traced: The function.
        starts: Whether it is ``start``.

    Attributes:
        values: Values of the forward pass, in order.
        back_values: Values of the backward pass, in order.
        forward: Values of the forward pass that are stored in arrays.
        kept: Those of them that the backward pass reads.
        backward: Values of the backward pass that are stored in arrays.
        direct: Values that are stored as a part of the states, with its number.
    """

    def __init__(self, traced: Traced, *, starts: bool) -> None:
        self.traced, self.starts = traced, starts
        self.results = traced.results
        self.gradients = traced.gradients
        self.values = reached(ref.value for part in self.results for ref in part)
        known = set(self.values)
        whole = {  # parts of the new state that are all columns of one value
            number: refs[0].value
            for number, refs in enumerate(self.results)
            if refs == [refs[0].value.ref()] and refs[0].value.op not in LEAVES
        }
        self.forward = _choose_arrays(self.values, whole.values())
        of_gradients = self.gradients.values()
        # Some may have been traced, but without use in the forward pass.
        self.back_values = [value for value in reached(of_gradients) if value not in known]
        used = [v for value in self.back_values for v in value.inputs() if v in known]
        used += [share.term.rows for share in self.gradients.weights]
        self.kept = self.forward.intersection(reached(used, self.forward))
        roots = [share.sums for share in self.gradients.weights]
        self.backward = _choose_arrays(self.back_values, roots)
        # On a GPU, products are computed by torch, in arrays of their own.
        self.direct = {value: n for n, value in whole.items() if value.op != "product"}


def _choose_arrays(values: Sequence[Value], roots: Iterable[Value]) -> set[Value]:
    """The values to store in arrays, among them the roots."""
    uses: dict[Value, list[tuple[Value, int, int]]] = defaultdict(list)
    for value in values:
        for ref in value.args:
            uses[ref.value].append((value, ref.first, ref.end))
    chosen = set(roots)
    for value in values:
        if value.op in LEAVES:
            continue
        slow = value.op not in OPERATIONS or OPERATIONS[value.op].slow
        if slow or _is_often_used(value, uses[value]):
            chosen.add(value)
        read = [term.rows for term in value.data] if value.op == "product" else []
        if value.op in ("max", "amax"):  # computed again, a maximum might differ in the last bit
            read = [ref.value for ref in value.args]
        chosen |= {one for one in read if one.op not in LEAVES}
    return chosen


def _is_often_used(value: Value, uses: list[tuple[Value, int, int]]) -> bool:
    """Whether some of its columns are used several times."""
    at_edges = value.domain != Domain.EDGE and any(
        user.domain == Domain.EDGE or user.op in OVER_EDGES for user, *_ in uses
    )
    pairs = combinations(uses, 2)
    return at_edges or any(a < last and first < b for (_, first, last), (_, a, b) in pairs)
