"""The matrix products of a walk, forward and backward, in C."""

from __future__ import annotations

from collections.abc import Sequence

from graphsent.propagation.backends.c.layout import EDGE, NODE, SOURCE, Layout
from graphsent.propagation.recurrence.expressions import Term, Value


class Products:
    """Writes products, and records what they need before and after the walk.

    Only ``combine`` has any: those in ``start`` are of inputs, and thus computed before.

    Attributes:
        weights: Names of the packed columns of weights, each for one direction.
        pairs: Terms of states in slots by direction, with the sum that they are a part of: those
            of level 0 are computed before the walk forward, and after the walk back.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.weights: dict[tuple[Term, bool], str] = {}
        self.pairs: dict[bool, list[tuple[Value, Term]]] = {False: [], True: []}

    def _packed(self, term: Term, *, back: bool) -> str:
        if (term, back) not in self.weights:
            depth, columns = _sizes(term, back)
            name = self.weights[term, back] = f"packed{len(self.weights)}"
            arrays = self.layout.arrays["BACKWARD" if back else "FORWARD"]
            arrays[name] = f"{depth} * padded({columns})"
        return f"s->{self.weights[term, back]}"

    def pack(self, *, back: bool) -> str:
        """Packs the weights of a pass."""
        text = ""
        for term, of_back in self.weights:
            if of_back != back:
                continue
            function = "pack" if back else "pack_transposed"
            depth, columns = _sizes(term, back)
            stride = self.layout.recurrence.combine.shapes[term.weight][1]
            text += (
                f"  {function}(w->constants[{term.weight}] + {term.column}, {stride}, {depth}, "
                f"{columns}, {self._packed(term, back=back)}, s->thread, s->threads);\n"
            )
        return text

    # A block of rows

    def multiplied(self, value: Value) -> str:
        """Computes a product, or the gradient of its rows, for a block of rows."""
        back = value.op == "back"
        terms: Sequence[Term] = [value.data] if back else value.data
        text, added = f"{{ real *to = {self.layout.block(value)};\n", 0
        if not back and any(self.layout.of_slot(term) for term in terms):
            text, added = text + self._from_pairs(value), 1
        count = "s->last_edge - s->first_edge" if value.domain == EDGE else "last - first"
        for term in terms:
            packed = self._packed(term, back=back)
            depth, columns = _sizes(term, back)
            rows = value.args[0].value if back else term.rows
            begin = self.layout.block(rows)
            if not self.layout.of_slot(term):
                text += (
                    f"multiply_into({begin}, {rows.width}, {count}, {packed}, {depth}, {columns}, "
                    f"(struct sums){{to, {value.width}, NULL, {added}}});\n"
                )
                added = 1
                continue
            number, slot = term.rows.data
            self.pairs[back].append((rows if back else value, term))
            if back:
                given = f"{begin}, {rows.width}, {term.width}, {packed}, to"
                text += f"multiply_slot_back(s, {slot}, first, last, {given});\n"
            else:
                given = f"{packed}, {term.width}, to, {value.width}"
                text += f"multiply_slot(s, {number}, {slot}, first, last, {given});\n"
        return text + "}\n"

    def _from_pairs(self, value: Value) -> str:
        """Initializes sums with the products of the states of level 0."""
        name = f"pairs{value.number}"
        self.layout.arrays["FORWARD"][name] = f"COUNT * s->pairs_a_slot * {value.width}"
        slots = sorted({term.rows.data[1] for term in value.data if self.layout.of_slot(term)})
        return (
            f"static const int slots[] = {{{', '.join(map(str, slots))}}};\n"
            f"begin_sums(s, slots, {len(slots)}, first, last, s->{name}, {value.width}, to);\n"
        )

    # All rows

    def pairs_forward(self) -> str:
        """Products of the states of level 0 in slots."""
        seen, text = set(), ""
        for value, term in self.pairs[False]:
            number, slot = term.rows.data
            more = int((value, slot) in seen)
            seen.add((value, slot))
            text += (
                f"  multiply_pairs(s, {number}, {slot}, {self._packed(term, back=False)}, "
                f"{term.width}, s->pairs{value.number}, {value.width}, "
                f"{more});\n"
            )
        return f"  BARRIER\n{text}" if text else ""

    def pairs_backward(self) -> str:
        """The backward pass of :meth:`pairs_forward`."""
        text = ""
        for sums in dict.fromkeys(sums for sums, _ in self.pairs[True]):
            text += f"  sum_pairs(s, {self.layout.array_of[sums].begin}, {sums.width});\n"
        for sums, term in self.pairs[True]:
            number, slot = term.rows.data
            array = self.layout.array_of[sums]
            text += (
                f"  BARRIER\n  multiply_pairs_back(s, {number}, {slot}, {array.begin}, "
                f"{sums.width}, {term.width}, {self._packed(term, back=True)});\n"
            )
        return text

    def weights_backward(self) -> str:
        """Adds to the gradients of weights."""
        text, layout = "", self.layout
        for term, sums in layout.combine.gradients.weights:
            stride = layout.recurrence.combine.shapes[term.weight][1]
            array = layout.array_of[sums]
            to = f"w->dconstants[{term.weight}] + {term.column}"
            text += f"  if (w->dconstants[{term.weight}]) "
            if layout.of_slot(term):
                number, slot = term.rows.data
                text += (
                    f"weigh_slot(s, {number}, {slot}, {array.begin}, {sums.width}, "
                    f"{term.width}, {to}, {stride});\n"
                )
                continue
            rows = layout.all_rows(term.rows)
            count = {NODE: "s->inner", SOURCE: "s->num_rows", EDGE: "w->num_edges"}[sums.domain]
            text += (
                f"multiply_transposed((struct rows){{{array.begin}, {sums.width}, NULL}}, "
                f"{term.width}, (struct rows){{{rows}, {term.rows.width}, NULL}}, "
                f"{term.rows.width}, {count}, (struct sums){{{to}, {stride}, NULL, 1}}, "
                "s->turned, s->thread, s->threads);\n"
            )
        return text


def _sizes(term: Term, back: bool) -> tuple[int, int]:
    """Columns of the rows that are multiplied, and of their products."""
    depth, columns = term.rows.width, term.width
    return (columns, depth) if back else (depth, columns)
