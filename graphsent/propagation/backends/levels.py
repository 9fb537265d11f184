"""The states of all nodes by operations of torch, level by level, on any device."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from graphsent.propagation.recurrence.evaluation import Evaluation
from graphsent.propagation.recurrence.recurrence import Recurrence
from graphsent.propagation.schedule.schedule import Bucket, Level, Schedule
from graphsent.propagation.schedule.slots import Slots
from graphsent.propagation.tape import Buffer, Tape

Group = Bucket | Level


def run_levels(
    combine: Callable[..., Sequence[Tensor]],
    schedule: Schedule,
    start: Sequence[Tensor],
    inputs: Sequence[Tensor],
    slots: Slots | None = None,
) -> tuple[Tensor, ...]:
    """The states of all nodes, by ordinal; calls ``combine`` once per level, or per in-degree.

    Args:
        combine: takes the parts of the predecessors' states, a tuple of (nodes, predecessors,
            size), and the rows of all inputs; returns the parts of new states, (nodes, size) each.
        schedule: schedule of the graph, on the device of the tensors.
        start: parts of the states of leaves, (num_leaves, size).
        inputs: rows for inner nodes, (num_inner, ...) by ordinal.
        slots: with slots, ``combine`` takes all slots of the nodes of a level, zeros if empty;
            without, the predecessors of nodes of one in-degree, in the order of their edges.

    Returns:
        The parts of the states, (num_nodes, size).
    """

    def step(group: Group, states: Sequence[Tensor], rows: Sequence[Tensor]) -> Sequence[Tensor]:
        count = group.end - group.start
        return combine(tuple(part.unflatten(0, (count, -1)) for part in states), *rows)

    return _propagate(step, schedule, start, inputs, slots, by_degree=True)


def run_traced(
    recurrence: Recurrence,
    schedule: Schedule,
    start: Sequence[Tensor],
    inputs: Sequence[Tensor],
    constants: Sequence[Tensor],
    slots: Slots | None = None,
) -> tuple[Tensor, ...]:
    """:func:`run_levels` with the expressions of a recurrence, in one step per level.

    Here ``inputs`` include hoisted ones, and may be one row (width,) for all nodes; ``constants``
    are those of ``combine``, by number.
    """
    evaluation = Evaluation(recurrence.combine.results, constants)

    def step(group: Group, states: Sequence[Tensor], rows: Sequence[Tensor]) -> Sequence[Tensor]:
        target = None
        if slots is None:
            target = schedule.target[group.first_edge : group.last_edge] - group.start
        else:
            states = [part.unflatten(0, (-1, slots.count)) for part in states]
        return evaluation.at(rows, states, target, group.degree)

    read = {value.data for value in evaluation.values if value.op == "input"}
    rows = [
        (part if number in read else part.detach()).expand(schedule.num_inner, part.shape[-1])
        for number, part in enumerate(inputs)
    ]
    return _propagate(step, schedule, start, rows, slots, by_degree=False)


def _propagate(
    step: Callable[[Group, Sequence[Tensor], Sequence[Tensor]], Sequence[Tensor]],
    schedule: Schedule,
    start: Sequence[Tensor],
    inputs: Sequence[Tensor],
    slots: Slots | None,
    *,
    by_degree: bool,
) -> tuple[Tensor, ...]:
    """Runs ``step`` over all levels, on states of predecessors by edge, or by slot.

    Other arguments are those of :func:`run_levels`; ``by_degree`` means that ``step`` needs nodes
    of one in-degree, unless there are slots.
    """
    first = schedule.num_leaves
    num_others = schedule.num_nodes + 1 - first  # and a row of zeros, the state of empty slots
    by_degree = by_degree and slots is None
    with Tape() as tape:
        states = [
            Buffer(tape, torch.cat((part, part.new_zeros(num_others, *part.shape[1:]))))
            for part in start
        ]
        buffers = [Buffer(tape, values) for values in inputs]
        for level in schedule.levels[1:]:
            results = []
            for group in level.buckets if by_degree else (level,):
                rows = slice(group.start - first, group.end - first)
                if slots is None:
                    source = schedule.source[group.first_edge : group.last_edge]
                else:
                    source = slots.source[rows.start * slots.count : rows.stop * slots.count]
                children = [state.read(source) for state in states]
                results.append(step(group, children, [buffer.read(rows) for buffer in buffers]))
            for state, parts in zip(states, zip(*results, strict=True), strict=True):
                part = parts[0] if len(parts) == 1 else torch.cat(parts)
                state.write(slice(level.start, level.end), part)
        return tuple(state.read(slice(0, schedule.num_nodes)) for state in states)
