"""The states of all nodes in operations of torch, level by level, on any device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from graphsent.propagation.recurrence.evaluation import Evaluation
from graphsent.propagation.recurrence.recurrence import Recurrence
from graphsent.propagation.schedule.schedule import Bucket, Level, Schedule
from graphsent.propagation.schedule.slots import Slots
from graphsent.propagation.tape import Column, Tape

Combine = Callable[..., Sequence[Tensor]]


def run_levels(
    combine: Combine,
    schedule: Schedule,
    start: Sequence[Tensor],
    inputs: Sequence[Tensor],
    slots: Slots | None = None,
) -> tuple[Tensor, ...]:
    """The states of all nodes, by position; ``combine`` is called once a level, or in-degree.

    Args:
        combine: the parts of new states, each (nodes, size), from the parts of the predecessors'
            states, a tuple of (nodes, predecessors, size), and the rows of all inputs.
        schedule: of the graph; on the device of the tensors.
        start: parts of the states of the first level, (num_sources, size).
        inputs: rows for all other nodes, (num_nodes - num_sources, ...) by position.
        slots: with them ``combine`` is given all slots of the nodes of a level, zeros where they
            are empty; without them all predecessors of nodes with the same number of them, in the
            order of their edges.

    Returns:
        The parts of the states, (num_nodes, size).
    """

    def step(group: Bucket, states: Sequence[Tensor], rows: Sequence[Tensor]) -> Sequence[Tensor]:
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
    """What :func:`run_levels` gives by the ``combine`` of a recurrence, in one step a level.

    Args:
        recurrence: what a node computes.
        schedule: see there.
        start: see there.
        inputs: see there, those that are hoisted included; or one row (width,) for all nodes.
        constants: those of ``combine``, by number.
        slots: see there.
    """
    evaluation = Evaluation(recurrence.combine.results, constants)

    def step(group: Bucket, states: Sequence[Tensor], rows: Sequence[Tensor]) -> Sequence[Tensor]:
        target = None
        if slots is None:
            target = schedule.target[group.first_edge : group.last_edge] - group.start
        else:
            states = [part.unflatten(0, (-1, slots.count)) for part in states]
        return evaluation.at(rows, states, target, group.degree)

    num_inner = schedule.num_nodes - schedule.num_sources
    read = {value.data for value in evaluation.values if value.op == "input"}
    rows = [
        (part if number in read else part.detach()).expand(num_inner, part.shape[-1])
        for number, part in enumerate(inputs)
    ]
    return _propagate(step, schedule, start, rows, slots, by_degree=False)


_Step = Callable[[Bucket, Sequence[Tensor], Sequence[Tensor]], Sequence[Tensor]]


def _propagate(
    step: _Step,
    schedule: Schedule,
    start: Sequence[Tensor],
    inputs: Sequence[Tensor],
    slots: Slots | None,
    *,
    by_degree: bool,
) -> tuple[Tensor, ...]:
    """The states of all nodes by position.

    Args:
        step: the parts of new states of some nodes, from those of their predecessors by edge, or
            by slot, and the rows of inputs.
        schedule: as in :func:`run_levels`, like what follows.
        start: see there.
        inputs: see there.
        slots: see there.
        by_degree: whether ``step`` is for nodes of one in-degree, where there are no slots.
    """
    tape = Tape()
    states = [Column(tape, _with_zeros(part, schedule)) for part in start]
    columns = [Column(tape, values) for values in inputs]
    first = schedule.num_sources
    for level in schedule.levels[1:]:
        results = []
        for group in _groups(level, by_degree and slots is None):
            rows = slice(group.start - first, group.end - first)
            source = _sources(schedule, slots, group)
            children = [state.read(source) for state in states]
            results.append(step(group, children, [column.read(rows) for column in columns]))
        for state, parts in zip(states, zip(*results, strict=True), strict=True):
            part = parts[0] if len(parts) == 1 else torch.cat(parts)
            state.write(slice(level.start, level.end), part)
    return tuple(state.read(slice(0, schedule.num_nodes)) for state in states)


def _groups(level: Level, by_degree: bool) -> Iterable[Bucket]:
    """The nodes of a level that are computed at once, with their highest in-degree."""
    if by_degree:
        return level.buckets
    return [Bucket(*level[:-1], level.buckets[-1].degree)]


def _sources(schedule: Schedule, slots: Slots | None, group: Bucket) -> Tensor:
    """Positions of the predecessors, by edge or by slot."""
    if slots is None:
        return schedule.source[group.first_edge : group.last_edge]
    first = schedule.num_sources
    return slots.source[(group.start - first) * slots.count : (group.end - first) * slots.count]


def _with_zeros(start: Tensor, schedule: Schedule) -> Tensor:
    """States of all nodes with the first ones filled, and a row of zeros at the end."""
    missing = schedule.num_nodes + 1 - len(start)
    return torch.cat((start, start.new_zeros(missing, *start.shape[1:])))
