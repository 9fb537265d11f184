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


def _operator(op: str) -> Callable[..., Operand]:
    """A method that applies an operation to columns and others."""

    def operate(*columns: Operand) -> Operand:
        expressions, domain = columns[0].expressions, columns[0].domain
        refs = [part.ref for part in columns]
        return Operand(expressions, domain, expressions.pointwise(op, *refs, of_constants=domain))

    return operate


class Operand:
    """Columns with arithmetic operators, in which the gradients of operations are written.

    ``a.at_least(b)`` is 1 where ``a`` is at least ``b``, else 0. ``domain`` is that of the
    operation, and of what is computed from constants.
    """

    def __init__(self, expressions: Expressions, domain: Domain, ref: Ref) -> None:
        self.expressions, self.domain, self.ref = expressions, domain, ref

    __add__, __sub__, __mul__, __truediv__ = map(_operator, ("add", "sub", "mul", "div"))
    exp, log, sin, cos, pow = map(_operator, ("exp", "log", "sin", "cos", "pow"))
    at_least, _where = map(_operator, ("step", "where"))

    def number(self, number: float) -> Operand:
        """A number in each of the columns."""
        ref = self.expressions.number(number, self.ref.width)
        return Operand(self.expressions, self.domain, ref)

    def __rsub__(self, number: float) -> Operand:
        return self.number(number) - self

    def __neg__(self) -> Operand:
        return 0 - self

    def chosen(self, other: Operand) -> tuple[Operand, Operand]:
        """The others where these are not 0, and the others where these are 0; else 0."""
        zeros = other.number(0)
        return self._where(other, zeros), self._where(zeros, other)


