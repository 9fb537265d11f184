"""The states of all nodes from a recurrence, level by level in operations of torch.

It is one operation of autograd. Its walk back evaluates the gradients of the expressions: what of
them depends on the forward pass alone is made for all levels at once before, and what the gradients
of inputs and parameters need, for all levels at once behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from graphsent.propagation.autocast import without_autocast
from graphsent.propagation.backends.levels import run_combine
from graphsent.propagation.backends.program import Program, program_of
from graphsent.propagation.gradients import Plain, by_hand
from graphsent.propagation.memory import empty
from graphsent.propagation.recurrence.evaluation import Evaluation, hoisted_inputs
from graphsent.propagation.recurrence.expressions import Domain, Value
from graphsent.propagation.recurrence.recurrence import Recurrence
from graphsent.propagation.schedule.indices import to_device
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
        moved = schedule.to(like.device), None if slots is None else slots.to(like.device)
        levels = _levels(schedule, *moved)
        plain = partial(run_combine, recurrence, *moved)
        tensors = (*inputs, *start, *constants)
        keep = torch.is_grad_enabled() and any(part.requires_grad for part in tensors)
        return _Walk.apply(_Plan(recurrence, levels, len(inputs), plain), keep, *tensors)


class _Level(NamedTuple):
    """Some nodes that have predecessors, and the edges to them.

    Attributes:
        nodes: positions.
        rows: the same, without the first level.
        edges: rows of edges.
        source: positions of the predecessors, by edge; or by node and slot, one more than all
            positions where there is none.
        target: (num_edges,) the node of each edge among these; None with slots.
        degree: of none of the nodes there are more edges.
    """

    nodes: slice
    rows: slice
    edges: slice
    source: Tensor
    target: Tensor | None
    degree: int

    def of(self, domain: Domain) -> slice:
        """The rows of values of a domain, of all that have predecessors."""
        return self.rows if domain == Domain.NODE else self.edges


def _levels(schedule: Schedule, moved: Schedule, slots: Slots | None) -> list[_Level]:
    """All levels but the first, and behind them one of all their nodes.

    Args:
        schedule: on the CPU.
        moved: the same on the device to compute on.
        slots: on this device.
    """
    first, inner = schedule.num_sources, schedule.levels[1:]
    targets: Sequence[Tensor | None]
    bounds = [
        *((n.start, n.end, n.first_edge, n.last_edge, n.buckets[-1].degree) for n in inner),
        (first, schedule.num_nodes, 0, schedule.num_edges, schedule.bounds.degrees.max()),
    ]
    if slots is None:
        starts = np.repeat([n.start for n in inner], [n.last_edge - n.first_edge for n in inner])
        within = to_device(schedule.target - torch.from_numpy(starts), moved.device)
        sources, targets = moved.source, [*[within] * len(inner), moved.target - first]
    else:
        sources, targets = slots.source.view(-1, slots.count), [None] * len(bounds)
    levels = []
    for (start, end, first_edge, last_edge, degree), target in zip(bounds, targets, strict=True):
        rows, edges = slice(start - first, end - first), slice(first_edge, last_edge)
        source = sources[rows if target is None else edges]
        at = None if target is None else target[edges]
        levels.append(_Level(slice(start, end), rows, edges, source, at, degree))
    return levels


class _Plan(NamedTuple):
    """What does not change from the forward pass to the backward pass.

    Attributes:
        recurrence: what a node computes.
        levels: see :func:`_levels`.
        num_inputs: so many tensors are inputs; the next ones are parts of the states of the first
            level, then come constants.
        plain: the same in operations that autograd differentiates.
    """

    recurrence: Recurrence
    levels: Sequence[_Level]
    num_inputs: int
    plain: Plain

    def divided(self, tensors: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """Inputs, start and constants, or what belongs to them."""
        first = self.num_inputs
        second = first + self.recurrence.num_parts
        return tensors[:first], tensors[first:second], tensors[second:]

    def program(self) -> Program:
        """What is computed when."""
        return program_of(self.recurrence)


class _Walk(Function):
    @staticmethod
    def forward(ctx: Any, plan: _Plan, keep: bool, *tensors: Tensor) -> tuple[Tensor, ...]:
        inputs, start, constants = plan.divided(tensors)
        program, num_nodes = plan.program(), plan.levels[-1].nodes.stop
        states = [empty(num_nodes + 1, part.shape[1], like=part) for part in start]
        for state, part in zip(states, start, strict=True):
            state[: len(part)] = part
            state[-1] = 0  # where there is no predecessor
        common, kept = _common(program, inputs, constants), []
        for level in plan.levels[:-1]:
            found = _evaluation(plan, level, inputs, constants, states, common)
            found.run(program.forward)
            for state, refs in zip(states, plan.recurrence.combine.results, strict=True):
                state[level.nodes] = found.joined(refs)
            kept.append([found.values[value] for value in program.kept] if keep else [])
        if keep:
            ctx.plan = plan
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(*tensors, *states, *map(torch.cat, zip(*kept, strict=True)))
        return tuple(state[:-1] for state in states)

    @staticmethod
    @by_hand(lambda ctx, *tensors: ctx.plan.plain(*ctx.plan.divided(tensors)), num_options=2)
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors  # once: with checkpoints, asking recomputes them
        with without_autocast(saved[0].device.type):
            return None, None, *_gradients(ctx, saved, gradients)


def _gradients(
    ctx: Any, saved: Sequence[Tensor], gradients: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """The gradients of all tensors that the walk was given."""
    plan, program = ctx.plan, ctx.plan.program()
    num_tensors, num_parts = len(ctx.needs_input_grad) - 2, plan.recurrence.num_parts
    inputs, start, constants = plan.divided(saved[:num_tensors])
    states, kept = saved[num_tensors:][:num_parts], saved[num_tensors + num_parts :]
    dstates = [torch.zeros_like(state) for state in states]
    for to, gradient in zip(dstates, gradients, strict=True):
        if gradient is not None:
            to[:-1] = gradient
    known = _common(program, inputs, constants)
    known.update(zip(program.kept, kept, strict=True))
    everything = _evaluation(plan, plan.levels[-1], inputs, constants, states, known)
    everything.run([*program.given, *program.coefficients])
    everything.values.update(_walk_back(plan, everything, dstates))
    _put_gradients(everything, plan.levels[-1], program, dstates)
    everything.run(program.behind)
    needed = plan.divided(ctx.needs_input_grad[2:])
    dinputs, dconstants = _collected(everything, program, inputs, constants, needed)
    dstart = [part[: len(first)] for part, first in zip(dstates, start, strict=True)]
    return [*dinputs, *dstart, *dconstants]


def _common(
    program: Program, inputs: Sequence[Tensor], constants: Sequence[Tensor]
) -> dict[Value, Tensor]:
    found = Evaluation([inputs[0].reshape(-1, inputs[0].shape[-1])[:1]], constants)
    found.run(program.common)
    return found.values


def _evaluation(
    plan: _Plan,
    level: _Level,
    inputs: Sequence[Tensor],
    constants: Sequence[Tensor],
    states: Sequence[Tensor],
    known: Mapping[Value, Tensor],
) -> Evaluation:
    """What is known of a level before anything is computed."""
    num_inner = plan.levels[-1].rows.stop
    inputs = [part.expand(num_inner, part.shape[-1])[level.rows] for part in inputs]
    children = [state.index_select(0, level.source.flatten()) for state in states]
    if level.target is None:
        children = [part.unflatten(0, level.source.shape) for part in children]
    return Evaluation(inputs, constants, children, level.target, level.degree, known)


def _walk_back(
    plan: _Plan, everything: Evaluation, dstates: Sequence[Tensor]
) -> dict[Value, Tensor]:
    """Adds to the gradients of states what they have of their successors.

    Returns:
        What is read behind the walk, of all levels.
    """
    program, known = plan.program(), everything.values
    common = {value: known[value] for value in program.common}
    collected = []
    for level in reversed(plan.levels[:-1]):
        parts = {value: known[value][level.of(value.domain)] for value in program.read}
        rows = [everything.inputs[0][level.rows]]
        at = level.target, level.degree, {**common, **parts}
        found = Evaluation(rows, everything.constants, (), *at)
        _put_gradients(found, level, program, dstates)
        found.run(program.back)
        for (part, slot), shares in program.gradients.states.items():
            source = level.source if slot is None else level.source[:, slot]
            for first, ref, domain in shares:
                to = dstates[part].narrow(1, first, ref.width)
                to.index_add_(0, source, found.rows(ref, domain))
        collected.append([found.values[value] for value in program.collected])
    joined = map(torch.cat, zip(*reversed(collected), strict=True))
    return dict(zip(program.collected, joined, strict=True))


def _put_gradients(
    found: Evaluation, level: _Level, program: Program, dstates: Sequence[Tensor]
) -> None:
    for value in program.given_gradients:
        found.values[value] = dstates[value.data][level.nodes]


def _collected(
    found: Evaluation,
    program: Program,
    inputs: Sequence[Tensor],
    constants: Sequence[Tensor],
    needed: tuple[Sequence[bool], ...],
) -> tuple[list[Tensor | None], list[Tensor | None]]:
    """The gradients of inputs and constants."""
    dinputs: list[Tensor | None] = [None] * len(inputs)
    dconstants: list[Tensor | None] = [None] * len(constants)

    def gradient(of: list[Tensor | None], tensors: Sequence[Tensor], number: int) -> Tensor:
        found = of[number]
        if found is None:
            found = of[number] = torch.zeros_like(
                tensors[number], memory_format=torch.contiguous_format
            )
        return found

    for number, shares in program.gradients.inputs.items():
        for first, ref, domain in shares if needed[0][number] else ():
            rows, to = found.rows(ref, domain), gradient(dinputs, inputs, number)
            to.narrow(-1, first, ref.width).copy_(rows if to.dim() > 1 else rows.sum(0))
    for number, shares in program.gradients.constants.items():
        for first, ref, domain in shares if needed[2][number] else ():
            to = gradient(dconstants, constants, number).view(-1).narrow(0, first, ref.width)
            to += found.rows(ref, domain).sum(0)
    for term, sums in program.gradients.weights:
        if needed[2][term.weight]:
            to = gradient(dconstants, constants, term.weight)
            part = to.narrow(1, term.column, term.rows.width)
            part.addmm_(found.values[sums].t(), found.values[term.rows])
    return dinputs, dconstants
