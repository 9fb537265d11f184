"""What is made of values without products, for a block of rows, in C."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from graphsent.propagation.backends.c.layout import EDGE, Layout
from graphsent.propagation.backends.c.loops import (
    AT_EDGE,
    FIRST_EDGE,
    LAST_EDGE,
    SUMMED_AT_ONCE,
    Body,
    over_columns,
    over_edges,
    over_rows,
)
from graphsent.propagation.backends.c.parts import Part
from graphsent.propagation.backends.c.products import Products
from graphsent.propagation.recurrence.expressions import Ref, Value


class Steps:
    """Writes loops over the rows of a block.

    Args:
        layout: where values are.
        products: writes products.
    """

    def __init__(self, layout: Layout, products: Products) -> None:
        self.layout, self.products = layout, products

    def body(self, part: Part, skip_back: bool = False) -> Body:
        """An empty body; without products of gradients for states in slots, if they are skipped."""

        def skip(value: Value) -> bool:
            return skip_back and value.op == "back" and self.layout.of_slot(value.data)

        arrays = part.forward | part.backward
        return Body(lambda value: self.layout.address(part, value), arrays, skip)

    def made(self, part: Part, values: Sequence[Value]) -> str:
        """Makes some values for the rows from first to last, in order."""
        text = ""
        for multiplied, group in groupby(values, lambda value: value.op in ("product", "back")):
            if multiplied:
                text += "".join(self.products.multiplied(part, value) for value in group)
            else:
                text += self._group(part, list(group))
        return text

    def stored(self, part: Part, refs: Iterable[Ref], to: str, first: int = 0) -> str:
        """Stores columns side by side in a row, from a column on."""
        text = ""
        for ref in refs:
            body = self.body(part)
            text += body.stored(body.code(ref), ref.width, f"{to} + {first}")
            first += ref.width
        return text

    def _group(self, part: Part, values: Sequence[Value]) -> str:
        """Makes values without products, for one row after the other."""
        inner = ""
        for at_edges, some in groupby(values, lambda v: v.domain == EDGE and v.op != "softmax"):
            text = "".join(self._row(part, value) for value in some)
            inner += over_edges(text) if at_edges else text
        return over_rows(values[0].domain, inner)

    def _row(self, part: Part, value: Value) -> str:
        """Makes the row of a value."""
        to = self.layout.address(part, value)
        if value.op == "pack":
            return self.stored(part, value.args, to)
        body = self.body(part)
        if value.op in ("sum", "pull", "rowsum", "softmax"):
            name = body.code(value.args[0])
            return getattr(self, f"_{value.op}")(value, body, name, to)
        return body.stored(body.made(value, value.ref()), value.width, to)

    def _sum(self, value: Value, body: Body, name: str, to: str) -> str:
        made = " ".join([AT_EDGE, *body.before, *body.lines, f"part += {name};"])
        step = (
            f"vec total = all(0); for (int64_t e0 = {FIRST_EDGE}; e0 < {LAST_EDGE}; "
            f"e0 += {SUMMED_AT_ONCE}) {{ vec part = all(0); for (int64_t e = e0; "
            f"e < smaller(e0 + {SUMMED_AT_ONCE}, {LAST_EDGE}); e++) {{ {made} }} total += part; }} "
            "store(to + (j), total, n);"
        )
        return over_columns(value.width, step, [f"real *to = {to};"])

    def _pull(self, value: Value, body: Body, name: str, to: str) -> str:
        made = " ".join([*body.before, *body.lines, f"total += {name};"])
        step = (
            "vec total = all(0); "
            "for (int64_t i = s->out_first[q]; i < s->out_first[q + 1]; i++) { "
            f"const int64_t e = s->out[i], r = s->target[e]; (void)r; {made} }} "
            "store(to + (j), total, n);"
        )
        return over_columns(value.width, step, [f"real *to = {to};"])

    def _rowsum(self, value: Value, body: Body, name: str, to: str) -> str:
        width = value.args[0].width
        lines, rows = " ".join([*body.lines, f"x = {name};"]), " ".join(body.before)
        return (
            f"{{ {rows} real *to = {to}; vec total = all(0), x; "
            "real rest = 0; int64_t j = 0;\n"
            f"for (; j + LANES <= {width}; j += LANES) {{ enum {{ n = LANES }}; {lines} "
            "total += x; }\n"
            f"if (j < {width}) {{ const int n = {width} % LANES; {lines} "
            "for (int i = 0; i < n; i++) rest += x[i]; }\n"
            "to[0] = sum_of(total, rest); }\n"
        )

    def _softmax(self, value: Value, body: Body, name: str, to: str) -> str:
        made = " ".join([AT_EDGE, *body.before, *body.lines])
        each = f"for (int64_t e = {FIRST_EDGE}; e < {LAST_EDGE}; e++) "
        step = (
            f"vec highest = all(-INFINITY), total = all(0); {each}{{ {made} "
            f"highest = choose({name} > highest, {name}, highest); }} "
            f"{each}{{ {made} vec y = exponential({name} - highest); total += y; "
            f"store({to} + (j), y, n); }} "
            f"{each}{{ real *to = {to} + (j); store(to, load(to, n) / total, n); }}"
        )
        return over_columns(value.width, step)
