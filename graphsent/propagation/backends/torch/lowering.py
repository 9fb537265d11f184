"""From expressions to steps: what runs when, and which rows are kept in arrays of all levels."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial

import torch

from graphsent.propagation.backends.torch import steps as s
from graphsent.propagation.backends.torch.explicit import Explicit
from graphsent.propagation.backends.torch.steps import INCOMING, OUTGOING, Key, Linked, Steps
from graphsent.propagation.recurrence.expressions import Domain, Ref, Value, depending, reached
from graphsent.propagation.recurrence.operations import POINTWISE, copy
from graphsent.propagation.recurrence.recurrence import Recurrence

GIVEN = ("input", "constant", "state", "gradient", "number", "degree")
Array = tuple[Domain, int]


class Lowered:
    """The steps of a recurrence.

    Forward they are ``before``, of all levels at once, then ``nodes`` of each level but the first,
    and ``sources`` of each level, which are what its successors see. Backward they are
    ``coefficients``, of all levels at once, ``source_gradients`` and ``node_gradients`` of each
    level, and ``after``.

    Args:
        recurrence: what a node computes.
        keep: whether a backward pass follows.

    Attributes:
        arrays: domain and width of arrays for all levels, by name.
        kept: the names of those that the backward pass reads.
    """

    def __init__(self, recurrence: Recurrence, *, keep: bool) -> None:
        self.explicit = found = Explicit(recurrence.combine, recurrence.size, recurrence.num_slots)
        self.homes: dict[Value, tuple[Hashable, int]] = {}
        self.arrays: dict[Hashable, Array] = {}
        forward = reached(ref.value for part in found.results for ref in part)
        moving = depending(forward, ("state", "slots"))
        early = [v for v in forward if v not in moving and v.op not in GIVEN]
        late = [v for v in forward if v in moving and v.op not in GIVEN]
        behind = self._behind(set(forward))
        needed = self._needed(behind, set(forward)) if keep else set()
        self._place_given([*forward, *behind])
        self._place_forward(forward, early, late, needed)
        self.kept = list(self.arrays)
        self.before = self._steps(early)
        ends = [ref for part in found.results for ref in part]
        inner = [v for v in late if v.domain != Domain.SOURCE]
        self.nodes = self._steps(inner, ends, self._store, in_place=True)
        self.sources = self._steps([v for v in late if v.domain == Domain.SOURCE])
        if keep:
            self._backward(behind)

    def _behind(self, forward: set[Value]) -> list[Value]:
        """The values of the backward pass alone, in order."""
        found = self.explicit
        refs = [ref for _, _, ref in (*found.inputs, *found.constants)]
        refs += [ref for rows, _, sums in found.weights for ref in (rows, sums)]
        refs += [r for *_, parts in found.states for p in parts for r in p[1:] if r is not None]
        return [v for v in reached(ref.value for ref in refs) if v not in forward]

    def _needed(self, behind: Sequence[Value], forward: set[Value]) -> set[Value]:
        """The values of the forward pass that the backward pass reads."""
        found = {part for value in behind for part in value.inputs() if part in forward}
        found |= {rows.value for rows, _, _ in self.explicit.weights}
        shares = [ref for _, _, ref in (*self.explicit.inputs, *self.explicit.constants)]
        shares += [r for *_, parts in self.explicit.states for p in parts for r in p[1:] if r]
        return found | {ref.value for ref in shares if ref.value in forward}

    # Places

    def _place(self, value: Value) -> None:
        if value not in self.homes:
            self.homes[value] = value, 0
            self.arrays[value] = value.domain, value.width

    def _place_given(self, values: Iterable[Value]) -> None:
        for value in values:
            if value.op in ("input", "gradient", "degree"):
                self.homes[value] = (value.op, value.data), 0
            elif value.op == "state":
                self.homes[value] = ("state", value.data[0]), 0

    def _place_forward(
        self,
        forward: Sequence[Value],
        early: Sequence[Value],
        late: Sequence[Value],
        needed: set[Value],
    ) -> None:
        for part, refs in enumerate(self.explicit.results):
            value = refs[0].value
            if len(refs) == 1 and refs[0] == value.ref() and value in late and value.op != "pack":
                self.homes.setdefault(value, (("new", part), 0))
        seen = {
            ref.value for v in forward if v.op in ("gather", "sum") for ref in v.args
        }  # by all successors
        for value in [*early, *(v for v in late if v in needed)]:
            self._place(value)
        for value in late:
            if value in seen and value.domain == Domain.SOURCE:
                self._place(value)

    # Steps

    def _steps(
        self,
        values: Iterable[Value],
        ends: Sequence[Ref] = (),
        finish: Callable[[Steps], None] | None = None,
        in_place: bool = False,
    ) -> Linked:
        steps = Steps(self.homes)
        values = list(values)
        uses = [*(ref for value in values for ref in value.args), *ends]
        for value in values:
            if in_place:
                steps.reuse(value, _read_first(value), uses)
            self._emit(steps, value)
        if finish is not None:
            finish(steps)
        return steps.link(map(steps.read, ends))

    def _emit(self, steps: Steps, value: Value) -> None:
        to = steps.read(value.ref())
        if value.op == "matmul":
            self._product(steps, value, to)
        elif value.op == "back":
            (sums,), ((number, column),) = value.args, value.data
            weight = "weight", number, column, value.width, False
            steps.add(torch.mm, to, steps.read(sums), weight)
        elif value.op == "combination":
            self._combination(steps, value.data, to)
        elif value.op == "slots":
            steps.add(s.gather_slots, to, INCOMING, ("all", ("state", value.data)))
        elif value.op in ("gather", "sum", "pull", "expand", "softmax"):
            self._along_edges(steps, value, to)
        elif value.op == "rowsum":
            steps.add(s.row_sum, to, steps.read(value.args[0]))
        elif value.op == "pack":
            self._pack(steps, value, to)
        else:
            steps.add(POINTWISE[value.op], to, *map(steps.read, value.args))

    def _product(self, steps: Steps, value: Value, to: Key) -> None:
        operands, places, filled = [], [], set()
        for ref, (number, column, first, width) in zip(value.args, value.data, strict=True):
            operands += [steps.read(ref), ("weight", number, column, ref.width, True)]
            columns = set(range(first, first + width))
            places.append((first, width, bool(columns & filled)))
            filled |= columns
        steps.add(partial(s.products, places=places, width=value.width), to, *operands)

    def _combination(self, steps: Steps, summands: Sequence, to: Key, begun: bool = False) -> None:
        total = to if begun else None
        for sign, coefficient, rows in summands:
            operand = steps.read(rows)
            if coefficient is None and total is None:
                if sign > 0:
                    total = operand
                    continue
                steps.add(torch.neg, to, operand)
            elif coefficient is None:
                steps.add(torch.add if sign > 0 else torch.sub, to, total, operand)
            elif total is None:
                steps.add(
                    torch.mul if sign > 0 else s.minus_product, to, operand, steps.read(coefficient)
                )
            else:
                function = partial(torch.addcmul, value=sign)
                steps.add(function, to, total, operand, steps.read(coefficient))
            total = to
        if total != to:
            steps.add(copy, to, total)

    def _along_edges(self, steps: Steps, value: Value, to: Key) -> None:
        (arg,) = value.args
        operand, links = steps.read(arg), INCOMING
        if value.op == "pull":
            # Messages in slots are several to a row.
            operand = ("all", *(operand[1:] if arg.value.domain == Domain.EDGE else operand[1:2]))
            function, links = s.pull, OUTGOING
        elif arg.value.domain == Domain.SOURCE:
            operand = ("all", *operand[1:])
            function = {"gather": s.gather, "sum": s.sum_sources}[value.op]
        else:
            function = {"sum": s.sum_messages, "expand": s.expand, "softmax": s.softmax}[value.op]
        steps.add(function, to, links, operand)

    def _pack(self, steps: Steps, value: Value, to: Key) -> None:
        """Copies the columns that are not there yet."""
        if to[0] == "made":
            widths = [ref.width for ref in value.args]
            function = partial(s.side_by_side, widths=widths)
            steps.add(function, to, *map(steps.read, value.args))
            return
        first = to[2]
        for ref in value.args:
            place = "rows", to[1], first, ref.width
            operand = steps.read(ref)
            if operand != place:
                steps.add(copy, place, operand)
            first += ref.width

    def _store(self, steps: Steps) -> None:
        """Copies new states that are not where they have to be."""
        for part, refs in enumerate(self.explicit.results):
            first = 0
            for ref in refs:
                place, operand = ("rows", ("new", part), first, ref.width), steps.read(ref)
                if operand != place:
                    steps.add(copy, place, operand)
                first += ref.width

    def operand(self, ref: Ref) -> Key:
        """Where columns of a value are."""
        return Steps(self.homes).read(ref)

    # Backward

    def _backward(self, behind: list[Value]) -> None:
        found = self.explicit
        varying = depending(behind, ("gradient",))
        ends = [p.rows.value for *_, parts in found.states for p in parts]
        path = [v for v in reached(ends) if v in varying and v.op not in GIVEN]
        on_path = set(path)
        early = [v for v in behind if v not in varying and v.op not in GIVEN]
        after = [v for v in behind if v in varying and v not in on_path and v.op not in GIVEN]
        read = {part for value in after for part in value.inputs()}
        read |= {part for value in path if value.op == "pull" for part in value.inputs()}
        read |= {sums.value for _, _, sums in found.weights}
        read |= {ref.value for _, _, ref in (*found.inputs, *found.constants)}
        coefficients = read | {part for value in path for part in value.inputs()}
        coefficients |= {p.coefficient.value for *_, parts in found.states for p in parts if p[1]}
        coefficients |= {part for v in early if v.op in ("gather", "sum") for part in v.inputs()}
        for value in early:
            if value in coefficients:
                self._place(value)
        for value in path:
            if value in read and value.op == "pack":
                self._place(value)
                self._place_parts(value, on_path)
        for value in path:
            if value in read:
                self._place(value)
        self.coefficients = self._steps(early)
        levels = [v for v in path if v.domain == Domain.SOURCE]
        self.source_gradients = self._steps(levels, (), self._add_gradients)
        self.node_gradients = self._steps([v for v in path if v.domain != Domain.SOURCE])
        ends = [ref for *_, ref in (*found.inputs, *found.constants)]
        ends += [ref for rows, _, sums in found.weights for ref in (rows, sums)]
        self.after = self._steps(after, ends)
        self.pulled = {self.homes[v.args[0].value][0] for v in behind if v.op == "pull"}

    def _place_parts(self, pack: Value, on_path: set[Value]) -> None:
        """Lets parts of a pack be made where they belong."""
        array, first = self.homes[pack]
        for ref in pack.args:
            value = ref.value
            if (
                value in on_path
                and value not in self.homes
                and ref == value.ref()
                and value.domain == pack.domain
            ):
                self.homes[value] = array, first
            first += ref.width

    def _add_gradients(self, steps: Steps) -> None:
        for part, first, summands in self.explicit.states:
            width = summands[0].rows.width
            place = "rows", ("dstate", part), first, width
            self._combination(steps, summands, place, begun=True)


def _read_first(value: Value) -> Sequence[Ref]:
    """The arguments that the first operation of a pointwise value reads."""
    if value.op != "combination":
        return value.args if value.op in POINTWISE else ()
    first, *others = value.data
    if others and first.sign > 0 and first.coefficient is None:
        return first.rows, others[0].rows
    return (first.rows,)
