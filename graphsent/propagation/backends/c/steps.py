"""The steps of a walk for a block of rows, in C: loops over rows and columns, and products."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from graphsent.propagation.backends.c.arrays import LEAVES
from graphsent.propagation.backends.c.layout import EDGE, NODE, SOURCE, Array, Layout
from graphsent.propagation.backends.c.loops import (
    AT_EDGE,
    EDGES_OF_ROW,
    SUMMED_AT_ONCE,
    Body,
    over_row,
)
from graphsent.propagation.backends.c.parts import Part
from graphsent.propagation.recurrence.expressions import Ref, Term, Value


class Weight(NamedTuple):
    """Some columns of a weight, packed."""

    name: str
    term: Term
    back: bool


class Steps:
    """Writes steps, and takes note of the products in them.

    Attributes:
        layout: where values are.
        weights: that are to be packed.
        pairs: products of states in slots, with the sums that they are a part of and the weight.
        back_pairs: the same on the way back.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.weights: list[Weight] = []
        self.pairs: list[tuple[Value, Term, str]] = []
        self.back_pairs: list[tuple[Value, Term, str]] = []

    def address(self, part: Part, value: Value) -> str:
        """Where the row of a value begins."""
        if value.op == "input":
            if part.starts:
                given = f"w->start_inputs[{value.data}] + r * w->start_strides[{value.data}]"
                if value.data:
                    return given
                return f"(w->num_projected ? s->projected + r * PROJECTED : {given})"
            return f"input_at(w, {value.data}, r)"
        if value.op == "constant":
            shift = len(self.layout.recurrence.combine.constants) if part.starts else 0
            return f"w->constants[{value.data + shift}]"
        if value.op == "state":
            number, slot = value.data
            row = "q" if slot is None else f"s->rows[r * {self.layout.count} + {slot}]"
            return f"s->state[{number}] + {row} * {self.layout.size}"
        if value.op == "gradient":
            row = "r" if part.starts else "(w->num_starts + r)"
            return f"s->dstate[{value.data}] + {row} * {self.layout.size}"
        array = self.layout.places[value]
        return f"{array.begin} + {self._row(part, value, array)} * {array.stride}"

    def _row(self, part: Part, value: Value, array: Array) -> str:
        if value in part.direct:
            return "r" if part.starts else "(w->num_starts + r)"
        name = {NODE: "r", SOURCE: "q", EDGE: "e"}[value.domain]
        if value.domain == SOURCE or array.whole is True:
            return name
        origin = {NODE: "first", EDGE: "s->first_edge"}[value.domain]
        origin = name if value in part.brief else origin
        if array.whole == "kept":
            origin = f"(w->keep ? 0 : {origin})"
        return f"({name} - {origin})"

    def body(self, part: Part, skip_back: bool = False) -> Body:
        """An empty body; without products of gradients for states in slots, if they are skipped."""

        def skip(value: Value) -> bool:
            return skip_back and value.op == "back" and self.layout.of_slot(value.data)

        arrays = part.forward | part.backward
        return Body(lambda v: self.address(part, v), arrays, skip)

    def steps(self, part: Part, values: Sequence[Value]) -> str:
        """Makes some values for the rows from first to last, in order."""
        text = ""
        group: list[Value] = []
        for value in values:
            if value.op in ("product", "back"):
                text += self._group(part, group) + self._multiplied(part, value)
                group = []
            else:
                group.append(value)
        return text + self._group(part, group)

    def stores(self, part: Part, refs: Iterable[Ref], to: str, first: int = 0) -> str:
        """Stores columns side by side in a row, from a column on."""
        text = ""
        for ref in refs:
            body = self.body(part)
            name = body.code(ref)
            code = " ".join([*body.lines, f"store(to + (j), {name}, n);"])
            text += over_row(ref.width, code, [*body.before, f"real *to = {to} + {first};"])
            first += ref.width
        return text

    def _group(self, part: Part, values: Sequence[Value]) -> str:
        """Makes values without products, for one row after the other."""
        if not values:
            return ""
        sources = values[0].domain == SOURCE
        inner = ""
        for at_edges, some in groupby(values, lambda v: v.domain == EDGE and v.op != "softmax"):
            text = self._row_steps(part, some)
            if at_edges:
                text = f"for (int64_t e = begin_edge; e < last_edge; e++) {{\n{AT_EDGE}{text}}}\n"
            inner += text
        row = "q" if sources else "r"
        edges = "" if sources or self.layout.slotted or part.starts else EDGES_OF_ROW
        return f"for (int64_t {row} = first; {row} < last; {row}++) {{\n{edges}{inner}}}\n"

    def _row_steps(self, part: Part, values: Iterable[Value]) -> str:
        """A loop over columns for each value."""
        text = ""
        for value in values:
            if value.op == "pack":
                first = 0
                for ref in value.args:
                    if part.inside.get(ref.value) != (value, first):
                        text += self.stores(part, [ref], self.address(part, value), first)
                    first += ref.width
            elif value.op in ("sum", "pull", "rowsum", "softmax"):
                text += getattr(self, f"_{value.op}")(part, value)
            else:
                text += self._pointwise(part, value)
        return text

    def _pointwise(self, part: Part, value: Value) -> str:
        body = self.body(part)
        name = body.made(value, value.ref())
        code = " ".join([*body.lines, f"store(to + (j), {name}, n);"])
        return over_row(
            value.width, code, [*body.before, f"real *to = {self.address(part, value)};"]
        )

    def _sum(self, part: Part, value: Value) -> str:
        body = self.body(part)
        name = body.code(value.args[0])
        rows = " ".join(body.before)
        inner = (
            f"for (int64_t e = e0; e < smaller(e0 + {SUMMED_AT_ONCE}, last_edge); e++) "
            f"{{ {AT_EDGE.strip()} {rows} {' '.join(body.lines)} part += {name}; }}"
        )
        step = (
            f"vec total = all(0); for (int64_t e0 = begin_edge; e0 < last_edge; "
            f"e0 += {SUMMED_AT_ONCE}) {{ vec part = all(0); {inner} total += part; }} "
            "store(to + (j), total, n);"
        )
        return over_row(value.width, step, [f"real *to = {self.address(part, value)};"])

    def _pull(self, part: Part, value: Value) -> str:
        body = self.body(part)
        name = body.code(value.args[0])
        rows = " ".join(body.before)
        inner = (
            "for (int64_t i = s->out_first[q]; i < s->out_first[q + 1]; i++) { "
            "const int64_t e = s->out[i], r = s->target[e]; (void)r; "
            f"{_edges_if(body)}{rows} {' '.join(body.lines)} total += {name}; }}"
        )
        step = f"vec total = all(0); {inner} store(to + (j), total, n);"
        return over_row(value.width, step, [f"real *to = {self.address(part, value)};"])

    def _rowsum(self, part: Part, value: Value) -> str:
        (ref,) = value.args
        body = self.body(part)
        name = body.code(ref)
        width = ref.width
        lines = " ".join([*body.lines, f"x = {name};"])
        rows = " ".join(body.before)
        return (
            f"{{ {rows} real *to = {self.address(part, value)}; vec total = all(0), x; "
            "real rest = 0; int64_t j = 0;\n"
            f"for (; j + LANES <= {width}; j += LANES) {{ enum {{ n = LANES }}; {lines} "
            "total += x; }\n"
            f"if (j < {width}) {{ const int n = {width} % LANES; {lines} "
            "for (int i = 0; i < n; i++) rest += x[i]; }\n"
            "to[0] = sum_of(total, rest); }\n"
        )

    def _softmax(self, part: Part, value: Value) -> str:
        body = self.body(part)
        name = body.code(value.args[0])
        made = " ".join([AT_EDGE.strip(), *body.before, *body.lines])
        to = self.address(part, value)
        each = "for (int64_t e = begin_edge; e < last_edge; e++) "
        step = (
            f"vec highest = all(-INFINITY), total = all(0); {each}{{ {made} "
            f"highest = choose({name} > highest, {name}, highest); }} "
            f"{each}{{ {made} vec y = exponential({name} - highest); total += y; "
            f"store({to} + (j), y, n); }} "
            f"{each}{{ real *to = {to} + (j); store(to, load(to, n) / total, n); }}"
        )
        return over_row(value.width, step)

    # Products

    def _packed(self, term: Term, *, back: bool) -> str:
        for weight in self.weights:
            if weight[1:] == (term, back):
                return f"s->{weight.name}"
        name = f"packed[{len(self.weights)}]"
        self.weights.append(Weight(name, term, back))
        return f"s->{name}"

    def _rows_begin(self, part: Part, value: Value) -> tuple[str, str]:
        """Where the rows of a block begin, and their stride."""
        row = "q" if value.domain == SOURCE else "r"
        stride = str(value.width) if value.op in LEAVES else self.layout.places[value].stride
        text = self.address(part, value)
        if value.domain == EDGE:
            return f"({{ const int64_t e = s->first_edge; {text}; }})", stride
        return f"({{ const int64_t {row} = first; {text}; }})", stride

    def _multiplied(self, part: Part, value: Value) -> str:
        if value.op == "back":
            return self._multiplied_back(part, value)
        to, stride = self._rows_begin(part, value)
        text = f"{{ real *to = {to};\n"
        slots = [term for term in value.data if self.layout.of_slot(term)]
        added = 0
        if slots:
            text += self._from_pairs(value, stride)
            added = 1
            for term in slots:
                state, slot = term.rows.data
                packed = self._packed(term, back=False)
                text += (
                    f"multiply_slot(s, {state}, {slot}, first, last, {packed}, {term.width}, "
                    f"to, {stride});\n"
                )
                self.pairs.append((value, term, packed))
        count = "s->last_edge - s->first_edge" if value.domain == EDGE else "last - first"
        for term in value.data:
            if self.layout.of_slot(term):
                continue
            rows, row_stride = self._rows_begin(part, term.rows)
            packed = self._packed(term, back=False)
            text += (
                f"multiply_into({rows}, {row_stride}, {count}, {packed}, {term.rows.width}, "
                f"{term.width}, (struct sums){{to, {stride}, NULL, 0, {added}}});\n"
            )
            added = 1
        return text + "}\n"

    def _from_pairs(self, value: Value, stride: str) -> str:
        pairs = f"pairs{value.number}"
        if not any(name == pairs for name, _ in self.layout.fields):
            self.layout.fields.append((pairs, f"w->count * s->pairs_a_slot * {stride}"))
        slots = sorted({term.rows.data[1] for term in value.data if self.layout.of_slot(term)})
        each = "".join(
            f"pair = s->places.pair_of[r * {self.layout.count} + {slot}];\n"
            f"if (pair >= 0) {{ if (any) add(row, s->{pairs} + pair * {stride}, 0, {value.width}); "
            f"else memcpy(row, s->{pairs} + pair * {stride}, {value.width} * sizeof(real)); "
            "any = 1; }\n"
            for slot in slots
        )
        return (
            "for (int64_t r = first; r < last; r++) {\n"
            f"real *row = to + (r - first) * {stride}; int any = 0; int64_t pair;\n{each}"
            f"if (!any) memset(row, 0, {value.width} * sizeof(real));\n}}\n"
        )

    def _multiplied_back(self, part: Part, value: Value) -> str:
        term: Term = value.data
        sums = value.args[0].value
        packed = self._packed(term, back=True)
        to, stride = self._rows_begin(part, value)
        rows, row_stride = self._rows_begin(part, sums)
        if self.layout.of_slot(term):
            slot = term.rows.data[1]
            self.back_pairs.append((sums, term, packed))
            return (
                f"{{ real *to = {to}; multiply_slot_back(s, {slot}, first, last, {rows}, "
                f"{row_stride}, {term.width}, {packed}, to); }}\n"
            )
        count = "s->last_edge - s->first_edge" if value.domain == EDGE else "last - first"
        return (
            f"multiply_into({rows}, {row_stride}, {count}, {packed}, {term.width}, "
            f"{value.width}, (struct sums){{{to}, {stride}, NULL, 0, 0}});\n"
        )


def _edges_if(body: Body) -> str:
    return EDGES_OF_ROW.strip() + " " if any("last_edge" in line for line in body.lines) else ""
