"""The states of all nodes by generated CUDA, as an operation of autograd.

Level by level, forward and back: kernels compute rows, torch the products. Nothing waits for the
GPU. States are in rows by ordinal, followed by a row of zeros, the state of empty slots.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from graphsent.kernels.library import contiguous, needs_gradients
from graphsent.propagation.backends.c.layout import EDGE, NODE, SOURCE
from graphsent.propagation.backends.levels import plain_gradients, run_traced
from graphsent.propagation.backends.plan import Given, Plan
from graphsent.propagation.gradients import ReverseMode, check_not_batched, save, saved
from graphsent.propagation.recurrence.expressions import Domain, Term, Value
from graphsent.propagation.untraced import untraced


def run_on_gpu(plan: Plan, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The states of all nodes, by compiled code; the schedule is on the GPU."""
    if len({part.device for part in tensors}) > 1:
        return run_traced(plan, *tensors)  # torch raises the error
    return _Generated.apply(plan, needs_gradients(*tensors), *contiguous(tensors))


Rows = Mapping[Domain, tuple[int, int]]
"""Half-open ranges of rows: of inner nodes, the edges to them, and their states.

Those of leaves are their rows in ``start``.
"""


class Walk:
    """A pass over a run's levels: its arguments, and the kernels and products that it consists of.

    Args:
        plan: The plan of the run.
        tensors: Those of the run.
        states: Parts of the states, (num_nodes + 1, size).

    Attributes:
        levels: Rows of each level after the first, in order.
        leaves: Rows of the leaves.
        inner: Rows of all inner nodes.
        source: (num_edges,) or (num_inner * count,) the row of the state at each edge or slot.
        arrays: The values that are stored, except parts of the states.
    """

    def __init__(self, plan: Plan, tensors: Given, states: Sequence[Tensor]) -> None:
        self.plan, self.tensors, self.states = plan, tensors, states
        self.program, self.module = plan.library
        self.layout, self.stream = self.program.passes.layout, self.module.stream()
        schedule, first = plan.schedule, plan.schedule.num_leaves
        self.levels = [
            {
                NODE: (level.start - first, level.end - first),
                EDGE: (level.first_edge, level.last_edge),
                SOURCE: (level.start, level.end),
            }
            for level in schedule.levels[1:]
        ]
        self.leaves: Rows = {NODE: (0, first), SOURCE: (0, first)}
        inner, edges = (0, schedule.num_inner), (0, schedule.num_edges)
        self.inner: Rows = {NODE: inner, EDGE: edges, SOURCE: (first, schedule.num_nodes)}
        self.source = schedule.source if plan.slots is None else plan.slots.source
        self.arrays: dict[Value, Tensor] = {}
        self.terms: dict[Value, list[tuple[Term | int, Tensor]]] = {}

    def begin(self, kept: Mapping[Value, Tensor], *, backward: bool, **more: Any) -> None:
        """Makes the arrays of a pass, and the structure that kernels are given.

        Args:
            kept: Arrays of the pass forward that the pass back reads.
            backward: Whether it is the pass back.
            **more: Further fields of the structure: tensors, or lists of them.
        """
        plan, schedule, tensors = self.plan, self.plan.schedule, self.tensors
        self.arrays.update(kept)
        for lowered in (self.layout.combine, self.layout.start):
            rows = self.leaves if lowered.starts else self.inner
            for value in lowered.backward if backward else lowered.forward - lowered.direct.keys():
                size = rows[value.domain][1], value.width
                self.arrays[value] = self.states[0].new_empty(size)
        values = {
            "num_starts": schedule.num_leaves,
            "num_leaves": schedule.num_leaves,
            "nodes": schedule.nodes,
            "rows": self.source,
            "first_edge": schedule.first_edge if plan.slots is None else None,
            "state": self.states,
            "inputs": tensors.inputs,
            "input_strides": [part.shape[1] if part.dim() > 1 else 0 for part in tensors.inputs],
            "input_rows": plan.input_rows,
            "start_inputs": tensors.start,
            "constants": tensors.constants,
            **more,
        }
        for value, array in self.arrays.items():
            values[self.layout.names[value]] = array
        self.values, self.fields = values, _packed(self.program.fields, values)

    def run(self, function: str, rows: Rows, domain: Domain = NODE) -> None:
        """Runs a function of rows: its kernels and products, in order."""
        first, last = rows[domain]
        for step in self.program.steps[function] if last > first else ():
            if isinstance(step, str):
                sizes = last - first, self.program.threads
                self.module.launch(step, *sizes, self.fields, first, self.stream)
            else:
                self._multiply(step, rows)

    def _multiply(self, value: Value, rows: Rows) -> None:
        """Computes a product, or the gradient of the rows of one of its terms."""
        first, last = rows[value.domain]
        out = self.arrays[value][first:last]
        if value.op == "back":
            sums = self.arrays[value.args[0].value][first:last]
            torch.mm(sums, self._weight(value.data), out=out)
            return
        if value not in self.terms:
            self.terms[value] = list(self._stacked(value.data))
        for number, (term, weight) in enumerate(self.terms[value]):
            factor = self.factor(term, first, last)
            if number:
                out.addmm_(factor, weight)
            else:
                torch.mm(factor, weight, out=out)

    def _stacked(self, terms: Sequence[Term]) -> Iterator[tuple[Term | int, Tensor]]:
        """Terms with their transposed weights; one part of the states in place of all its slots."""
        by_slot = {term.rows.data: term for term in terms if self.layout.of_slot(term)}
        for part in range(len(self.states)):
            slots = [(part, slot) for slot in range(self.layout.count)]
            if len(slots) > 1 and all(slot in by_slot for slot in slots):
                found = [by_slot[slot] for slot in slots]
                yield part, torch.cat([self._weight(term) for term in found], 1).t()
                terms = [term for term in terms if term not in found]
        for term in terms:
            yield term, self._weight(term).t()

    def _weight(self, term: Term) -> Tensor:
        """The columns of a weight in a product, (width, in_feats)."""
        return self.tensors.constants[term.weight].narrow(1, term.column, term.rows.width)

    def factor(self, term: Term | int, first: int, last: int) -> Tensor:
        """Rows that are multiplied: those of a term, or a part of the states in all slots."""
        count = self.layout.count
        in_slots = self.source[first * count : last * count]
        if isinstance(term, int):
            return self.states[term].index_select(0, in_slots).view(last - first, -1)
        value = term.rows
        if value.op == "state":
            part, slot = value.data
            if slot is None:
                return self.states[part][first:last]
            return self.states[part].index_select(0, in_slots[slot::count])
        if value in self.arrays:
            return self.arrays[value][first:last]
        state = self.states[self.layout.combine.direct[value]]  # stored there
        num_leaves = self.plan.schedule.num_leaves
        return state[num_leaves + first : num_leaves + last]


