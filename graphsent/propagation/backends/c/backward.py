"""The backward pass of a walk, in C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphsent.propagation.backends.c.forward import EDGE_BOUNDS
from graphsent.propagation.backends.c.layout import EDGE, NODE, SOURCE, Layout
from graphsent.propagation.backends.c.loops import AT_EDGE, EDGES_OF_ROW, ZEROS, over_row
from graphsent.propagation.backends.c.parts import Part
from graphsent.propagation.backends.c.steps import Steps
from graphsent.propagation.recurrence.differentiation import Share, WeightShare
from graphsent.propagation.recurrence.expressions import Domain, Value


class Backward:
    """Writes it.

    Args:
        layout: where values are.
        steps: writes steps.
    """

    def __init__(self, layout: Layout, steps: Steps) -> None:
        self.layout, self.steps = layout, steps
        self.slotted, self.count, self.size = layout.slotted, layout.count, layout.size

    def sources(self, *, starts: bool) -> str:
        """The gradients of states, from those of their successors; of inner nodes, or of starts."""
        part = self.layout.combine
        values = [v for v in part.back_values if v in part.backward and v.domain == SOURCE]
        text = self.steps.steps(part, values)
        loops = ""
        for number in range(self.layout.recurrence.num_parts):
            loops += self._state_gradient(part, number, starts=starts)
        text += f"for (int64_t q = first; q < last; q++) {{\n{loops}}}\n"
        return text + self._accumulate(part, (SOURCE,))

    def _state_gradient(self, part: Part, number: int, *, starts: bool) -> str:
        given = f"s->given[{number}] + q * SIZE"
        if not starts:
            given = f"given_at(w, {number}, q - w->num_starts, SIZE, s->zeros)"
        before = [f"const real *given = {given};", f"real *to = s->dstate[{number}] + q * SIZE;"]
        if self.slotted:
            return self._slot_gradients(part, number, before, starts)
        text, at = "", 0
        for first, ref, _ in part.gradients.states.get((number, None), []):
            text += _copied(at, first)
            body = self.steps.body(part)
            name = body.code(ref)
            store = f"store(to + {first} + (j), load(given + {first} + (j), n) + {name}, n);"
            text += over_row(ref.width, " ".join([*body.lines, store]), body.before)
            at = first + ref.width
        return f"{{ {' '.join(before)}\n{text}{_copied(at, self.size)}}}\n"

    def _slot_gradients(self, part: Part, number: int, before: list[str], starts: bool) -> str:
        """One successor after the other; the sum goes to and fro, so that loops may overlap."""
        cases = ""
        for slot in range(self.count):
            shares = part.gradients.states.get((number, slot), [])
            text = self._of_successor(part, shares, starts)
            if text:
                cases += f"case {slot}: {{\n{text}}} break;\n"
        if not cases:
            return f"{{ {' '.join(before)}\n{_copied(0, self.size)}}}\n"
        return (
            f"{{ {' '.join(before)}\nreal other[SIZE]; const real *from = given;\n"
            "for (int64_t i = s->out_first[q], left = s->out_first[q + 1] - i; left; i++, left--) {"
            "\nconst int64_t r = s->out[i] / COUNT; (void)r;\nreal *sum = left % 2 ? to : other;\n"
            f"switch (s->out[i] % COUNT) {{\n{cases}"
            "default: memcpy(sum, from, SIZE * sizeof(real));\n}\nfrom = sum;\n}\n"
            "if (from == given) memcpy(to, given, SIZE * sizeof(real));\n}\n"
        )

    def _of_successor(self, part: Part, shares: list[Share], starts: bool) -> str:
        """The loops that add what a state has of a successor; empty if that is nothing."""
        text, at, added = "", 0, False
        for first, ref, _ in shares:
            body = self.steps.body(part, skip_back=starts)
            name = body.code(ref)
            if name == ZEROS:
                continue
            text += _moved(at, first)
            store = f"store(sum + {first} + (j), load(from + {first} + (j), n) + {name}, n);"
            text += over_row(ref.width, " ".join([*body.lines, store]), body.before)
            at, added = first + ref.width, True
        return text + _moved(at, self.size) if added else ""

    def nodes(self) -> str:
        """What inner nodes pass on."""
        part = self.layout.combine
        values = [v for v in part.back_values if v in part.backward and v.domain in (NODE, EDGE)]
        text = ("" if self.slotted else EDGE_BOUNDS) + self.steps.steps(part, values)
        for number, shares in part.gradients.inputs.items():
            text += self._input_gradient(part, number, shares)
        return text + self._accumulate(part, (NODE, EDGE))

    def _input_gradient(self, part: Part, number: int, shares: list[Share]) -> str:
        width, shares = self.layout.input_width(part, number), part.joined(shares)
        to = f"w->dinputs[{number}] + r * {width}"
        rows = self._filled(part, shares, to, str(width))
        name, _ = self.layout.accumulators["input", number]
        shared = f"w->dinputs[{number}] + w->dinput_rows[{number}][r] * {width}"
        to = f"(w->dinput_rows[{number}] ? {shared} : {name})"
        added = "".join(self._added(part, share, to) for share in shares)
        loop = "for (int64_t r = first; r < last; r++)"
        alone = f"w->input_strides[{number}] && !w->dinput_rows[{number}]"
        return (
            f"if (w->dinputs[{number}] && {alone}) {{\n{loop} {{\n{rows}}}\n"
            f"}} else if (w->dinputs[{number}]) {{\n{loop} {{\n{added}}}\n}}\n"
        )

    def _of_start(
        self, part: Part, shares: Sequence[Share], to: str, width: str, number: int
    ) -> str:
        """Stores columns; those of a projection without the ones that nothing reads."""
        ranges = self.layout.columns
        if number or (len(ranges) == 1 and not ranges[0][0]):
            return self._filled(part, part.joined(shares), to, width)
        text = f"if (!w->num_projected) memset({to}, 0, {width} * sizeof(real));\n"
        for first, ref, _ in part.joined(shares):
            before = sum(min(first, last) - begin for begin, last in ranges if begin < first)
            text += self.steps.stores(
                part, [ref], f"{to} + (w->num_projected ? {before} : {first})"
            )
        return text

    def _filled(self, part: Part, shares: Sequence[Share], to: str, width: str) -> str:
        """Stores columns, and zeros where there are none."""
        text, at = "", 0
        for first, ref, _ in shares:
            if first > at:
                text += f"memset({to} + {at}, 0, {first - at} * sizeof(real));\n"
            text += self.steps.stores(part, [ref], to, first)
            at = first + ref.width
        return text + f"memset({to} + {at}, 0, ({width} - {at}) * sizeof(real));\n"

    def _added(self, part: Part, share: Share, to: str) -> str:
        body = self.steps.body(part)
        name = body.code(share.ref)
        code = [*body.lines, f"store(to + (j), load(to + (j), n) + {name}, n);"]
        before = [*body.before, f"real *to = {to} + {share.first};"]
        return over_row(share.ref.width, " ".join(code), before, "OVER_NUMBERS")

    def _accumulate(self, part: Part, domains: Sequence[Domain]) -> str:
        prefix = "start " if part.starts else ""
        by_domain: dict[Domain, str] = {}
        for number, shares in part.gradients.constants.items():
            name, _ = self.layout.accumulators[f"{prefix}constant", number]
            for share in part.joined(shares):
                if share.domain in domains:
                    text = self._added(part, share, name)
                    by_domain[share.domain] = by_domain.get(share.domain, "") + text
        text = ""
        for domain, loops in by_domain.items():
            if domain == EDGE:
                edges = f"for (int64_t e = begin_edge; e < last_edge; e++) {{\n{AT_EDGE}{loops}}}"
                loops = f"{EDGES_OF_ROW}{edges}\n"
            row = "q" if domain == SOURCE else "r"
            text += f"for (int64_t {row} = first; {row} < last; {row}++) {{\n{loops}}}\n"
        return text

    def start(self) -> str:
        """What nodes without predecessors pass on."""
        part = self.layout.start
        given = (
            "  for (int part = 0; part < PARTS && w->start; part++) {\n"
            "    if (!w->dstart[part]) continue;\n"
            "    memcpy(w->dstart[part] + first * SIZE, s->dstate[part] + first * SIZE,\n"
            "           (last - first) * SIZE * sizeof(real));\n  }\n  if (w->start) return;\n"
        )
        values = [v for v in part.back_values if v in part.backward]
        text = self.steps.steps(part, values)
        for number, shares in part.gradients.inputs.items():
            to, width = f"w->dstart_inputs[{number}]", f"w->start_strides[{number}]"
            if not number:
                to = f"(w->num_projected ? s->dprojected : {to})"
                width = f"(w->num_projected ? w->num_projected : {width})"
            rows = self._of_start(part, shares, f"{to} + r * {width}", width, number)
            text += f"if ({to}) for (int64_t r = first; r < last; r++) {{\n{rows}}}\n"
        return given + text + self._accumulate(part, (NODE,))

    def pairs(self) -> str:
        """Through products of the states of the first level in slots."""
        text = ""
        for sums in dict.fromkeys(sums for sums, _, _ in self.steps.back_pairs):
            array = self.layout.places[sums]
            text += f"  sum_pairs(s, {array.begin}, {array.stride}, {sums.width});\n"
        for sums, term, packed in self.steps.back_pairs:
            part, slot = term.rows.data
            array = self.layout.places[sums]
            text += (
                f"  BARRIER\n  multiply_pairs_back(s, {part}, {slot}, "
                f"{array.begin}, {array.stride}, {term.width}, {packed});\n"
            )
        return f"{text}  BARRIER\n" if text else ""

    def weights(self) -> str:
        """What all nodes have in common."""
        text = ""
        filled: set[Any] = set()
        layout = self.layout
        for kind, number in layout.accumulators:
            name, width = layout.accumulators[kind, number]
            offset = name.replace("s->acc", "s->all_acc")
            if kind == "input":
                where, only = f"w->dinputs[{number}]", f" && !w->input_strides[{number}]"
            else:
                shift = len(layout.recurrence.combine.constants) if "start" in kind else 0
                where, only = f"w->dconstants[{number + shift}]", ""
            text += (
                f"  if ({where}{only}) add_up({where}, {offset}, ACCUMULATED, {width}, "
                "s->thread, s->threads);\n"
            )
        for share in layout.combine.gradients.weights:
            text += self._weight_gradient(share, filled)
        return text

    def _weight_gradient(self, share: WeightShare, filled: set) -> str:
        layout, (term, sums) = self.layout, share
        stride = layout.recurrence.combine.shapes[term.weight][1]
        columns = range(term.column, term.column + term.rows.width)
        more = int(any((term.weight, column) in filled for column in columns))
        filled.update((term.weight, column) for column in columns)
        to = f"w->dconstants[{term.weight}] + {term.column}"
        array = layout.places[sums]
        head = f"  if (w->dconstants[{term.weight}]) "
        if layout.of_slot(term):
            part, slot = term.rows.data
            return (
                f"{head}weigh_slot(s, {part}, {slot}, {array.begin}, {array.stride}, {term.width}, "
                f"{to}, {stride}, {more});\n"
            )
        rows, row_stride = self._all_rows(term.rows)
        count = {NODE: "s->inner", SOURCE: "s->num_rows", EDGE: "w->num_edges"}[sums.domain]
        return (
            f"{head}multiply_transposed("
            f"(struct rows){{{array.begin}, {array.stride}, NULL, NULL}}, "
            f"{term.width}, (struct rows){{{rows}, {row_stride}, NULL, NULL}}, "
            f"{term.rows.width}, {count}, (struct sums){{{to}, {stride}, NULL, 0, {more}}}, "
            "s->turned, s->thread, s->threads);\n"
        )

    def _all_rows(self, value: Value) -> tuple[str, str]:
        if value.op == "state":
            return f"s->state[{value.data[0]}]", "SIZE"
        array = self.layout.places[value]
        if value in self.layout.combine.direct:
            return f"s->{array.name} + w->num_starts * SIZE", "SIZE"
        return array.begin, array.stride


def _moved(first: int, last: int) -> str:
    """Columns that a successor adds nothing to."""
    if first == last:
        return ""
    return f"memcpy(sum + {first}, from + {first}, {last - first} * sizeof(real));\n"


def _copied(first: int, last: int) -> str:
    """Columns that only the results have gradients of."""
    if first == last:
        return ""
    return f"memcpy(to + {first}, given + {first}, {last - first} * sizeof(real));\n"
