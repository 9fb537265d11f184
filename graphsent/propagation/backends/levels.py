"""The states of all nodes by operations of torch, level by level, on any device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from graphsent.propagation.autocast import without_autocast
from graphsent.propagation.backends.plan import Plan
from graphsent.propagation.linear import linear
from graphsent.propagation.recurrence.evaluation import Evaluation
from graphsent.propagation.schedule.schedule import Nodes, Schedule
from graphsent.propagation.schedule.slots import Slots
from graphsent.propagation.tape import Buffer, Tape


def run_levels(
    combine: Callable[..., Sequence[Tensor]],
    schedule: Schedule,
    start: Sequence[Tensor],
    inputs: Sequence[Tensor],
    slots: Slots | None = None,
) -> tuple[Tensor, ...]:
    """The states of all nodes, by ordinal; calls ``combine`` once per level, or per in-degree.

    Args:
        combine: Takes the parts of the predecessors' states, a tuple of (nodes, predecessors,
            size), and the rows of all inputs; returns the parts of new states, (nodes, size) each.
        schedule: Schedule of the graph, on the device of the tensors.
        start: Parts of the states of leaves, (num_leaves, size).
        inputs: Rows for inner nodes, (num_inner, ...) by ordinal.
        slots: With slots, ``combine`` takes all slots of the nodes of a level, zeros if empty;
            without, the predecessors of nodes of one in-degree, in the order of their edges.

    Returns:
        The parts of the states, (num_nodes, size).
    """

    def step(nodes: Nodes, states: Sequence[Tensor], rows: Sequence[Tensor]) -> Sequence[Tensor]:
        count = nodes.end - nodes.start
        return combine(tuple(part.unflatten(0, (count, -1)) for part in states), *rows)

    return _propagate(step, schedule, start, inputs, slots, by_degree=slots is None)


def run_traced(plan: Plan, *tensors: Tensor) -> tuple[Tensor, ...]:
    """The states of all nodes, in the order of the graph, by the expressions of a recurrence.

    Takes one step per level, regardless of in-degree; autograd differentiates it.
    """
    recurrence, schedule, slots = plan.recurrence, plan.schedule, plan.slots
    given = plan.divided(tensors)
    split = len(recurrence.combine.constants)
    constants, of_start = given.constants[:split], given.constants[split:]
    start = list(given.start)
    if plan.projected:
        start = [linear(*start[:3]), *start[3:]]
    start = Evaluation(recurrence.start.results, of_start).at(start)
    if plan.leaf_rows is not None:
        start = [part.index_select(0, plan.leaf_rows) for part in start]
    evaluation = Evaluation(recurrence.combine.results, constants)

    def step(nodes: Nodes, states: Sequence[Tensor], rows: Sequence[Tensor]) -> Sequence[Tensor]:
        target = None
        if slots is None:
            target = schedule.target[nodes.first_edge : nodes.last_edge] - nodes.start
        else:
            states = [part.unflatten(0, (-1, slots.count)) for part in states]
        return evaluation.at(rows, states, target, nodes.degree)

    inputs, read = [], {value.data for value in evaluation.order if value.op == "input"}
    for number, (part, rows) in enumerate(zip(given.inputs, plan.input_rows, strict=True)):
        known = part if number in read else part.detach()
        known = known if rows is None else known.index_select(0, rows)
        inputs.append(known.expand(schedule.num_inner, known.shape[-1]))
    results = _propagate(step, schedule, start, inputs, slots, by_degree=False)
    return tuple(map(schedule.by_node, results[: plan.num_results]))


def plain_gradients(
    plan: Plan, tensors: Sequence[Tensor], wanted: Sequence[bool], gradients: Sequence[Any]
) -> list[Tensor | None]:
    """Differentiable gradients of the tensors of a run: it is repeated by operations of torch."""
    # Views, so that a tensor that is passed twice has two gradients.
    given = [
        part.view_as(part) if need else part for part, need in zip(tensors, wanted, strict=True)
    ]
    with without_autocast(tensors[0].device.type):
        known = [
            (result, gradient)
            for result, gradient in zip(run_traced(plan, *given), gradients, strict=True)
            if gradient is not None and result.requires_grad
        ]
        if not known:
            return [None] * len(wanted)
        results, of_results = zip(*known, strict=True)
        inputs = [part for part, need in zip(given, wanted, strict=True) if need]
        options: dict[str, Any] = {"create_graph": True, "allow_unused": True}
        found = iter(torch.autograd.grad(results, inputs, of_results, **options))
    return [next(found) if need else None for need in wanted]


def _propagate(
    step: Callable[[Nodes, Sequence[Tensor], Sequence[Tensor]], Sequence[Tensor]],
    schedule: Schedule,
    start: Sequence[Tensor],
    inputs: Sequence[Tensor],
    slots: Slots | None,
    *,
    by_degree: bool,
) -> tuple[Tensor, ...]:
    """Runs ``step`` over all levels, on states of predecessors by edge, or by slot.

    Other arguments are those of :func:`run_levels`; ``by_degree`` means that ``step`` needs nodes
    of one in-degree.
    """
    first = schedule.num_leaves
    num_others = schedule.num_nodes + 1 - first  # and a row of zeros, the state of empty slots
    with Tape() as tape:
        states = [
            Buffer(tape, torch.cat((part, part.new_zeros(num_others, *part.shape[1:]))))
            for part in start
        ]
        buffers = [Buffer(tape, values) for values in inputs]
        for level in schedule.levels[1:]:
            results = []
            for nodes in level.buckets if by_degree else (level,):
                rows = slice(nodes.start - first, nodes.end - first)
                if slots is None:
                    source = schedule.source[nodes.first_edge : nodes.last_edge]
                else:
                    source = slots.source[rows.start * slots.count : rows.stop * slots.count]
                children = [state.read(source) for state in states]
                results.append(step(nodes, children, [buffer.read(rows) for buffer in buffers]))
            for state, parts in zip(states, zip(*results, strict=True), strict=True):
                part = parts[0] if len(parts) == 1 else torch.cat(parts)
                state.write(slice(level.start, level.end), part)
        return tuple(state.read(slice(0, schedule.num_nodes)) for state in states)
