"""The states of all nodes from a recurrence, in compiled code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from graphsent.propagation.backends.c.walk import Given, Plan, run_generated
from graphsent.propagation.backends.levels import run_combine
from graphsent.propagation.recurrence.evaluation import Evaluation, hoisted_inputs, placed_columns
from graphsent.propagation.recurrence.expressions import reached
from graphsent.propagation.recurrence.recurrence import Recurrence
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
    library: Any,
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
    tensors = [
        *inputs.tensors,
        *hoisted_inputs(recurrence.combine.hoisted, inputs.tensors, constants),
    ]
    of_start = [] if start.given else recurrence.start.tensors(parameters)
    starts = list(start.tensors)
    if not start.given:
        starts += hoisted_inputs(recurrence.start.hoisted, starts, of_start)
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
        states = [placed_columns(made, recurrence.columns, recurrence.input_widths[0]), *others]
    if not plan.starts_given:
        evaluation, parts = Evaluation(states, of_start), recurrence.start.results
        evaluation.run(reached(ref.value for part in parts for ref in part))
        states = [evaluation.joined(refs) for refs in parts]
    if plan.leaves is not None:
        states = [part.index_select(0, plan.leaves) for part in states]

    results = run_combine(recurrence, schedule, plan.slots, inputs, states, constants)
    return in_order(results, schedule, plan.num_results)
