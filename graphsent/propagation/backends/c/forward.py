"""The forward pass of a walk, in C."""

from __future__ import annotations

from collections.abc import Sequence

from graphsent.propagation.backends.c.layout import EDGE, NODE, SOURCE, Layout
from graphsent.propagation.backends.c.parts import Part
from graphsent.propagation.backends.c.steps import Steps
from graphsent.propagation.recurrence.expressions import Domain

EDGE_BOUNDS = "  s->first_edge = w->first_edge[first];\n  s->last_edge = w->first_edge[last];\n"
"""The edges to the nodes of a block."""


class Forward:
    """Writes it.

    Args:
        layout: where values are.
        steps: writes steps.
    """

    def __init__(self, layout: Layout, steps: Steps) -> None:
        self.layout, self.steps = layout, steps
        self.combine, self.start_part = layout.combine, layout.start

    def _steps(self, part: Part, domains: Sequence[Domain]) -> str:
        values = [v for v in part.values if v in part.forward and v.domain in domains]
        return self.steps.steps(part, values)

    def nodes(self) -> str:
        """Inner nodes."""
        combine = self.combine
        bounds = "" if self.layout.slotted else EDGE_BOUNDS
        text = bounds + self._steps(combine, (NODE, EDGE))
        return text + self._states(combine)

    def sources(self) -> str:
        """What is made of states before their successors see them."""
        return self._steps(self.combine, (SOURCE,))

    def _states(self, part: Part) -> str:
        """Copies parts of the states that are not in their array yet."""
        text = ""
        for number, refs in enumerate(part.results):
            if len(refs) == 1 and part.direct.get(refs[0].value) == number:
                continue
            row = "r" if part.starts else "(w->num_starts + r)"
            to = f"s->state[{number}] + {row} * SIZE"
            text += self.steps.stores(part, refs, to)
        return f"for (int64_t r = first; r < last; r++) {{\n{text}}}\n" if text else ""

    def start(self) -> str:
        """Nodes without predecessors."""
        start = self.start_part
        given = (
            "  for (int part = 0; part < PARTS && w->start; part++) {\n"
            "    memcpy(s->state[part] + first * SIZE, w->start[part] + first * SIZE,\n"
            "           (last - first) * SIZE * sizeof(real));\n  }\n  if (w->start) return;\n"
        )
        return given + self._steps(start, (NODE,)) + self._states(start)

    def pairs(self) -> str:
        """Products of the states of the first level in slots."""
        seen, text = set(), ""
        for value, term, packed in self.steps.pairs:
            part, slot = term.rows.data
            stride = self.layout.places[value].stride
            more = int((value, slot) in seen)
            seen.add((value, slot))
            text += (
                f"  multiply_pairs(s, {part}, {slot}, {packed}, {term.width}, "
                f"s->pairs{value.number}, {stride}, {more});\n"
            )
        return f"  BARRIER\n{text}" if text else ""
