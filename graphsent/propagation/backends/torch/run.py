"""The states of all nodes from a recurrence, level by level in operations of torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from torch import Tensor

from graphsent.propagation.autocast import without_autocast
from graphsent.propagation.backends.levels import run_combine
from graphsent.propagation.backends.torch.walk import Problem, run_steps
from graphsent.propagation.recurrence.evaluation import hoisted_inputs
from graphsent.propagation.recurrence.recurrence import Recurrence
from graphsent.propagation.schedule.adjacency import adjacency_of
from graphsent.propagation.schedule.schedule import Schedule
from graphsent.propagation.schedule.slots import Slots


def run_traced(
    recurrence: Recurrence,
    schedule: Schedule,
    slots: Slots | None,
    start: Sequence[Tensor],
    inputs: Sequence[Tensor],
    parameters: Mapping[str, Tensor],
) -> tuple[Tensor, ...]:
    """The states of all nodes by position, level by level in operations of torch.

    Args:
        recurrence: what a node computes.
        schedule: on the CPU, of two levels at least.
        slots: which predecessor is in which slot, where they are told apart, on the CPU.
        start: parts of the states of the first level, (num_sources, size), on any device.
        inputs: of the other nodes, (num_inner, width) by position, or (width,) for all of them; of
            the type of ``start``.
        parameters: and buffers, by name.
    """
    like = start[0]
    with without_autocast(like.device.type):
        constants = [part.to(like.dtype) for part in recurrence.combine.tensors(parameters)]
        inputs = [*inputs, *hoisted_inputs(recurrence.combine.hoisted, inputs, constants)]
        adjacency = adjacency_of(schedule, slots, like.device)
        moved = schedule.to(like.device), None if slots is None else slots.to(like.device)
        problem = Problem(
            recurrence, adjacency, len(inputs), partial(run_combine, recurrence, *moved)
        )
        return run_steps(problem, inputs, start, constants)