def _packed(counts: Mapping[str, int], values: Mapping[str, Any]) -> ctypes.Array:
    """``struct own``: fields that have no values are 0."""
    numbers: list[int] = []
    for name, count in counts.items():
        found = values.get(name, ())
        found = found if isinstance(found, (list, tuple)) else [found]
        numbers += [part.data_ptr() if isinstance(part, Tensor) else part or 0 for part in found]
        assert len(found) <= count, name
        numbers += [0] * (count - len(found))
    return (ctypes.c_int64 * len(numbers))(*numbers)


class _Generated(ReverseMode):
    @staticmethod
    def forward(ctx: Any, plan: Plan, keep: bool, *tensors: Tensor) -> tuple[Tensor, ...]:
        size = plan.schedule.num_nodes + 1, plan.recurrence.size
        states = [tensors[0].new_empty(size) for _ in range(plan.recurrence.num_parts)]
        for state in states:
            state[-1].zero_()
        with torch.cuda.device_of(tensors[0]):
            walk = Walk(plan, plan.divided(tensors), states)
            walk.begin({}, backward=False)
            walk.run("start_forward", walk.leaves)
            walk.run("sources_forward", walk.leaves, SOURCE)
            for rows in walk.levels:
                walk.run("nodes_forward", rows)
                walk.run("sources_forward", rows, SOURCE)
            returned = states[: plan.num_results]
            results = [state.index_select(0, plan.schedule.ordinal) for state in returned]
        ctx.set_materialize_grads(False)
        if keep:
            read = walk.layout.combine.kept | walk.layout.start.kept
            kept = {value: array for value, array in walk.arrays.items() if value in read}
            ctx.plan, ctx.kept = plan, tuple(kept)
            save(ctx, *tensors, *states, *kept.values())
        return tuple(results)

    @staticmethod
    @untraced
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        check_not_batched(*gradients)
        plan, wanted = ctx.plan, ctx.needs_input_grad[2:]
        found: Any = contiguous(saved(ctx))
        tensors, others = found[: len(wanted)], found[len(wanted) :]
        if torch.is_grad_enabled():
            return None, None, *plain_gradients(plan, tensors, wanted, gradients)
        memory, parts = plan.gradient_memory(tensors, wanted), plan.recurrence.num_parts
        with torch.cuda.device_of(tensors[0]):
            walk = Walk(plan, plan.divided(tensors), others[:parts])
            kept = dict(zip(ctx.kept, others[parts:], strict=True))
            _compute_gradients(walk, kept, memory, contiguous(gradients))
            return None, None, *plan.gradients(tensors, memory)


def _compute_gradients(
    walk: Walk,
    kept: Mapping[Value, Tensor],
    memory: Given,
    dresults: Sequence[Tensor | None],
) -> None:
    """Computes the gradients of the tensors of a run, from those of its results."""
    plan, passes, (dinputs, dstart, dconstants) = walk.plan, walk.program.passes, memory
    accumulated = walk.states[0].new_zeros(max(passes.num_accumulated, 1))
    order = walk.source.argsort(stable=True)
    numbers = torch.arange(plan.schedule.num_nodes + 1, device=order.device)
    walk.begin(
        kept,
        backward=True,
        dresults=dresults,
        dstate=[torch.empty_like(state) for state in walk.states],
        dinputs=dinputs,
        dstart_inputs=dstart,
        acc=accumulated,
        out=order,
        out_first=torch.searchsorted(walk.source.index_select(0, order), numbers),
        target=None if plan.slots is not None else plan.schedule.target - plan.schedule.num_leaves,
    )
    for rows in reversed(walk.levels):
        walk.run("sources_backward", rows, SOURCE)
        walk.run("nodes_backward", rows)
    walk.run("inputs_backward", walk.inner)
    walk.run("sources_backward", walk.leaves, SOURCE)
    walk.run("start_backward", walk.leaves)
    for (array, number), (first, width) in passes.accumulators.items():
        to = (dinputs if array == "dinputs" else dconstants)[number]
        if to is not None and (array == "dconstants" or to.dim() == 1):
            to.view(-1)[:width] += accumulated[first : first + width]
    for term, sums in walk.layout.combine.gradients.weights:
        to = dconstants[term.weight]
        if to is not None:
            factor = walk.factor(term, 0, len(walk.arrays[sums]))
            to.narrow(1, term.column, term.rows.width).addmm_(walk.arrays[sums].t(), factor)