class Gradients:
    """The gradients of everything that the parts of a new state depend on, as new expressions.

    Attributes:
        inputs: by number, in the domain of nodes.
        constants: by number; to be summed over all rows.
        states: by part and slot, in the domain of the states.
        weights: Contributions of the products.
    """

    def __init__(self, expressions: Expressions, results: Sequence[Sequence[Ref]]) -> None:
        self.inputs: dict[int, list[Share]] = {}
        self.constants: dict[int, list[Share]] = {}
        self.states: dict[tuple[int, int | None], list[Share]] = {}
        self.weights: list[WeightShare] = []
        self._expressions, self._shares = expressions, defaultdict[Value, list[Share]](list)
        self._make, self._pointwise = expressions.make, expressions.pointwise
        values = reached(ref.value for part in results for ref in part)
        for part, refs in enumerate(results):
            width = sum(ref.width for ref in refs)
            gradient = self._make("gradient", Domain.NODE, width, (), part)
            self._give_each(refs, gradient.ref(), Domain.NODE)
        for value in reversed(values):
            self._through(value)

    def values(self) -> list[Value]:
        """The values of all gradients."""
        groups = (self.inputs, self.constants, self.states)
        shares = [share for group in groups for part in group.values() for share in part]
        return [share.ref.value for share in shares] + [part.sums for part in self.weights]

    def _give(self, to: Ref, gradient: Ref, domain: Domain) -> None:
        """Adds to the gradient of some columns, per row of a domain."""
        if to.value.op in ("number", "fixed", "degree"):
            return
        if to.spread and to.width > 1:
            gradient = self._make("rowsum", gradient.value.domain, 1, (gradient,)).ref()
        self._shares[to.value].append(Share(to.first, gradient, domain))

    def _give_each(self, refs: Sequence[Ref], gradient: Ref, domain: Domain) -> None:
        """Adds to the gradients of columns that lie side by side in a result."""
        first = 0
        for ref in refs:
            self._give(ref, gradient.part(first, ref.width), domain)
            first += ref.width

    def _pieces(self, value: Value) -> list[Share]:
        """The gradient of a value, by disjoint ranges of columns, in order."""
        shares, results = self._shares[value], []
        ends = {end for s in shares for end in (s.first, s.first + s.ref.width)}
        for begin, end in pairwise(sorted(ends)):
            totals: dict[Domain, Ref] = {}
            for first, ref, domain in shares:
                if first <= begin and end <= first + ref.width:
                    part = ref.part(begin - first, end - begin)
                    known = totals.get(domain)
                    totals[domain] = part if known is None else self._pointwise("add", known, part)
            if value.domain == Domain.CONSTANT:
                results += [Share(begin, ref, domain) for domain, ref in totals.items()]
                continue
            parts = [self._summed(ref, domain, value.domain) for domain, ref in totals.items()]
            if parts:
                total = reduce(partial(self._pointwise, "add"), parts)
                results.append(Share(begin, total, value.domain))
        return results

    def _summed(self, ref: Ref, domain: Domain, wanted: Domain) -> Ref:
        """Sums over the rows of a domain for each row of another."""
        if domain == wanted:
            return ref
        op = "sum" if wanted == Domain.NODE else "pull"
        return self._make(op, wanted, ref.width, (ref,)).ref()

    def _through(self, value: Value) -> None:
        """Propagates the gradient of a value to its arguments."""
        pieces = self._pieces(value)
        if not pieces:
            return
        given: dict[str, Any] = {
            "input": self.inputs,
            "constant": self.constants,
            "state": self.states,
        }
        if value.op in given:
            given[value.op][value.data] = pieces
        elif value.op == "product":
            self._through_product(value, pieces)
        else:
            for first, gradient, _ in pieces:
                result = Ref(value, first, gradient.width)
                if value.op in OPERATIONS:
                    self._through_operation(result, gradient)
                else:
                    getattr(self, f"_through_{value.op}")(result, gradient)

    def _through_operation(self, result: Ref, gradient: Ref) -> None:
        args = [arg.part(result.first, result.width) for arg in result.value.args]
        domain = result.value.domain
        given = [Operand(self._expressions, domain, ref) for ref in (gradient, result, *args)]
        shares = OPERATIONS[result.value.op].gradients(*given)
        for arg, share in zip(args, shares, strict=True):
            if share is not None:
                self._give(arg, share.ref, domain)

    def _through_product(self, value: Value, pieces: list[Share]) -> None:
        sums = self._packed(value, pieces)
        for term in value.data:
            self.weights.append(WeightShare(term, sums))
            rows = self._make("back", value.domain, term.rows.width, (sums.ref(),), term)
            self._give(term.rows.ref(), rows.ref(), value.domain)

    def _packed(self, value: Value, pieces: list[Share]) -> Value:
        """Gradients side by side, zeros in the gaps."""
        whole = pieces[0].ref.value
        same = (whole.width, whole.domain) == (value.width, value.domain)
        if pieces[0].ref == whole.ref() and same and whole.op != "gradient":
            return whole  # a copy would take 2 % of a cell's step on 256 trees
        refs, end = [], 0
        for first, ref, _ in pieces:
            if first > end:
                refs.append(self._expressions.number(0, first - end))
            refs.append(ref)
            end = first + ref.width
        if end < value.width:
            refs.append(self._expressions.number(0, value.width - end))
        return self._make("pack", value.domain, value.width, refs)

    def _through_rowsum(self, result: Ref, gradient: Ref) -> None:
        (whole,) = result.value.args
        spread = Ref(gradient.value, gradient.first, whole.width, True)
        self._give(whole, spread, result.value.domain)

    def _through_pack(self, result: Ref, gradient: Ref) -> None:
        # Products read all columns of a pack, and nothing else does.
        self._give_each(result.value.args, gradient, result.value.domain)

    def _through_sum(self, result: Ref, gradient: Ref) -> None:
        self._give(result.value.args[0].part(result.first, result.width), gradient, Domain.EDGE)

    def _through_prod(self, result: Ref, gradient: Ref) -> None:
        arg = result.value.args[0].part(result.first, result.width)
        others = self._make("others", Domain.EDGE, result.width, (arg,)).ref()
        self._give(arg, self._pointwise("mul", gradient, others), Domain.EDGE)

    def _through_max(self, result: Ref, gradient: Ref) -> None:
        arg = result.value.args[0].part(result.first, result.width)
        first = self._make("first", Domain.EDGE, result.width, (arg, result)).ref()
        zeros = self._expressions.number(0, result.width)
        self._give(arg, self._pointwise("where", first, gradient, zeros), Domain.EDGE)

    def _through_amax(self, result: Ref, gradient: Ref) -> None:
        arg = result.value.args[0].part(result.first, result.width)
        equal = self._pointwise("step", arg, result)
        count = self._make("sum", Domain.NODE, result.width, (equal,)).ref()
        share = self._pointwise("div", gradient, count)
        self._give(arg, self._pointwise("mul", share, equal), Domain.EDGE)
