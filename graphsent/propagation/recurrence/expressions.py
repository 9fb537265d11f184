"""The computation at a node, as expressions over rows of numbers.

A :class:`Value` is a row of numbers per node, per source of edges or per edge, or one row for all
of them. Arguments are ranges of columns of other values, so that views of tensors (split, chunk,
cat, flatten) are free.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

import torch

from graphsent.propagation.recurrence.operations import OPERATIONS


class Domain(IntEnum):
    """What a value has one row of."""

    CONSTANT = 0
    NODE = 1
    SOURCE = 2
    EDGE = 3


class Ref(NamedTuple):
    """A range of columns of a value.

    Attributes:
        value: The value.
        first: The first column.
        width: Number of columns.
        spread: Whether the first column is repeated.
    """

    value: Value
    first: int
    width: int
    spread: bool = False

    @property
    def end(self) -> int:
        """The column of the value after the last one."""
        return self.first + (1 if self.spread else self.width)

    def part(self, first: int, width: int) -> Ref:
        """Some of these columns."""
        return Ref(self.value, self.first + (0 if self.spread else first), width, self.spread)


class Term(NamedTuple):
    """A row times a range of columns of a weight, one summand of a product.

    Attributes:
        rows: The value that is multiplied.
        weight: Number of the constant, of shape (out_feats, in_feats).
        column: The first column of the weight.
        width: Number of columns of the product, out_feats.
    """

    rows: Value
    weight: int
    column: int
    width: int


@dataclass(eq=False)
class Value:
    """A row of numbers, and the operation that computes it.

    Attributes:
        op: One of the following; they operate on ``args`` unless stated otherwise.

            - ``"input"``, ``"constant"``, ``"state"``, ``"gradient"``: given. ``data`` is the
              number of the input or constant; of a state, its part and slot (None at edges); of the
              gradient of a new state, its part.
            - ``"number"``: ``data``.
            - one of :data:`~.operations.OPERATIONS`, which are pointwise.
            - ``"product"``: the sum of ``data``, a tuple of :class:`Term`.
            - ``"back"``: the gradient of the rows of a term, ``data``, from that of its product.
            - ``"rowsum"``: the sum of the columns.
            - ``"pack"``: arguments side by side.
            - ``"sum"``: over the edges to a node. ``"pull"``: over the edges from a source.
            - ``"prod"``: over the edges to a node.
            - ``"others"``: the product over all other edges to the target of an edge.
            - ``"max"``, ``"amax"``: over the edges to a node; the gradient goes to the first of the
              largest, or evenly to all of them.
            - ``"first"``: 1 at the edge that the gradient of ``"max"`` goes to, else 0.
            - ``"degree"``: number of edges to a node.
        domain: What it has one row of.
        width: Number of columns.
        args: Its arguments.
        data: See above.
        number: Place in the order of computation.
    """

    op: str
    domain: Domain
    width: int
    args: tuple[Ref, ...] = ()
    data: Any = None
    number: int = -1

    def ref(self) -> Ref:
        """All columns."""
        return Ref(self, 0, self.width)

    def inputs(self) -> Iterator[Value]:
        """The values it is computed from."""
        for ref in self.args:
            yield ref.value
        if self.op == "product":
            for term in self.data:
                yield term.rows


@dataclass
class Expressions:
    """Values in an order in which they can be computed, without duplicates."""

    values: list[Value] = field(default_factory=list)
    _known: dict[tuple, Value] = field(default_factory=dict)

    def make(
        self, op: str, domain: Domain, width: int, args: Sequence[Ref] = (), data: Any = None
    ) -> Value:
        """The value with these fields."""
        key = (op, domain, width, tuple(args), data)
        if key not in self._known:
            value = Value(op, domain, width, tuple(args), data, len(self.values))
            self.values.append(value)
            self._known[key] = value
        return self._known[key]

    def pointwise(self, op: str, *args: Ref, of_constants: Domain = Domain.NODE) -> Ref:
        """An operation on columns of the same width; numbers are folded, and nothing adds 0.

        ``of_constants`` is the domain of the result if all arguments are constants.
        """
        first = args[0].value
        if op == "add" and (first.op, first.data) == ("number", 0):
            return args[1]
        if all(ref.value.op == "number" for ref in args):
            numbers = (torch.tensor(ref.value.data, dtype=torch.float64) for ref in args)
            return self.number(float(OPERATIONS[op].function(*numbers)), args[0].width)
        domains = {Domain.CONSTANT, *(ref.value.domain for ref in args)}
        domain = max(domains) if len(domains) < 3 else Domain.EDGE  # of nodes and sources: edges
        if domain == Domain.CONSTANT:
            domain = of_constants
        return self.make(op, domain, args[0].width, args).ref()

    def number(self, number: float, width: int) -> Ref:
        """A number, repeated in ``width`` columns."""
        value = self.make("number", Domain.CONSTANT, 1, (), float(number))
        return Ref(value, 0, width, True)


def reached(values: Iterable[Value], until: Container[Value] = ()) -> list[Value]:
    """The values and all that they depend on, in order; those in ``until`` are not followed."""
    found: set[Value] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if value not in found:
            found.add(value)
            waiting.extend(value.inputs() if value not in until else ())
    return sorted(found, key=lambda value: value.number)
