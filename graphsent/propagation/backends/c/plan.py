"""What a run of a generated library is given, and the same run in operations of torch."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from graphsent.propagation.backends.levels import run_traced
from graphsent.propagation.recurrence.evaluation import Evaluation, placed_columns
from graphsent.propagation.recurrence.recurrence import Recurrence
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


class Given(NamedTuple):
    """The tensors of a run.

    Attributes:
        inputs: those of :class:`Inputs`.
        start: those of :class:`Start`.
        constants: those of ``combine``, then those of ``start``.
    """

    inputs: Sequence[Tensor]
    start: Sequence[Tensor]
    constants: Sequence[Tensor]


class Plan(NamedTuple):
    """What does not change from the forward pass to the backward pass.

    Attributes:
        recurrence: of the library.
        library: its functions.
        schedule: on the CPU, of two levels at least.
        slots: of predecessors that are told apart.
        start: of nodes without predecessors, without its tensors.
        input_rows: for each input (num_inner,) its rows, if they are shared.
        num_results: parts of the states that are wanted by node; None: all of them by position.
        counts: numbers of inputs, and of tensors of the start.
    """

    recurrence: Recurrence
    library: ctypes.CDLL
    schedule: Schedule
    slots: Slots | None
    start: Start
    input_rows: Sequence[Tensor | None]
    num_results: int | None
    counts: tuple[int, int]

    def divided(self, tensors: Sequence[Any]) -> Given:
        """Tensors, or what belongs to them, by kind."""
        inputs, start = self.counts
        return Given(tensors[:inputs], tensors[inputs : inputs + start], tensors[inputs + start :])

    def first_edge(self) -> Tensor | None:
        """(num_inner + 1) where the edges to each node begin; None with slots."""
        if self.slots is not None:
            return None
        known, schedule = self.schedule.derived, self.schedule
        if "first edge" not in known:
            inner = torch.arange(schedule.num_sources, schedule.num_nodes + 1, device="cpu")
            known["first edge"] = torch.searchsorted(schedule.target, inner)
        return known["first edge"]


def run_plain(plan: Plan, *tensors: Tensor) -> tuple[Tensor, ...]:
    """The states of all nodes in operations of torch, which autograd differentiates."""
    recurrence, schedule, given = plan.recurrence, plan.schedule, plan.divided(tensors)
    num_inner = schedule.num_nodes - schedule.num_sources
    inputs = [
        part.expand(num_inner, -1) if rows is None else part.index_select(0, rows)
        for part, rows in zip(given.inputs, plan.input_rows, strict=True)
    ]
    split = len(recurrence.combine.constants)
    constants, of_start = given.constants[:split], given.constants[split:]
    states = list(given.start)
    start, count = plan.start, plan.start.projected
    if count:
        x, weight, bias, *others = states
        made = functional.linear(x, weight[:count], bias[:count])
        states = [placed_columns(made, recurrence.columns, recurrence.input_widths[0]), *others]
    if not start.given:
        states = Evaluation(recurrence.start.results, of_start).at(states)
    if start.rows is not None:
        states = [part.index_select(0, start.rows) for part in states]
    results = run_traced(recurrence, schedule, states, inputs, constants, plan.slots)
    if plan.num_results is None:
        return results
    return tuple(map(schedule.by_node, results[: plan.num_results]))
