"""The memory layout of the values of a recurrence."""

from __future__ import annotations

from graphsent.propagation.backends.c.lowering import Lowered
from graphsent.propagation.recurrence.expressions import Domain, Term, Value, reached
from graphsent.propagation.recurrence.recurrence import Recurrence

NODE, SOURCE, EDGE = Domain.NODE, Domain.SOURCE, Domain.EDGE
ROW = {NODE: "r", SOURCE: "q", EDGE: "e"}
"""Names of row indices in C."""
ROWS = {NODE: "s->inner", SOURCE: "s->num_rows", EDGE: "w->num_edges"}
"""Numbers of rows of ``combine`` in C."""
GROUPS = ("WHOLE", "KEPT", "FORWARD", "BACKWARD", "FORWARD_BLOCK", "BACKWARD_BLOCK")
"""Groups of arrays, see ``recurrence_memory.h``."""


class Layout:
    """The arrays of a walk over a recurrence.

    Args:
        recurrence: The recurrence.
        blocks: Whether each thread computes one block of rows after the other, and arrays that are
            read only there have the size of a block; otherwise all arrays have all rows.

    Attributes:
        names: Name of the array of each value that is stored, except parts of the states.
        arrays: Size of each array in numbers, as C code, by group and name.
    """

    def __init__(self, recurrence: Recurrence, *, blocks: bool = True) -> None:
        self.recurrence, self.blocks = recurrence, blocks
        self.size, self.slotted = recurrence.size, recurrence.num_slots is not None
        self.count = recurrence.num_slots or 0
        self.combine = Lowered(recurrence.combine, starts=False)
        self.start = Lowered(recurrence.start, starts=True)
        self.names: dict[Value, str] = {}
        self.arrays: dict[str, dict[str, str]] = {group: {} for group in GROUPS}
        for lowered in (self.combine, self.start):
            self._place(lowered)

    # Arrays

    def _place(self, lowered: Lowered) -> None:
        own = lowered.forward - lowered.direct.keys()
        for value in sorted(own, key=lambda value: value.number):
            if value.domain == SOURCE:
                self._add(lowered, value, "WHOLE")
            elif not self.blocks:
                self._add(lowered, value, "FORWARD")
            else:
                self._add(lowered, value, "KEPT" if value in lowered.kept else "FORWARD_BLOCK")
        whole = self._read_after_block(lowered)
        for value in sorted(lowered.backward, key=lambda value: value.number):
            all_rows = value in whole or value.domain == SOURCE or not self.blocks
            self._add(lowered, value, "BACKWARD" if all_rows else "BACKWARD_BLOCK")

    def _add(self, lowered: Lowered, value: Value, group: str) -> None:
        rows = "w->num_starts" if lowered.starts else ROWS[value.domain]
        weights = lowered.gradients.weights
        if any(share.sums is value and self.of_slot(share.term) for share in weights):
            rows = f"({rows} + s->places.first_pair[COUNT])"
        block = "s->edge_block" if value.domain == EDGE else "s->block"
        name = self.names[value] = f"{'w' if lowered.starts else 'v'}{value.number}"
        numbers = f"{block if group.endswith('BLOCK') else rows} * {value.width}"
        if group == "KEPT":
            numbers += f", {block} * {value.width}"
        self.arrays[group][name] = numbers

    def of_slot(self, term: Term) -> bool:
        """Whether a term multiplies the state in a slot."""
        return self.slotted and term.rows.op == "state"

    def _read_after_block(self, lowered: Lowered) -> set[Value]:
        """Arrays of the backward pass that are read after their block, by sources or weights."""
        readers = [value for value in lowered.back_values if value.op == "pull"]
        read = [ref.value for value in readers for ref in value.args]
        read += [s.ref.value for shares in lowered.gradients.states.values() for s in shares]
        stored = lowered.forward | lowered.backward
        whole = stored.intersection(reached(read, stored))
        return whole | {share.sums for share in lowered.gradients.weights}

    # Addresses

    def address(self, lowered: Lowered, value: Value) -> str:
        """The address of a row of a value."""
        state_row = "r" if lowered.starts else "(w->num_starts + r)"
        if value.op == "input":
            if lowered.starts:
                given = f"w->start_inputs[{value.data}]"
                given = given if value.data else f"(s->projected ? s->projected : {given})"
                return f"{given} + r * {value.width}"
            rows = f"w->input_rows[{value.data}]"
            row = f"({rows} ? {rows}[r] : r) * w->input_strides[{value.data}]"
            return f"w->inputs[{value.data}] + {row}"
        if value.op == "constant":
            return f"w->constants[{self.constant(lowered, value.data)}]"
        if value.op == "state":
            number, slot = value.data
            row = "q" if slot is None else f"s->rows[r * {self.count} + {slot}]"
            return f"s->state[{number}] + {row} * {self.size}"
        if value.op == "gradient":
            return f"s->dstate[{value.data}] + {state_row} * {self.size}"
        if value in lowered.direct:
            return f"s->state[{lowered.direct[value]}] + {state_row} * {self.size}"
        name, row = self.names[value], ROW[value.domain]
        origin = "s->first_edge" if value.domain == EDGE else "first"
        if name in self.arrays["KEPT"]:
            row = f"({row} - (w->keep ? 0 : {origin}))"
        elif name in self.arrays["FORWARD_BLOCK"] or name in self.arrays["BACKWARD_BLOCK"]:
            row = f"({row} - {origin})"
        return f"s->{name} + {row} * {value.width}"

    def block(self, value: Value) -> str:
        """The address of the first row of a block of ``combine``."""
        return self._rows_from("s->first_edge" if value.domain == EDGE else "first", value)

    def all_rows(self, value: Value) -> str:
        """The address of the first of all rows of ``combine``."""
        return self._rows_from("0, first = 0", value)

    def _rows_from(self, begin: str, value: Value) -> str:
        address = self.address(self.combine, value)
        return f"({{ const int64_t {ROW[value.domain]} = {begin}; {address}; }})"

    def constant(self, lowered: Lowered, number: int) -> int:
        """The number of a constant among those of ``combine``, then ``start``."""
        return number + (len(self.recurrence.combine.constants) if lowered.starts else 0)
