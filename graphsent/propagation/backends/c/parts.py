"""The functions of a cell with their gradients, and which of their values have arrays."""

from __future__ import annotations

from graphsent.propagation.backends.c.arrays import LEAVES, choose_arrays, needed
from graphsent.propagation.recurrence.differentiation import differentiate
from graphsent.propagation.recurrence.expressions import Ref, Value, reached
from graphsent.propagation.recurrence.recurrence import Traced


class Part:
    """One of the functions of a cell, with its gradients.

    Args:
        traced: the function.
        prefix: of the names of arrays.
        starts: whether its nodes are those of the first level.
    """

    def __init__(self, traced: Traced, prefix: str, *, starts: bool) -> None:
        self.prefix, self.starts = prefix, starts
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
        self.backward = choose_arrays(self.back_values, (), set(self.forward) | set(self.values))
        self.backward -= set(self.values)
        self.aliases = self._aliases()
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

    def _aliases(self) -> dict[Ref, Ref]:
        """Columns that are in a pack of gradients."""
        found = {}
        for value in self.back_values:
            if value.op != "pack":
                continue
            first = 0
            for ref in value.args:
                plain = ref.value in self.backward or ref.value in self.forward
                if not (plain or ref.value.op in LEAVES or ref.spread):
                    found.setdefault(ref, Ref(value, first, ref.width))
                first += ref.width
        return found
