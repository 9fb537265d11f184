"""Propagation of states over a schedule, for any recursion that is given as a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from graphsent.propagation.recurrence.evaluation import Evaluation
from graphsent.propagation.recurrence.expressions import reached
from graphsent.propagation.recurrence.recurrence import Recurrence
from graphsent.propagation.schedule.schedule import Level, Schedule
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
    tape = Tape()
    states = [Column(tape, _with_zeros(part, schedule)) for part in start]
    columns = [Column(tape, values) for values in inputs]
    first = schedule.num_sources
    for level in schedule.levels[1:]:
        results = []
        for begin, end, source in _groups(level, schedule, slots):
            children = tuple(state.read(source).unflatten(0, (end - begin, -1)) for state in states)
            rows = slice(begin - first, end - first)
            results.append(combine(children, *(column.read(rows) for column in columns)))
        for state, parts in zip(states, zip(*results, strict=True), strict=True):
            part = parts[0] if len(parts) == 1 else torch.cat(parts)
            state.write(slice(level.start, level.end), part)
    return tuple(state.read(slice(0, schedule.num_nodes)) for state in states)


def run_combine(
    recurrence: Recurrence,
    schedule: Schedule,
    slots: Slots | None,
    inputs: Sequence[Tensor],
    start: Sequence[Tensor],
    constants: Sequence[Tensor],
) -> tuple[Tensor, ...]:
    """What :func:`run_levels` gives by the ``combine`` of a recurrence.

    Args:
        recurrence: what a node computes.
        schedule: see there.
        slots: see there.
        inputs: see there, those that are hoisted included.
        start: see there.
        constants: those of ``combine``, by number.
    """
    results = recurrence.combine.results
    values = reached(ref.value for part in results for ref in part)

    def combine(children: Sequence[Tensor], *rows: Tensor) -> list[Tensor]:
        num_nodes, degree, _ = children[0].shape
        target = None
        if slots is None:
            target = torch.arange(num_nodes, device=children[0].device).repeat_interleave(degree)
            children = [part.flatten(0, 1) for part in children]
        evaluation = Evaluation(rows, constants, children, target, degree)
        evaluation.run(values)
        return [evaluation.joined(refs) for refs in results]

    num_inner = schedule.num_nodes - schedule.num_sources
    rows = [part.expand(num_inner, part.shape[-1]) for part in inputs]
    return run_levels(combine, schedule, start, rows, slots)


def _with_zeros(start: Tensor, schedule: Schedule) -> Tensor:
    """States of all nodes with the first ones filled, and a row of zeros at the end."""
    missing = schedule.num_nodes + 1 - len(start)
    return torch.cat((start, start.new_zeros(missing, *start.shape[1:])))


def _groups(level: Level, schedule: Schedule, slots: Slots | None) -> list[tuple[int, int, Tensor]]:
    """Positions of nodes that are computed at once, and those of their predecessors."""
    if slots is None:
        return [
            (bucket.start, bucket.end, schedule.source[bucket.first_edge : bucket.last_edge])
            for bucket in level.buckets
        ]
    first = schedule.num_sources
    rows = slice((level.start - first) * slots.count, (level.end - first) * slots.count)
    return [(level.start, level.end, slots.source[rows])]
