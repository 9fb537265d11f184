"""Reverse-mode differentiation of expressions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import pairwise
from typing import Any, NamedTuple

from graphsent.propagation.recurrence.expressions import (
    Domain,
    Expressions,
    Ref,
    Term,
    Value,
    reached,
)
from graphsent.propagation.recurrence.operations import OPERATIONS


class Share(NamedTuple):
    """A contribution to the gradient of some columns of a value, one per row of a domain.

    Attributes:
        first: The first column.
        ref: The gradient of the columns from the first on.
        domain: The domain to sum over if the value has fewer rows.
    """

    first: int
    ref: Ref
    domain: Domain


class WeightShare(NamedTuple):
    """A contribution to the gradient of a weight: gradients of sums times the rows of a term."""

    term: Term
    sums: Value


class Gradients(NamedTuple):
    """The gradients of everything that is given to expressions.

    Attributes:
        inputs: by number, in the domain of nodes.
        constants: by number; to be summed over all rows.
        states: by part and slot, in the domain of the states.
        weights: Contributions of the products.
    """

    inputs: dict[int, list[Share]]
    constants: dict[int, list[Share]]
    states: dict[tuple[int, int | None], list[Share]]
    weights: list[WeightShare]

    def values(self) -> list[Value]:
        """The values of all gradients."""
        groups = (self.inputs, self.constants, self.states)
        shares = [share for group in groups for part in group.values() for share in part]
        return [share.ref.value for share in shares] + [part.sums for part in self.weights]


def differentiate(expressions: Expressions, results: Sequence[Sequence[Ref]]) -> Gradients:
    """The gradients of everything that the parts of a new state depend on, as new expressions."""
    return _Reverse(expressions).run(results)


def _operator(op: str) -> Callable[..., Operand]:
    """A method that applies an operation to columns and others."""

    def operate(*columns: Operand) -> Operand:
        expressions = columns[0].expressions
        return Operand(expressions, expressions.pointwise(op, *(part.ref for part in columns)))

    return operate


class Operand:
    """Columns with arithmetic operators, in which the gradients of operations are written.

    ``a.at_least(b)`` is 1 where ``a`` is at least ``b``, else 0.
    """

    def __init__(self, expressions: Expressions, ref: Ref) -> None:
        self.expressions, self.ref = expressions, ref

    __add__, __sub__, __mul__, __truediv__ = map(_operator, ("add", "sub", "mul", "div"))
    exp, at_least, _where = map(_operator, ("exp", "step", "where"))

    def number(self, number: float) -> Operand:
        """A number in each of the columns."""
        return Operand(self.expressions, self.expressions.number(number, self.ref.width))

    def __rsub__(self, number: float) -> Operand:
        return self.number(number) - self

    def __neg__(self) -> Operand:
        return 0 - self

    def chosen(self, other: Operand) -> tuple[Operand, Operand]:
        """The others where these are not 0, and the others where these are 0; else 0."""
        zeros = other.number(0)
        return self._where(other, zeros), self._where(zeros, other)


class _Reverse:
    def __init__(self, expressions: Expressions) -> None:
        self.expressions = expressions
        self.make, self.pointwise = expressions.make, expressions.pointwise
        self.shares: dict[Value, list[Share]] = defaultdict(list)
        self.found = Gradients({}, {}, {}, [])

    def run(self, results: Sequence[Sequence[Ref]]) -> Gradients:
        values = reached(ref.value for part in results for ref in part)
        for part, refs in enumerate(results):
            width = sum(ref.width for ref in refs)
            gradient = self.make("gradient", Domain.NODE, width, (), part)
            self.give_each(refs, gradient.ref(), Domain.NODE)
        for value in reversed(values):
            self.through(value)
        return self.found

    def give(self, to: Ref, gradient: Ref, domain: Domain) -> None:
        """Adds to the gradient of some columns, per row of a domain."""
        if to.value.op in ("number", "fixed", "degree"):
            return
        if to.spread and to.width > 1:
            gradient = self.make("rowsum", gradient.value.domain, 1, (gradient,)).ref()
        self.shares[to.value].append(Share(to.first, gradient, domain))

    def give_each(self, refs: Sequence[Ref], gradient: Ref, domain: Domain) -> None:
        """Adds to the gradients of columns that lie side by side in a result."""
        first = 0
        for ref in refs:
            self.give(ref, gradient.part(first, ref.width), domain)
            first += ref.width

    def pieces(self, value: Value) -> list[Share]:
        """The gradient of a value, by disjoint ranges of columns, in order."""
        shares, results = self.shares[value], []
        ends = {end for s in shares for end in (s.first, s.first + s.ref.width)}
        for begin, end in pairwise(sorted(ends)):
            totals: dict[Domain, Ref] = {}
            for first, ref, domain in shares:
                if first <= begin and end <= first + ref.width:
                    part = ref.part(begin - first, end - begin)
                    known = totals.get(domain)
                    totals[domain] = part if known is None else self.pointwise("add", known, part)
            if value.domain == Domain.CONSTANT:
                results += [Share(begin, ref, domain) for domain, ref in totals.items()]
                continue
            parts = [self.summed(ref, domain, value.domain) for domain, ref in totals.items()]
            if parts:
                total = reduce(partial(self.pointwise, "add"), parts)
                results.append(Share(begin, total, value.domain))
        return results

    def summed(self, ref: Ref, domain: Domain, wanted: Domain) -> Ref:
        """Sums over the rows of a domain for each row of another."""
        if domain == wanted:
            return ref
        op = "sum" if wanted == Domain.NODE else "pull"
        return self.make(op, wanted, ref.width, (ref,)).ref()

    def through(self, value: Value) -> None:
        """Propagates the gradient of a value to its arguments."""
        pieces = self.pieces(value)
        if not pieces:
            return
        given: dict[str, Any] = {
            "input": self.found.inputs,
            "constant": self.found.constants,
            "state": self.found.states,
        }
        if value.op in given:
            given[value.op][value.data] = pieces
        elif value.op == "product":
            self.through_product(value, pieces)
        else:
            for first, gradient, _ in pieces:
                result = Ref(value, first, gradient.width)
                if value.op in OPERATIONS:
                    self.through_operation(result, gradient)
                else:
                    getattr(self, f"through_{value.op}")(result, gradient)

    def through_operation(self, result: Ref, gradient: Ref) -> None:
        args = [arg.part(result.first, result.width) for arg in result.value.args]
        given = [Operand(self.expressions, ref) for ref in (gradient, result, *args)]
        shares = OPERATIONS[result.value.op].gradients(*given)
        for arg, share in zip(args, shares, strict=True):
            if share is not None:
                self.give(arg, share.ref, result.value.domain)

    def through_product(self, value: Value, pieces: list[Share]) -> None:
        sums = self.packed(value, pieces)
        for term in value.data:
            self.found.weights.append(WeightShare(term, sums))
            rows = self.make("back", value.domain, term.rows.width, (sums.ref(),), term)
            self.give(term.rows.ref(), rows.ref(), value.domain)

    def packed(self, value: Value, pieces: list[Share]) -> Value:
        """Gradients side by side, zeros in the gaps."""
        whole = pieces[0].ref.value
        same = (whole.width, whole.domain) == (value.width, value.domain)
        if pieces[0].ref == whole.ref() and same and whole.op != "gradient":
            return whole  # a copy would take 2 % of a cell's step on 256 trees
        refs, end = [], 0
        for first, ref, _ in pieces:
            if first > end:
                refs.append(self.expressions.number(0, first - end))
            refs.append(ref)
            end = first + ref.width
        if end < value.width:
            refs.append(self.expressions.number(0, value.width - end))
        return self.make("pack", value.domain, value.width, refs)

    def through_rowsum(self, result: Ref, gradient: Ref) -> None:
        (whole,) = result.value.args
        spread = Ref(gradient.value, gradient.first, whole.width, True)
        self.give(whole, spread, result.value.domain)

    def through_pack(self, result: Ref, gradient: Ref) -> None:
        # Products read all columns of a pack, and nothing else does.
        self.give_each(result.value.args, gradient, result.value.domain)

    def through_sum(self, result: Ref, gradient: Ref) -> None:
        self.give(result.value.args[0].part(result.first, result.width), gradient, Domain.EDGE)

    def through_prod(self, result: Ref, gradient: Ref) -> None:
        arg = result.value.args[0].part(result.first, result.width)
        others = self.make("others", Domain.EDGE, result.width, (arg,)).ref()
        self.give(arg, self.pointwise("mul", gradient, others), Domain.EDGE)

    def through_max(self, result: Ref, gradient: Ref) -> None:
        arg = result.value.args[0].part(result.first, result.width)
        first = self.make("first", Domain.EDGE, result.width, (arg, result)).ref()
        zeros = self.expressions.number(0, result.width)
        self.give(arg, self.pointwise("where", first, gradient, zeros), Domain.EDGE)

    def through_amax(self, result: Ref, gradient: Ref) -> None:
        arg = result.value.args[0].part(result.first, result.width)
        equal = self.pointwise("step", arg, result)
        count = self.make("sum", Domain.NODE, result.width, (equal,)).ref()
        share = self.pointwise("div", gradient, count)
        self.give(arg, self.pointwise("mul", share, equal), Domain.EDGE)
