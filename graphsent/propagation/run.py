"""The states of all nodes from a recurrence: the one entry that cells call."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from graphsent.propagation.autocast import without_autocast
from graphsent.propagation.backends.c.walk import Given, Plan, run_generated
from graphsent.propagation.backends.torch.walk import Problem
from graphsent.propagation.backends.torch.walk import run_levels as run_by_steps
from graphsent.propagation.levels import run_levels
from graphsent.propagation.recurrence.evaluation import Evaluation
from graphsent.propagation.recurrence.recurrence import Recurrence, Traced
from graphsent.propagation.schedule.adjacency import adjacency_of
from graphsent.propagation.schedule.order import in_order
from graphsent.propagation.schedule.schedule import Schedule
from graphsent.propagation.schedule.slots import Slots


class Start(NamedTuple):
    """What the nodes without predecessors have.

    Attributes:
        tensors: inputs, (num_rows, width), or parts of states, (num_rows, size).
        given: whether they are parts of states.
        projected: so many outputs of a linear map are the first input, in whose place are the
            input of this map, its weight and its bias; 0 if it is made.
        rows: (num_sources,) their rows, if they are shared.
    """

    tensors: Sequence[Tensor]
    given: bool
    projected: int
    rows: Tensor | None


class Inputs(NamedTuple):
    """What the other nodes have.

    Attributes:
        tensors: (num_inner, width), or (width,) for all of them.
        rows: (num_inner,) their rows, if they are shared.
    """

    tensors: Sequence[Tensor]
    rows: Tensor | None


def run_recurrence(
    recurrence: Recurrence,
    library: ctypes.CDLL,
    schedule: Schedule,
    slots: Slots | None,
    start: Start,
    inputs: Inputs,
    parameters: Mapping[str, Tensor],
    num_results: int | None,
) -> tuple[Tensor, ...]:
    """The states of all nodes, in compiled code.

    Args:
        recurrence: what a node computes.
        library: its compiled code.
        schedule: on the CPU, of two levels at least.
        slots: which predecessor is in which slot, where they are told apart.
        start: of nodes without predecessors.
        inputs: of the others.
        parameters: and buffers, by name.
        num_results: so many parts of the states by node; all by position if it is None.
    """
    constants = recurrence.combine.tensors(parameters)
    tensors = [*inputs.tensors, *_hoisted(recurrence.combine, inputs.tensors, constants)]
    of_start = [] if start.given else recurrence.start.tensors(parameters)
    starts = list(start.tensors)
    if not start.given:
        starts += _hoisted(recurrence.start, starts, of_start)
    plan = Plan(
        recurrence,
        library,
        schedule,
        slots,
        _first_edge(schedule) if slots is None else None,
        start.rows,
        [inputs.rows if part.dim() > 1 else None for part in tensors],
        num_results,
        start.given,
        start.projected,
        (len(tensors), len(starts)),
        run_plain,
    )
    filled = of_start if of_start or not start.given else []
    missing = [parameters_like(tensors[0])] * (len(recurrence.start.constants) - len(filled))
    return run_generated(plan, Given(tensors, starts, [*constants, *filled, *missing]))


def parameters_like(like: Tensor) -> Tensor:
    """Stands for a constant that is not used."""
    return like.new_empty(0)


def _first_edge(schedule: Schedule) -> Tensor:
    known = schedule.derived
    if "first edge" not in known:
        inner = torch.arange(schedule.num_sources, schedule.num_nodes + 1, device="cpu")
        known["first edge"] = torch.searchsorted(schedule.target, inner)
    return known["first edge"]


def _hoisted(traced: Traced, inputs: Sequence[Tensor], constants: Sequence[Tensor]) -> list[Tensor]:
    """Inputs that are made of others for all nodes at once."""
    if not traced.hoisted:
        return []
    rows = [part if part.dim() > 1 else part.unsqueeze(0) for part in inputs]
    flat = all(part.dim() == 1 for part in inputs)
    results: list[Tensor] = []
    for value in traced.hoisted:
        result = Evaluation((), [*rows, *results], constants).joined([value.ref()])
        results.append(result)
    return [result.squeeze(0) if flat else result for result in results]


def _placed(rows: Tensor, columns: Sequence[tuple[int, int]]) -> Tensor:
    """Ranges of columns where they belong, zeros before and between them."""
    parts, end = [], 0
    made = rows.split([last - first for first, last in columns], 1)
    for (first, last), part in zip(columns, made, strict=True):
        parts.append(functional.pad(part, (first - end, 0)))
        end = last
    return torch.cat(parts, 1)


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
        inputs: of the other nodes, (num_inner, width) by position, of the type of ``start``.
        parameters: and buffers, by name.
    """
    like = start[0]
    with without_autocast(like.device.type):
        constants = [part.to(like.dtype) for part in recurrence.combine.tensors(parameters)]
        inputs = [*inputs, *_hoisted(recurrence.combine, inputs, constants)]
        adjacency = adjacency_of(schedule, slots, like.device)
        moved = schedule.to(like.device), _slots_on(slots, like.device)
        problem = Problem(
            recurrence, adjacency, len(inputs), partial(_by_combine, recurrence, *moved)
        )
        return run_by_steps(problem, inputs, start, constants)


def _slots_on(slots: Slots | None, device: torch.device) -> Slots | None:
    return None if slots is None else Slots(slots.count, *(part.to(device) for part in slots[1:]))


def _by_combine(
    recurrence: Recurrence,
    schedule: Schedule,
    slots: Slots | None,
    inputs: Sequence[Tensor],
    start: Sequence[Tensor],
    constants: Sequence[Tensor],
) -> tuple[Tensor, ...]:
    """The states by position, in operations that autograd differentiates."""

    def combine(children: Sequence[Tensor], *rows: Tensor) -> list[Tensor]:
        evaluation = Evaluation(children, rows, constants)
        return [evaluation.joined(refs) for refs in recurrence.combine.results]

    return run_levels(combine, schedule, start, inputs, slots)


def run_plain(plan: Plan, given: Given) -> tuple[Tensor, ...]:
    """The same in operations of torch, which autograd differentiates."""
    recurrence, schedule = plan.recurrence, plan.schedule
    num_inner = schedule.num_nodes - schedule.num_sources
    inputs = [
        part.expand(num_inner, -1) if rows is None else part.index_select(0, rows)
        for part, rows in zip(given.inputs, plan.input_rows, strict=True)
    ]
    split = len(recurrence.combine.constants)
    constants, of_start = given.constants[:split], given.constants[split:]
    states = list(given.start)
    if plan.projected:
        x, weight, bias, *others = states
        count = plan.projected
        made = functional.linear(x, weight[:count], bias[:count])
        states = [_placed(made, recurrence.columns), *others]
    if not plan.starts_given:
        evaluation = Evaluation((), states, of_start)
        states = [evaluation.joined(refs) for refs in recurrence.start.results]
    if plan.leaves is not None:
        states = [part.index_select(0, plan.leaves) for part in states]

    results = _by_combine(recurrence, schedule, plan.slots, inputs, states, constants)
    return in_order(results, schedule, plan.num_results)
