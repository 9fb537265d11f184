"""Expressions with all that a run in torch has to do, and as few operations as it can do with.

Rows are gathered where they are needed. A gradient is linear in what comes from the successors:
what of it depends on the forward pass alone is a coefficient, which is made for all levels at once.
A value that is used once is part of the coefficients of its user.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from graphsent.propagation.recurrence.differentiation import Gradients, differentiate
from graphsent.propagation.recurrence.expressions import (
    Domain,
    Expressions,
    Ref,
    Value,
    depending,
    reached,
)
from graphsent.propagation.recurrence.recurrence import Traced

LINEAR = ("add", "sub", "mul", "div")


class Summand(NamedTuple):
    """A sign, a coefficient (None: 1), and what it is multiplied by."""

    sign: int
    coefficient: Ref | None
    rows: Ref


class Explicit:
    """The expressions of a recurrence and their gradients.

    Beside the operations of :class:`Value` there are

    - ``"gather"``: rows of sources, and ``"expand"``: rows of targets, at the edges;
    - ``"slots"``: the rows of all slots of a part of the states, ``data``, side by side;
    - ``"matmul"`` and ``"back"``: of ``args`` and columns of weights, ``data``, a pair of number
      and first column for each of them;
    - ``"combination"``: the sum of ``data``, a tuple of :class:`Summand`, all columns in ``args``.

    Attributes:
        results: for each part of the state the columns it consists of.
        states: part, first column, and what is added to the gradient of a state.
        inputs: number, first column, gradient.
        constants: number, first column, gradient to be summed over all rows.
        weights: rows, number and first column of the weight, gradient of the product.
    """

    def __init__(self, traced: Traced, size: int, num_slots: int | None) -> None:
        self.size, self.num_slots = size, num_slots
        self.to = Expressions()
        self.known: dict[Value, Ref] = {}
        gradients = differentiate(traced.expressions, traced.results)
        wanted = reached(gradients.values())
        self.varying = depending(wanted, ("gradient",))
        self.uses = _uses(wanted, gradients)
        self.results = [[self.ref(ref, Domain.NODE) for ref in part] for part in traced.results]
        self.inputs = [
            (number, s.first, self.ref(s.ref, Domain.NODE))
            for number, shares in gradients.inputs.items()
            for s in shares
        ]
        self.constants = [
            (number, s.first, self.ref(s.ref, s.domain))
            for number, shares in gradients.constants.items()
            for s in shares
        ]
        self.weights = []
        for term, sums in gradients.weights:
            rows = self.ref(term.rows.ref(), sums.domain)
            part = self.ref(sums.ref().part(term.first, term.width), sums.domain)
            self.weights.append((rows, (term.weight, term.column), part))
        self.states = list(self._states(gradients))

    def _states(self, gradients: Gradients) -> Iterable[tuple[int, int, list[Summand]]]:
        if self.num_slots is None:
            for (part, _), shares in gradients.states.items():
                for share in shares:
                    yield part, share.first, self.form(share.ref, Domain.SOURCE)
            return
        by_part = defaultdict(list)
        for (part, slot), shares in gradients.states.items():
            by_part[part] += [(slot * self.size + s.first, s.ref) for s in shares]
        for part, shares in by_part.items():
            shares = [(first, self.ref(ref, Domain.NODE)) for first, ref in shares]
            messages = self.pack(shares, self.num_slots * self.size, Domain.NODE)
            if messages != messages.value.ref():
                messages = self.to.make("pack", Domain.NODE, messages.width, (messages,)).ref()
            pulled = self.to.make("pull", Domain.SOURCE, self.size, (messages,))
            yield part, 0, [Summand(1, None, pulled.ref())]

    # Values

    def ref(self, ref: Ref, domain: Domain) -> Ref:
        """Columns of a value, for each row of a domain."""
        known = self.known.get(ref.value)
        if known is None:
            known = self.known[ref.value] = self._made(ref.value)
        ref = known.part(ref.first, ref.width)._replace(spread=known.spread or ref.spread)
        return self.at(ref, domain)

    def at(self, ref: Ref, domain: Domain) -> Ref:
        """The same for each row of a domain, gathered if need be."""
        of = ref.value.domain
        if domain != Domain.EDGE or of in (Domain.CONSTANT, Domain.EDGE):
            return ref
        op, width = "gather" if of == Domain.SOURCE else "expand", 1 if ref.spread else ref.width
        there = self.to.make(op, domain, width, (Ref(ref.value, ref.first, width),)).ref()
        return Ref(there.value, 0, ref.width, ref.spread)

    def _made(self, value: Value) -> Ref:
        make, domain, width = self.to.make, value.domain, value.width
        if value.op == "state" and self.num_slots is not None:
            part, slot = value.data
            slots = make("slots", domain, self.num_slots * self.size, (), part)
            return Ref(slots, slot * self.size, width)
        if not any(True for _ in value.inputs()):
            return make(value.op, domain, width, (), value.data).ref()
        if value.op == "product":
            return self._product(value)
        if value.op == "back":
            (sums,) = value.args
            column = value.data.weight, value.data.column
            return make("back", domain, width, (self.ref(sums, domain),), (column,)).ref()
        if value.op == "fixed":
            return self.ref(value.args[0], domain)
        if value.op == "pack":
            first, parts = 0, []
            for ref in value.args:
                parts.append((first, self.ref(ref, domain)))
                first += ref.width
            return self.pack(parts, width, domain)
        if value.op in ("sum", "softmax", "pull"):
            (arg,) = value.args
            of_source = value.op == "sum" and arg.value.domain == Domain.SOURCE
            arg = self.ref(arg, Domain.SOURCE if of_source else Domain.EDGE)
            return make(value.op, domain, width, (arg,)).ref()
        if value in self.varying and value.op in LINEAR:
            return self.combination(self._by_rows(self.summands(value)), domain, width)
        if value.op in ("add", "sub"):
            return self.combination(self.summands(value), domain, width)
        args = [self.ref(arg, domain) for arg in value.args]
        if value.op == "rowsum":
            return make(value.op, domain, width, args).ref()
        return self.pointwise(value.op, *args)

    def _product(self, value: Value) -> Ref:
        """Adjacent columns of one value times adjacent columns of one weight are one product."""
        refs: list[Ref] = []
        places: list[tuple[int, ...]] = []
        for rows, weight, column, *columns in sorted(value.data, key=lambda term: -term.width):
            ref = self.ref(rows.ref(), value.domain)
            last = refs[-1] if refs else ref
            if _follows(last, ref) and places[-1] == (weight, column - last.width, *columns):
                refs[-1] = last._replace(width=last.width + ref.width)
                places[-1] = (weight, column - last.width, *columns)
            else:
                refs.append(ref)
                places.append((weight, column, *columns))
        return self.to.make("matmul", value.domain, value.width, refs, tuple(places)).ref()

    def pack(self, parts: Sequence[tuple[int, Ref]], width: int, domain: Domain) -> Ref:
        """Columns side by side, with zeros where there are none."""
        refs: list[Ref] = []
        for ref in self.to.with_zeros(sorted(parts, key=lambda part: part[0]), width):
            joined = self._joined(refs[-1], ref) if refs else None
            if joined is None:
                refs.append(ref)
            else:
                refs[-1] = joined
        if len(refs) == 1 and not refs[0].spread and refs[0].value.domain == domain:
            return refs[0]
        return self.to.make("pack", domain, width, refs).ref()

    def _joined(self, a: Ref, b: Ref) -> Ref | None:
        """Two gradients through adjacent columns of one weight, as one."""
        if _follows(a, b):
            return a._replace(width=a.width + b.width)
        if a != a.value.ref() or b != b.value.ref() or {a.value.op, b.value.op} != {"back"}:
            return None
        ((weight, column),), ((other, next_column),) = a.value.data, b.value.data
        if a.value.args != b.value.args or (other, next_column) != (weight, column + a.width):
            return None
        width = a.width + b.width
        return self.to.make("back", a.value.domain, width, a.value.args, a.value.data).ref()

    # What is linear in the gradients

    def form(self, ref: Ref, domain: Domain) -> list[Summand]:
        """What columns are the sum of, if nothing else needs them."""
        value = ref.value
        if ref == value.ref() and value.domain == domain:
            if value in self.varying:
                if value.op in LINEAR and self.uses[value] == 1:
                    return self.summands(value)
            elif value.op == "mul":  # costs nothing where it is added
                rows, factor = (self.ref(arg, domain) for arg in value.args)
                return [Summand(1, factor, rows)]
        return [Summand(1, None, self.ref(ref, domain))]

    def summands(self, value: Value) -> list[Summand]:
        """What a value is the sum of."""
        first, second = value.args
        if value.op in ("add", "sub"):
            sign = 1 if value.op == "add" else -1
            found = [] if _is_zero(first) else self.form(first, value.domain)
            others = self.form(second, value.domain)
            return found + [part._replace(sign=sign * part.sign) for part in others]
        if first.value in self.varying:
            rows, factor = first, second
        else:
            rows, factor = second, first
        factor = self.ref(factor, factor.value.domain)
        return [self._scaled(part, value.op, factor) for part in self.form(rows, value.domain)]

    def _scaled(self, part: Summand, op: str, factor: Ref) -> Summand:
        known = part.coefficient
        if known is None and op == "mul":
            return part._replace(coefficient=factor)
        known = self.to.number(1, factor.width) if known is None else known
        return part._replace(coefficient=self._pointwise(op, known, factor))

    def _pointwise(self, op: str, a: Ref, b: Ref) -> Ref:
        domains = {a.value.domain, b.value.domain} - {Domain.CONSTANT}
        domain = domains.pop() if len(domains) == 1 else Domain.EDGE if domains else Domain.CONSTANT
        return self.pointwise(op, self.at(a, domain), self.at(b, domain))

    def pointwise(self, op: str, *args: Ref) -> Ref:
        """An operation on columns; on one, if they are all the same."""
        result = self.to.pointwise(op, *_narrowed(args))
        return result if result.width == args[0].width else _widened(result, args[0].width)

    def combination(self, summands: Iterable[Summand], domain: Domain, width: int) -> Ref:
        """The sum of summands."""
        found = []
        for sign, coefficient, rows in summands:
            there = None if coefficient is None else self.at(coefficient, domain)
            found.append(Summand(sign, there, self.at(rows, domain)))
        found.sort(key=lambda part: (part.sign < 0, part.coefficient is not None))
        if len(found) == 1 and found[0][:2] == (1, None):
            return found[0].rows
        refs = _narrowed([ref for part in found for ref in part[1:] if ref is not None])
        rest = iter(refs)
        found = tuple(
            Summand(part.sign, None if part.coefficient is None else next(rest), next(rest))
            for part in found
        )
        result = self.to.make("combination", domain, refs[0].width, refs, found).ref()
        return result if result.width == width else _widened(result, width)

    def _by_rows(self, summands: Sequence[Summand]) -> Iterable[Summand]:
        """Summands, those of the same rows as one."""
        found: dict[Ref, Summand] = {}
        for part in summands:
            known = found.get(part.rows)
            found[part.rows] = part if known is None else self._added(known, part)
        return found.values()

    def _added(self, a: Summand, b: Summand) -> Summand:
        one = self.to.number(1, a.rows.width)
        first, second = (one if part.coefficient is None else part.coefficient for part in (a, b))
        op = "add" if a.sign == b.sign else "sub"
        return Summand(a.sign, self._pointwise(op, first, second), a.rows)


def _follows(a: Ref, b: Ref) -> bool:
    return a.value is b.value and not (a.spread or b.spread) and b.first == a.first + a.width


def _narrowed(refs: Sequence[Ref]) -> list[Ref]:
    """One column of each, if each has the same in all of them."""
    if all(ref.spread for ref in refs):
        return [Ref(ref.value, ref.first, 1) for ref in refs]
    return list(refs)


def _widened(ref: Ref, width: int) -> Ref:
    return Ref(ref.value, ref.first, width, True)


def _is_zero(ref: Ref) -> bool:
    return ref.value.op == "number" and ref.value.data == 0


def _uses(values: Iterable[Value], gradients: Gradients) -> dict[Value, int]:
    found: dict[Value, int] = defaultdict(int)
    for value in [*(part for user in values for part in user.inputs()), *gradients.values()]:
        found[value] += 1
    return found
