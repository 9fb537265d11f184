"""The matrix products of a walk, forward and backward, in C."""

from __future__ import annotations

from collections.abc import Sequence

from graphsent.propagation.backends.c.layout import EDGE, ROWS, Layout
from graphsent.propagation.recurrence.expressions import Term, Value


class Products:
    """Writes products, and what they need before and after the walk.

    Only ``combine`` has any: those in ``start`` are of inputs, and thus computed before.

    Attributes:
        weights: Names of the packed columns of weights, each for one direction.
        packing: What packs them for the pass back, or forward.
        pairs_forward: What computes the products of the states of level 0 in slots.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.weights: dict[tuple[Term, bool], str] = {}
        self.packing = {False: "", True: ""}
        self.pairs_forward = ""

    def _packed(self, term: Term, *, back: bool) -> str:
        if (term, back) not in self.weights:
            depth, columns = _sizes(term, back)
            name = self.weights[term, back] = f"packed{len(self.weights)}"
            arrays = self.layout.arrays["BACKWARD" if back else "FORWARD"]
            arrays[name] = f"{depth} * padded({columns})"
            self.packing[back] += (
                f"  library->{'pack' if back else 'pack_transposed'}(w->constants[{term.weight}] + "
                f"{term.column}, {self._stride(term)}, {depth}, {columns}, s->{name}, s->thread, "
                "s->threads);\n"
            )
        return f"s->{self.weights[term, back]}"

    def _stride(self, term: Term) -> int:
        return [*self.layout.recurrence.combine.constants.values()][term.weight][1]

    def multiplied(self, value: Value) -> str:
        """Computes a product, or the gradient of its rows, for a block of rows."""
        back = value.op == "back"
        terms: Sequence[Term] = [value.data] if back else value.data
        text, added = f"{{ real *to = {self.layout.block(value)};\n", 0
        if not back and any(map(self.layout.of_slot, terms)):
            text, added = text + self._from_pairs(value), 1
        count = "s->last_edge - s->first_edge" if value.domain == EDGE else "last - first"
        for term in terms:
            packed = self._packed(term, back=back)
            depth, columns = _sizes(term, back)
            begin = self.layout.block(value.args[0].value if back else term.rows)
            if self.layout.of_slot(term):
                part, slot = term.rows.data
                rows = f"s->state[{part}], SIZE, s->places.link_states"
                if back:
                    rows = f"{begin} - first * {depth}, {depth}, s->places.link_rows"
                text += (
                    f"multiply_links(s, {slot}, first, last, (struct rows){{{rows}}}, {packed}, "
                    f"{depth}, {columns}, to, {int(not back)});\n"
                )
                continue
            text += (
                f"library->multiply_into({begin}, {depth}, {count}, {packed}, {depth}, "
                f"{columns}, (struct sums){{to, {columns}, NULL, {added}}});\n"
            )
            added = 1
        return text + "}\n"

    def _from_pairs(self, value: Value) -> str:
        """Initializes sums with the products of the states of level 0."""
        name, slots = f"pairs{value.number}", set[int]()
        most = "smaller(w->num_starts, s->inner)"  # pairs of a slot
        self.layout.arrays["FORWARD"][name] = f"COUNT * {most} * {value.width}"
        self.pairs_forward = self.pairs_forward or "  BARRIER\n"
        for term in filter(self.layout.of_slot, value.data):
            part, slot = term.rows.data
            self.pairs_forward += (
                f"  multiply_pairs(s, {part}, {slot}, {self._packed(term, back=False)}, "
                f"{value.width}, s->{name}, {int(slot in slots)});\n"
            )
            slots.add(slot)
        return (
            f"static const int slots[] = {{{', '.join(map(str, sorted(slots)))}}};\n"
            f"begin_sums(s, slots, {len(slots)}, first, last, s->{name}, {value.width}, to);\n"
        )

    # After the walk back

    def pairs_backward(self) -> str:
        """The gradients of states of level 0 through their products in slots."""
        shares = self.layout.combine.gradients.weights
        pairs = [(term, sums) for term, sums in shares if self.layout.of_slot(term)]
        text = ""
        for sums in dict.fromkeys(sums for _, sums in pairs):
            text += f"  sum_pairs(s, s->{self.layout.names[sums]}, {sums.width});\n"
        for term, sums in pairs:
            part, slot = term.rows.data
            text += (
                f"  BARRIER\n  multiply_pairs_back(s, {part}, {slot}, "
                f"s->{self.layout.names[sums]}, {sums.width}, "
                f"{self._packed(term, back=True)});\n"
            )
        return text

    def weights_backward(self) -> str:
        """Adds to the gradients of weights."""
        text, layout = "", self.layout
        for term, sums in layout.combine.gradients.weights:
            given = f"s->{layout.names[sums]}"
            to = f"w->dconstants[{term.weight}] + {term.column}"
            text += f"  if (w->dconstants[{term.weight}]) "
            if layout.of_slot(term):
                part, slot = term.rows.data
                text += (
                    f"weigh_slot(s, {part}, {slot}, {given}, {sums.width}, {to}, "
                    f"{self._stride(term)});\n"
                )
                continue
            depth, rows = term.rows.width, layout.all_rows(term.rows)
            text += (
                f"library->multiply_transposed((struct rows){{{given}, {sums.width}, NULL}}, "
                f"{sums.width}, (struct rows){{{rows}, {depth}, NULL}}, {depth}, "
                f"{ROWS[sums.domain]}, (struct sums){{{to}, {self._stride(term)}, NULL, 1}}, "
                "s->turned, s->thread, s->threads);\n"
            )
        return text


def _sizes(term: Term, back: bool) -> tuple[int, int]:
    """Columns of the rows that are multiplied, and of their products."""
    depth, columns = term.rows.width, term.width
    return (columns, depth) if back else (depth, columns)
