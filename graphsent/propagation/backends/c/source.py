"""The C of a recurrence: a walk over the levels of a schedule, forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graphsent.kernels.structures import Walk, layout_in_c
from graphsent.propagation.backends.c.layout import EDGE, NODE, SOURCE, Layout
from graphsent.propagation.backends.c.lowering import Lowered
from graphsent.propagation.backends.c.products import Products
from graphsent.propagation.backends.c.steps import ZEROS, Body, Piece, Steps, over_edges, over_rows
from graphsent.propagation.recurrence.differentiation import Share
from graphsent.propagation.recurrence.expressions import Domain
from graphsent.propagation.recurrence.recurrence import Recurrence


def source_of(recurrence: Recurrence) -> str:
    """The source of the library of a recurrence."""
    layout = Layout(recurrence)
    passes, products = Passes(layout), Products(layout)
    of_rows = {
        name: "".join(p if isinstance(p, str) else products.multiplied(p) for p in pieces)
        for name, pieces in passes.functions.items()
    }
    of_rows["nodes_backward"] += of_rows.pop("inputs_backward")
    functions = _functions("struct own *s, int64_t first, int64_t last", of_rows)
    functions += _functions("struct own *s", _of_all(passes, products))
    headers = '#include "recurrence.h"\n#include "recurrence_memory.h"\n'
    # At edges, leaves get gradients as inner nodes do.
    edges = "#define starts_backward sources_backward\n"
    headers += '#include "recurrence_slots.h"\n' if layout.slotted else edges
    text = '#include "common.h"\n' + _sizes(layout, passes) + headers + functions
    return text + '#include "recurrence_walk.h"\n' + layout_in_c((Walk,))


def _sizes(layout: Layout, passes: Passes) -> str:
    """Constants and arrays of the recurrence."""
    numbers_a_node = layout.size + sum(
        value.width for value in layout.combine.forward if value.domain in (NODE, EDGE)
    )
    shares = layout.combine.gradients.weights
    copied = max([layout.size, *(sums.width for term, sums in shares if layout.of_slot(term))])
    weighed = "0"
    for depth in sorted({term.rows.width for term, _ in shares}):
        weighed = f"larger({weighed}, scratch_for_transposed({depth}))"
    text = (
        f"enum {{ SIZE = {layout.size}, PARTS = {layout.recurrence.num_parts}, "
        f"COUNT = {layout.count}, ACCUMULATED = {passes.num_accumulated}, "
        f"NUMBERS_A_NODE = {numbers_a_node}, COPIED = {copied} }};\n"
        f"#define WEIGHED {weighed}\n"
    )
    for group, arrays in layout.arrays.items():
        listed = "".join(f" \\\n  ARRAY({name}, {numbers})" for name, numbers in arrays.items())
        text += f"#define {group}(ARRAY){listed}\n"
    return text


def _of_all(passes: Passes, products: Products) -> dict[str, str]:
    """Bodies of the functions of all rows by name; those of a block are already written."""
    summed = ""
    for (array, number), (first, width) in passes.accumulators.items():
        to, shared = f"w->{array}[{number}]", ""
        if array == "dinputs":  # an input may have a row for each node
            shared = f" && !w->input_strides[{number}]"
        summed += (
            f"  if ({to}{shared}) add_up({to}, s->all_acc + {first}, ACCUMULATED, {width}, "
            "s->thread, s->threads);\n"
        )
    summed += "  BARRIER\n" if summed else ""  # before products add to the same gradients
    return {
        "pairs_forward": products.pairs_forward,
        "pairs_backward": products.pairs_backward(),
        "weights_backward": summed + products.weights_backward(),
        "pack_forward": products.packing[False],
        "pack_backward": products.packing[True],
    }


def _functions(arguments: str, bodies: dict[str, str]) -> str:
    head = "  const struct walk *w = &s->walk;\n"
    return "".join(
        f"static void {name}({arguments}) {{\n{head}{body}}}\n\n" for name, body in bodies.items()
    )


class Passes:
    """The two passes over a walk.

    Attributes:
        functions: Bodies of the functions of a block of rows by name, in pieces.
        accumulators: Where gradients of rows shared by all nodes are added up: by array of the walk
            and number in it, the place among the accumulated numbers, and the number of columns.
        num_accumulated: How many numbers they have together.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout, self.steps = layout, Steps(layout)
        self.num_accumulated = 0
        self.accumulators: dict[tuple[str, int], tuple[int, int]] = {}
        self.functions = self._written()

    def _written(self) -> dict[str, list[Piece]]:
        combine, start = self.layout.combine, self.layout.start
        inner = (NODE, EDGE)
        functions: dict[str, list[Piece]] = {
            "nodes_forward": [*self._made(combine, inner), self._states(combine)],
            "sources_forward": self._made(combine, (SOURCE,)),
            "start_forward": [*self._made(start, inner), self._states(start)],
            "nodes_backward": self._made(combine, inner, back=True),
            "inputs_backward": [self._inputs() + self._constants(combine, inner)],
            "sources_backward": self._sources_backward(starts=False),
            "start_backward": [
                *self._made(start, inner, back=True),
                self._start_inputs() + self._constants(start, inner),
            ],
        }
        if self.layout.slotted and self.layout.blocks:
            functions["starts_backward"] = self._sources_backward(starts=True)
        return functions

    def _sources_backward(self, *, starts: bool) -> list[Piece]:
        """Computes the gradients of states, of inner nodes or of starts."""
        gradients, combine = self._state_gradients(starts=starts), self.layout.combine
        made = self._made(combine, (SOURCE,), back=True)
        return [*made, gradients + self._constants(combine, (SOURCE,))]

    def _made(
        self, lowered: Lowered, domains: Sequence[Domain], *, back: bool = False
    ) -> list[Piece]:
        """Computes the values of a pass that have arrays."""
        values, arrays = lowered.values, lowered.forward
        if back:
            values, arrays = lowered.back_values, lowered.backward
        return self.steps.made(lowered, [v for v in values if v in arrays and v.domain in domains])

    def _states(self, lowered: Lowered) -> str:
        """Copies the parts of the states that are not stored there directly."""
        text, row = "", "r" if lowered.starts else "(w->num_starts + r)"
        for number, refs in enumerate(lowered.results):
            if lowered.direct.get(refs[0].value) != number:
                text += self.steps.stored(lowered, refs, f"s->state[{number}] + {row} * SIZE")
        return over_rows(NODE, text)

    # Gradients of states

    def _state_gradients(self, *, starts: bool) -> str:
        """Computes gradients of states, of inner nodes or of starts, from those of successors."""
        text, node = "", "w->nodes[w->num_leaves + q - w->num_starts]"
        # Leaves may share a row of the start: the gradients of their results are added later.
        own = "q >= w->num_starts && " if self.layout.blocks else ""
        for number in range(self.layout.recurrence.num_parts):
            given, row = f"w->dresults[{number}]", f"real *to = s->dstate[{number}] + q * SIZE;"
            initial = (
                f"if ({own}{given}) memcpy(to, {given} + {node} * SIZE, SIZE * sizeof(real));\n"
                "else memset(to, 0, SIZE * sizeof(real));\n"
            )
            if self.layout.slotted:
                added = self._of_slots(number, starts)
            else:
                added = _of_successors(self._of_slot(number, None, starts))
            text += f"{{ {row}\n{initial}{added}}}\n"
        return over_rows(SOURCE, text)

    def _of_slots(self, number: int, starts: bool) -> str:
        """Adds the gradients of one successor after the other."""
        cases = ""
        for slot in range(self.layout.count):
            text = self._of_slot(number, slot, starts)
            cases += f"case {slot}: {{\n{text}}} break;\n" if text else ""
        return cases and (
            "for (int64_t i = s->out_first[q]; i < s->out_first[q + 1]; i++) {\n"
            f"const int64_t r = s->out[i] / COUNT;\nswitch (s->out[i] % COUNT) {{\n{cases}"
            "}\n}\n"
        )

    def _of_slot(self, number: int, slot: int | None, starts: bool) -> str:
        """Adds the gradients of a part of a state, in a slot or at all edges."""
        text = ""
        for share in self.layout.combine.gradients.states.get((number, slot), []):
            body = Body(self.layout, self.layout.combine, skip_back=starts)
            name = body.code(share.ref)
            if name != ZEROS:
                text += body.added(name, share.ref.width, f"to + {share.first}", alone=True)
        return text

    # Gradients of inputs and constants

    def _inputs(self) -> str:
        text, lowered = "", self.layout.combine
        for number, shares in lowered.gradients.inputs.items():
            to, width = f"w->dinputs[{number}]", lowered.traced.widths[number]
            shared = self._accumulator("dinputs", number, width)
            added = "".join(self._added_up(lowered, share, shared) for share in shares)
            text += (
                f"if ({to} && w->input_strides[{number}]) {{\n{self._filled(lowered, number, to)}"
                f"}} else if ({to}) {{\n{over_rows(NODE, added)}}}\n"
            )
        return text

    def _start_inputs(self) -> str:
        text, lowered = "", self.layout.start
        for number in lowered.gradients.inputs:
            to = f"w->dstart_inputs[{number}]"
            to = to if number else f"(s->dprojected ? s->dprojected : {to})"
            text += f"if ({to}) {{\n{self._filled(lowered, number, to)}}}\n"
        return text

    def _filled(self, lowered: Lowered, number: int, to: str) -> str:
        """Stores the gradient of an input, with zeros in columns that nothing reads."""
        width, text, at = lowered.traced.widths[number], "", 0
        row = f"{to} + r * {width}"
        for first, ref, _ in lowered.gradients.inputs[number]:
            text += _cleared(row, at, first) + self.steps.stored(lowered, [ref], f"{row} + {first}")
            at = first + ref.width
        return over_rows(NODE, text + _cleared(row, at, width))

    def _constants(self, lowered: Lowered, domains: Sequence[Domain]) -> str:
        """Accumulates the gradients of constants."""
        loops = dict.fromkeys(domains, "")
        for number, shares in lowered.gradients.constants.items():
            constant = self.layout.constant(lowered, number)
            width = max(share.first + share.ref.width for share in shares)
            name = self._accumulator("dconstants", constant, width)
            for share in shares:
                if share.domain in domains:
                    loops[share.domain] += self._added_up(lowered, share, name)
        within: dict[Domain, Callable[[str], str]]
        within = {NODE: str, SOURCE: _of_successors, EDGE: over_edges}
        return "".join(over_rows(n, within[n](loop)) for n, loop in loops.items() if loop)

    def _added_up(self, lowered: Lowered, share: Share, to: str) -> str:
        body, row = Body(self.layout, lowered), f"{to} + {share.first}"
        return body.added(body.code(share.ref), share.ref.width, row)

    def _accumulator(self, array: str, number: int, width: int) -> str:
        """The address where a thread accumulates the gradient of a row shared by all nodes."""
        if (array, number) not in self.accumulators:
            self.accumulators[array, number] = self.num_accumulated, width
            self.num_accumulated += width
        return f"s->acc + {self.accumulators[array, number][0]}"


def _of_successors(text: str) -> str:
    """What a source gets from its successors, if it has any: an infinite state times 0 is NaN."""
    return f"if (s->out_first[q] < s->out_first[q + 1]) {{\n{text}}}\n"


def _cleared(to: str, first: int, last: int) -> str:
    """Sets a range of columns to zero."""
    return f"memset({to} + {first}, 0, {last - first} * sizeof(real));\n" if first < last else ""
