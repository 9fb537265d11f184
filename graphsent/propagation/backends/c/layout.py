"""Where the values of a recurrence are in memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from graphsent.propagation.backends.c.arrays import Unsupported, needed
from graphsent.propagation.backends.c.parts import Part
from graphsent.propagation.recurrence.differentiation import Share
from graphsent.propagation.recurrence.expressions import Domain, Term, Value
from graphsent.propagation.recurrence.recurrence import Differentiated, Recurrence

NODE, SOURCE, EDGE = Domain.NODE, Domain.SOURCE, Domain.EDGE


class Array(NamedTuple):
    """Where the rows of a value are.

    Attributes:
        name: of the pointer in ``struct own``.
        stride: numbers from a row to the next, in C.
        whole: whether there is a row for all nodes, sources or edges, not those of a block alone;
            ``"kept"``: if a backward pass follows.
        first: number of the first column in a row, of a value that is a part of another one.
    """

    name: str
    stride: str
    whole: bool | str
    first: int = 0

    @property
    def begin(self) -> str:
        """The first number."""
        return f"s->{self.name} + {self.first}" if self.first else f"s->{self.name}"


class Layout:
    """The arrays of a walk.

    Args:
        recurrence: what a node computes.

    Raises:
        Unsupported: if there is no C for it.
    """

    def __init__(self, recurrence: Recurrence) -> None:
        self.recurrence = recurrence
        self.size, self.slotted = recurrence.size, recurrence.num_slots is not None
        self.count = recurrence.num_slots or 0
        self.columns = recurrence.columns
        self.combine = Part(recurrence.combine, "v", starts=False)
        self.start = Part(recurrence.start, "w", starts=True)
        self.places: dict[Value, Array] = {}
        self.fields: list[tuple[str, str]] = []  # arrays of `struct own`, and their numbers
        self.back_fields: list[tuple[str, str]] = []
        self.kept_fields: list[tuple[str, str]] = []
        self.scratch: list[tuple[str, str]] = []
        self.back_scratch: list[tuple[str, str]] = []
        self._check()
        for part in (self.combine, self.start):
            self._place(part)
        self.accumulators = self._accumulators()

    def _check(self) -> None:
        for part in (self.combine, self.start):
            for value in (*part.values, *part.back_values):
                if value.op in ("product", "back") and value.domain == Domain.CONSTANT:
                    raise Unsupported("it multiplies numbers that are the same for all nodes")
        if any(value.op == "product" for value in self.start.values):
            raise Unsupported("it multiplies by several weights at nodes without predecessors")

    # Arrays

    def _place(self, part: Part) -> None:
        whole = self._whole_behind(part)
        for value in sorted(part.forward, key=lambda value: value.number):
            if value in part.direct:
                self.places[value] = Array(f"state[{part.direct[value]}]", str(self.size), True)
                continue
            self._add(part, value, "kept" if value in part.kept else False, back=False)
        for value in sorted(part.backward, key=lambda value: value.number):
            if value not in part.inside:
                self._add(part, value, value in whole or value.domain == SOURCE, back=True)
        for value in part.inside:
            pack, first, *_ = part.located(value.ref())
            self.places[value] = self.places[pack]._replace(first=first)

    def _add(self, part: Part, value: Value, whole: bool | str, *, back: bool) -> None:
        name = f"{part.prefix}{value.number}"
        stride = f"PADDED({value.width})" if value.op in ("product", "back") else str(value.width)
        if value.domain == SOURCE:
            whole = True
        rows = {NODE: "s->inner", SOURCE: "s->num_rows", EDGE: "w->num_edges"}[value.domain]
        if part.starts:
            rows = "w->num_starts"
        if back and self._in_slots(part, value):
            rows += " + number_of_pairs(w)"
        local = {NODE: "s->block", EDGE: "s->edge_block", SOURCE: "s->block"}[value.domain]
        local = "1" if value in part.brief else local
        self.places[value] = Array(name, stride, whole)
        if whole == "kept":
            self.kept_fields.append((name, f"{rows} * {stride}"))
            self.scratch.append((name, f"{local} * {stride}"))
        elif whole and back:
            self.back_fields.append((name, f"({rows}) * {stride}"))
        elif whole:
            self.kept_fields.append((name, f"({rows}) * {stride}"))
        else:
            (self.back_scratch if back else self.scratch).append((name, f"{local} * {stride}"))

    def _in_slots(self, part: Part, sums: Value) -> bool:
        """Whether gradients of products of states in slots are there."""
        return any(
            part.located(share.sums.ref()).value is sums and self.of_slot(share.term)
            for share in part.gradients.weights
        )

    def of_slot(self, term: Term) -> bool:
        """Whether a product is one of the states in a slot."""
        return self.slotted and term.rows.op == "state"

    def _whole_behind(self, part: Part) -> set[Value]:
        """Arrays of the backward pass that are read after their block: by sources, or weights."""
        readers = [value for value in part.back_values if value.op == "pull"]
        read = [ref.value for value in readers for ref in value.args]
        if self.slotted:
            read += [s.ref.value for shares in part.gradients.states.values() for s in shares]
        whole = needed(read, part.forward | part.backward)
        whole += [share.sums for share in part.gradients.weights]
        return {part.located(value.ref()).value for value in whole}

    def input_width(self, part: Part, number: int) -> int:
        """Numbers in a row of an input."""
        return next(v.width for v in part.values if v.op == "input" and v.data == number)

    def differentiated(self) -> Differentiated:
        """Which gradients the walk makes."""
        combine, start = self.recurrence.combine, self.recurrence.start
        inputs = [
            "all" if n in self.combine.gradients.inputs else ""
            for n in range(len(self.recurrence.input_widths) + len(combine.hoisted))
        ]
        starts = [
            "all" if n in self.start.gradients.inputs else ""
            for n in range(len(self.recurrence.input_widths) + len(start.hoisted))
        ]
        constants = [self._kind(self.combine, n, shape) for n, shape in enumerate(combine.shapes)]
        constants += [self._kind(self.start, n, shape) for n, shape in enumerate(start.shapes)]
        return Differentiated(tuple(inputs), tuple(starts), tuple(constants))

    def _kind(self, part: Part, number: int, shape: tuple[int, ...]) -> str:
        """Whether the gradient of a constant is filled, or added to zeros."""
        terms = [share.term for share in part.gradients.weights if share.term.weight == number]
        shares = part.gradients.constants.get(number, ())
        if terms and shares:
            raise Unsupported("it uses a parameter as a weight and as numbers")
        if terms:
            filled: set[int] = set()
            whole = True  # no term adds to some columns what it stores in others
            for term in terms:
                columns = set(range(term.column, term.column + term.rows.width))
                whole = whole and (columns <= filled or not columns & filled)
                filled |= columns
            return "all" if whole and len(filled) == shape[1] else "some"
        if not shares:
            return ""
        return "all" if _width_of(shares) == math.prod(shape) else "some"

    def _accumulators(self) -> dict[tuple[str, int], tuple[str, int]]:
        """Where a thread adds up the gradients of rows that all nodes share, and how many numbers.

        Keys are ``"constant"`` or ``"input"``, and a number.
        """
        found, first = {}, 0
        for part, gradients in (("", self.combine.gradients), ("start ", self.start.gradients)):
            for number, shares in gradients.constants.items():
                width = _width_of(shares)
                found[f"{part}constant", number] = (f"s->acc + {first}", width)
                first += width
        for number in self.combine.gradients.inputs:
            width = self.input_width(self.combine, number)
            found["input", number] = (f"s->acc + {first}", width)
            first += width
        self.acc_size = first
        return found


def _width_of(shares: Sequence[Share]) -> int:
    return max(share.first + share.ref.width for share in shares)
