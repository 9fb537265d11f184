"""Loops over rows and over their columns, in C."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isfinite, isnan

from graphsent.propagation.recurrence.expressions import Domain, Ref, Value
from graphsent.propagation.recurrence.operations import OPERATIONS

ZEROS = "all(0)"
SUMMED_AT_ONCE = 256
"""Longer sums are made in parts: each addition to a long one costs a bit of its digits."""

AT_EDGE = "const int64_t q = s->rows[e]; (void)q;"
"""The source of an edge."""

FIRST_EDGE, LAST_EDGE = "w->first_edge[r]", "w->first_edge[r + 1]"
"""The edges to a node, from one to before the other."""

Address = Callable[[Value], str]


class Body:
    """What a loop does with some columns: names of rows and vectors, and what these are.

    Args:
        address: from a value with an array, or given, to where its row begins.
        arrays: the values that have one.
        skip: whether a value is taken for zeros.
    """

    def __init__(
        self,
        address: Address,
        arrays: set[Value],
        skip: Callable[[Value], bool] = lambda value: False,
    ) -> None:
        self.address, self.arrays, self.skip = address, arrays, skip
        self.rows: dict[Value, str] = {}
        self.spread: dict[tuple[Value, int], str] = {}
        self.vectors: dict[tuple, str] = {}
        self.before: list[str] = []
        self.lines: list[str] = []

    def row(self, value: Value) -> str:
        """The name of a pointer to a row."""
        if value not in self.rows:
            name = self.rows[value] = f"a{value.number}"
            self.before.append(f"const real *{name} = {self.address(value)};")
        return self.rows[value]

    def code(self, ref: Ref) -> str:
        """The name of a vector with columns; ``j`` is the first, of ``n``."""
        value = ref.value
        if value.op == "number":
            return f"all({_number(value.data)})"
        if self.skip(value):
            return ZEROS
        key = (value, ref.first, ref.spread)
        if key not in self.vectors:
            self.vectors[key] = self._made(ref)
        return self.vectors[key]

    def _made(self, ref: Ref) -> str:
        value, first = ref.value, ref.first
        if value.op == "degree":
            return f"all({LAST_EDGE} - {FIRST_EDGE})"
        if value in self.arrays or value.op in ("input", "constant", "state", "gradient"):
            row = self.row(value)
            if not ref.spread:
                return self._named(f"load({row} + {first} + (j), n)")
            name = f"s{value.number}_{first}"
            if (value, first) not in self.spread:
                self.spread[value, first] = name
                self.before.append(f"const vec {name} = all({row}[{first}]);")
            return name
        return self.made(value, ref)

    def made(self, value: Value, ref: Ref) -> str:
        """The name of a vector with what the operation of a value gives at some columns."""
        args = [self.code(_columns(arg, ref)) for arg in value.args]
        return self._named(OPERATIONS[value.op].code(*args))

    def _named(self, code: str) -> str:
        name = f"x{len(self.lines)}"
        self.lines.append(f"vec {name} = {code};")
        return name

    def stored(self, name: str, width: int, to: str, plus: str = "", loop: str = "OVER_ROW") -> str:
        """A loop that stores a vector in a row, added to another row if there is one."""
        rows = [f"real *out = {to};", *([f"const real *plus = {plus};"] if plus else [])]
        total = f"load(plus + (j), n) + {name}" if plus else name
        code = " ".join([*self.lines, f"store(out + (j), {total}, n);"])
        return over_columns(width, code, [*self.before, *rows], loop)


def _columns(arg: Ref, ref: Ref) -> Ref:
    """The columns of an argument that columns of the result are made of."""
    if arg.spread:
        return Ref(arg.value, arg.first, ref.width, True)
    return Ref(arg.value, arg.first + ref.first, ref.width, ref.spread)


def over_columns(width: int, body: str, before: Iterable[str] = (), loop: str = "OVER_ROW") -> str:
    """A loop over the columns of a row."""
    bounds = f"{width}" if loop == "OVER_ROW" else f"0, {width}"
    lines = " ".join(before)
    return f"{{ {lines}\n#define STEP(j, n) {body}\n{loop}({bounds}, STEP)\n#undef STEP\n}}\n"


def over_edges(body: str) -> str:
    """A loop over the edges to a node."""
    return f"for (int64_t e = {FIRST_EDGE}; e < {LAST_EDGE}; e++) {{\n{AT_EDGE}\n{body}}}\n"


def over_rows(domain: Domain, body: str) -> str:
    """A loop over the rows of a block: nodes, or sources of edges; empty without a body."""
    if not body:
        return ""
    row = "q" if domain == Domain.SOURCE else "r"
    return f"for (int64_t {row} = first; {row} < last; {row}++) {{\n{body}}}\n"


def _number(value: float) -> str:
    """A number in C."""
    if isnan(value):
        return "NAN"
    return repr(value) if isfinite(value) else f"{'-' * (value < 0)}INFINITY"
