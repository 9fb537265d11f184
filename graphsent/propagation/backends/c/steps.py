"""Loops over the rows of a block and their columns, in C: everything except products.

The same text is compiled for a GPU, where a block of threads computes a row; headers define what it
calls. Products divide it into pieces, since there they are operations of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from graphsent.propagation.backends.c.layout import EDGE, Layout
from graphsent.propagation.backends.c.lowering import LEAVES, OVER_EDGES, Lowered
from graphsent.propagation.recurrence.evaluation import SUMMED_AT_ONCE
from graphsent.propagation.recurrence.expressions import Domain, Ref, Value
from graphsent.propagation.recurrence.operations import OPERATIONS

ZEROS = "all(0)"
AT_EDGE = "const int64_t q = s->rows[e];"
"""The source of an edge."""

FIRST_EDGE, LAST_EDGE = "w->first_edge[r]", "w->first_edge[r + 1]"
"""The edges to a node, half-open."""

Piece = str | Value
"""A part of a function: C, or the value of a product, see :class:`~.products.Products`."""

EACH_EDGE = f"for (int64_t e = {FIRST_EDGE}; e < {LAST_EDGE}; e++)"
"""A loop over them."""


class Body:
    """The body of a loop over columns: declarations of rows, and of vectors.

    Args:
        layout: The arrays of values.
        lowered: The function that the values belong to.
        skip_back: Whether gradients of products of states in slots count as zeros.
    """

    def __init__(self, layout: Layout, lowered: Lowered, *, skip_back: bool = False) -> None:
        self.layout, self.lowered, self.skip_back = layout, lowered, skip_back
        self.arrays = lowered.forward | lowered.backward
        self.rows: dict[Value, str] = {}
        self.vectors: dict[tuple, str] = {}
        self.before: list[str] = []
        self.lines: list[str] = []

    def row(self, value: Value) -> str:
        """The name of a pointer to a row of a value."""
        if value not in self.rows:
            name = self.rows[value] = f"a{value.number}"
            self.before.append(f"const real *{name} = {self.layout.address(self.lowered, value)};")
        return self.rows[value]

    def code(self, ref: Ref) -> str:
        """The name of a vector with ``n`` columns from ``j``."""
        value = ref.value
        if value.op == "number":
            number = repr(value.data).replace("inf", "INFINITY").replace("nan", "NAN")
            return f"all({number})"
        if self.skip_back and value.op == "back" and self.layout.of_slot(value.data):
            return ZEROS
        key = (value, ref.first, ref.spread)
        if key not in self.vectors:
            self.vectors[key] = self._made(ref)
        return self.vectors[key]

    def _made(self, ref: Ref) -> str:
        value, first = ref.value, ref.first
        if value.op == "degree":
            return f"all({LAST_EDGE} - {FIRST_EDGE})"
        if value in self.arrays or value.op in LEAVES:
            row = self.row(value)
            if not ref.spread:
                return self._named(f"load({row} + {first} + (j), n)")
            name = f"s{value.number}_{first}"
            self.before.append(f"const vec {name} = all({row}[{first}]);")
            return name
        return self.made(ref)

    def made(self, ref: Ref) -> str:
        """The name of a vector with the result of an operation at some columns."""
        args = [
            self.code(arg.part(ref.first, ref.width)._replace(spread=arg.spread or ref.spread))
            for arg in ref.value.args
        ]
        return self._named(OPERATIONS[ref.value.op].code(*args))

    def _named(self, code: str) -> str:
        name = f"x{len(self.lines)}"
        self.lines.append(f"vec {name} = {code};")
        return name

    def stored(self, name: str, width: int, to: str) -> str:
        """A loop that stores a vector in a row."""
        return self._over(f"OVER_ROW({width}, STEP)", f"store(out + (j), {name}, n);", to)

    def added(self, name: str, width: int, to: str, *, alone: bool = False) -> str:
        """A loop that adds a vector to a row, to which others are added at once unless `alone`."""
        step = f"ADD_TO(out + (j), {name}, n);"
        if alone:
            step = f"store(out + (j), load(out + (j), n) + {name}, n);"
        return self._over(f"OVER_NUMBERS(0, {width}, STEP)", step, to)

    def _over(self, loop: str, step: str, to: str) -> str:
        rows = [*self.before, f"real *out = {to};"]
        return over_columns(loop, " ".join([*self.lines, step]), rows)


def over_columns(loop: str, body: str, before: Iterable[str] = ()) -> str:
    """A loop over the columns of a row, which runs STEP(j, n)."""
    lines = " ".join(before)
    return f"{{ {lines}\n#define STEP(j, n) {body}\n{loop}\n#undef STEP\n}}\n"


def over_edges(body: str) -> str:
    """A loop over the edges to a node."""
    return f"{EACH_EDGE} {{\n{AT_EDGE}\n{body}}}\n"


def over_rows(domain: Domain, body: str) -> str:
    """A loop over the rows of a block, nodes or sources of edges; empty if the body is."""
    if not body:
        return ""
    row = "q" if domain == Domain.SOURCE else "r"
    return f"for (int64_t {row} = first; {row} < last; {row}++) {{\n{body}}}\n"


class Steps:
    """Writes loops over the rows of a block."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def made(self, lowered: Lowered, values: Sequence[Value]) -> list[Piece]:
        """Computes values for the rows from ``first`` to ``last``, in order."""
        pieces: list[Piece] = []
        for multiplied, group in groupby(values, lambda value: value.op in ("product", "back")):
            some = list(group)
            pieces += some if multiplied else [self._group(lowered, some)]
        return pieces

    def stored(self, lowered: Lowered, refs: Iterable[Ref], to: str) -> str:
        """Stores columns side by side in a row."""
        text, first = "", 0
        for ref in refs:
            body = Body(self.layout, lowered)
            text += body.stored(body.code(ref), ref.width, f"{to} + {first}")
            first += ref.width
        return text

    def _group(self, lowered: Lowered, values: Sequence[Value]) -> str:
        """Computes values other than products, one row after the other."""
        inner = ""
        for at_edges, some in groupby(
            values, lambda v: v.domain == EDGE and v.op not in OVER_EDGES
        ):
            text = "".join(self._row(lowered, value) for value in some)
            inner += over_edges(text) if at_edges else text
        return over_rows(values[0].domain, inner)

    def _row(self, lowered: Lowered, value: Value) -> str:
        """Computes a row of a value."""
        to = self.layout.address(lowered, value)
        if value.op == "pack":
            return self.stored(lowered, value.args, to)
        body = Body(self.layout, lowered)
        if value.op in OPERATIONS:
            return body.stored(body.made(value.ref()), value.width, to)
        names = [body.code(arg) for arg in value.args]
        if value.op == "rowsum":
            step = " ".join([*body.lines, f"x = {names[0]};"])
            rows = [*body.before, f"real *to = {to};"]
            return over_columns(f"SUM_ROW({value.args[0].width}, STEP, to)", step, rows)
        made = " ".join([*body.before, *body.lines])
        step = getattr(self, f"_{value.op}")(made, *names, to)
        return over_columns(f"OVER_ROW({value.width}, STEP)", step)

    # Each of the following computes some columns of a row: `made` declares `name` at an edge.

    def _sum(self, made: str, name: str, to: str) -> str:
        return (
            f"vec total = all(0); for (int64_t e0 = {FIRST_EDGE}; e0 < {LAST_EDGE}; "
            f"e0 += {SUMMED_AT_ONCE}) {{ vec part = all(0); for (int64_t e = e0; "
            f"e < smaller(e0 + {SUMMED_AT_ONCE}, {LAST_EDGE}); e++) {{ {AT_EDGE} {made} "
            f"part += {name}; }} total += part; }} store({to} + (j), total, n);"
        )

    def _pull(self, made: str, name: str, to: str) -> str:
        return (
            "vec total = all(0); "
            "for (int64_t i = s->out_first[q]; i < s->out_first[q + 1]; i++) { "
            f"const int64_t e = s->out[i], r = s->target[e]; {made} total += {name}; }} "
            f"store({to} + (j), total, n);"
        )

    def _prod(self, made: str, name: str, to: str) -> str:
        return self._folded(made, f"total * {name}", "1", to)

    def _max(self, made: str, name: str, to: str) -> str:
        return self._folded(made, f"first_of_largest(total, {name})", "-INFINITY", to)

    _amax = _max

    def _folded(self, made: str, total: str, initial: str, to: str) -> str:
        """Combines the values of the edges to a node, one after the other."""
        return (
            f"vec total = all({initial}); {EACH_EDGE} {{ {AT_EDGE} {made} total = {total}; }} "
            f"store({to} + (j), total, n);"
        )

    def _others(self, made: str, name: str, to: str) -> str:
        made = f"{AT_EDGE} {made} real *to = {to} + (j);"
        return (
            f"vec total = all(1); {EACH_EDGE} {{ {made} store(to, total, n); total *= {name}; }} "
            f"total = all(1); for (int64_t e = {LAST_EDGE} - 1; e >= {FIRST_EDGE}; e--) {{ {made} "
            f"store(to, load(to, n) * total, n); total *= {name}; }}"
        )

    def _first(self, made: str, name: str, highest: str, to: str) -> str:
        return (
            f"vec left = all(1); {EACH_EDGE} {{ {AT_EDGE} {made} vec first = "
            f"choose(({name} == {highest}) | ({name} != {name}), left, all(0)); left -= first; "
            f"store({to} + (j), first, n); }}"
        )
