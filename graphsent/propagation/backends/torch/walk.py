"""A recurrence over the levels of a schedule, as one operation of autograd."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx

from graphsent.propagation.backends.torch.lowering import Lowered
from graphsent.propagation.backends.torch.steps import Key, Linked
from graphsent.propagation.gradients import Plain, by_hand
from graphsent.propagation.memory import empty
from graphsent.propagation.recurrence.expressions import Domain
from graphsent.propagation.recurrence.recurrence import Recurrence
from graphsent.propagation.schedule.adjacency import Adjacency


class Problem(NamedTuple):
    """What does not change from the forward pass to the backward pass.

    Attributes:
        recurrence: what a node computes.
        adjacency: who sends to whom, on the device of the tensors.
        num_inputs: so many tensors are inputs; the next ones are parts of the states of the first
            level, then come constants.
        plain: the same in operations that autograd differentiates.
    """

    recurrence: Recurrence
    adjacency: Adjacency
    num_inputs: int
    plain: Plain

    def divided(self, tensors: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """Inputs, start and constants, or what belongs to them."""
        first = self.num_inputs
        second = first + self.recurrence.num_parts
        return tensors[:first], tensors[first:second], tensors[second:]


def run_steps(
    problem: Problem, inputs: Sequence[Tensor], start: Sequence[Tensor], constants: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """The parts of the states of all nodes by position, (num_nodes, size).

    Args:
        problem: what is to be run.
        inputs: (num_inner, width) by position, or (width,) for all nodes.
        start: parts of the states of the first level, (num_sources, size).
        constants: those of ``combine``.
    """
    tensors = (*inputs, *start, *constants)
    keep = torch.is_grad_enabled() and any(part.requires_grad for part in tensors)
    return _Levels.apply(problem, keep, *tensors)


def _lowered(recurrence: Recurrence, *, keep: bool) -> Lowered:
    """The steps of a recurrence, which are kept with it."""
    known = recurrence.derived.setdefault("lowered", {})
    if keep not in known:
        known[keep] = Lowered(recurrence, keep=keep)
    return known[keep]


class _Memory:
    """The arrays of a run, and what else its steps read.

    Args:
        problem: what is run.
        constants: those of ``combine``.
        like: of the type of all numbers, and where they are.
    """

    def __init__(self, problem: Problem, constants: Sequence[Tensor], like: Tensor) -> None:
        self.adjacency, self.constants, self.like = problem.adjacency, constants, like
        nodes, messages = self.adjacency.nodes, self.adjacency.messages
        self.levels = {Domain.NODE: nodes[1:], Domain.SOURCE: nodes, Domain.EDGE: messages}
        self.levels[Domain.CONSTANT] = [1]
        self.arrays: dict[Hashable, Tensor] = {}
        self.domains: dict[Hashable, Domain] = {}
        self.padded: dict[Hashable, Tensor] = {}  # with a row of zeros at the end

    def put(self, name: Hashable, domain: Domain, rows: Tensor) -> None:
        """An array that is there already."""
        self.arrays[name], self.domains[name] = rows, domain

    def make(self, arrays: Mapping[Hashable, tuple[Domain, int]], pulled: Iterable = ()) -> None:
        """Arrays that are not there yet, some of them of messages that are pulled."""
        for name, (domain, width) in arrays.items():
            if name in self.arrays:
                continue
            num_rows = sum(self.levels[domain])
            if name not in pulled:
                self.put(name, domain, empty(num_rows, width, like=self.like))
                continue
            num_messages = sum(self.adjacency.messages)
            size = width * num_rows // num_messages
            self.padded[name] = padded = empty(num_messages + 1, size, like=self.like)
            padded[-1] = 0
            self.put(name, domain, padded[:-1].view(num_rows, width))

    def columns(self, key: Key) -> Tensor:
        """Columns of an array."""
        _, name, first, width = key
        return _narrowed(self.arrays[name], first, width)

    def by_level(self, key: Key) -> Sequence[Tensor]:
        """The rows of each level."""
        return self.columns(key).split(self.levels[self.domains[key[1]]])

    def shared(self, key: Key) -> Any:
        """What is the same at all levels."""
        kind, name, *columns = key
        if kind == "number":
            return self.like.new_full((1, 1), name)
        if kind == "constant":
            first, width = columns
            return self.constants[name].reshape(1, -1).narrow(1, first, width)
        if kind == "weight":
            column, width, turned = columns
            weight = _narrowed(self.constants[name], column, width)
            return weight.t() if turned else weight
        if kind == "all":
            array = self.padded[name] if name in self.padded else self.arrays[name]
            return _narrowed(array, *columns) if columns else array
        return name

    def sources(self, steps: Linked) -> list[list[Any]]:
        """The operands of steps for the successors of each level."""
        links = [(None, part) for part in self.adjacency.outgoing]
        return steps.frames(links, self.by_level, self.shared)

    def nodes(self, steps: Linked) -> list[list[Any]]:
        """The operands of steps for the nodes of each level but the first."""
        links = [(part, None) for part in self.adjacency.incoming]
        return steps.frames(links, self.by_level, self.shared)

    def run_at_once(self, steps: Linked) -> Callable[[Key], Tensor]:
        """Runs steps for all levels; gives operands."""
        links = [(self.adjacency.all_incoming, self.adjacency.all_outgoing)]
        (frame,) = steps.frames(links, lambda key: [self.columns(key)], self.shared)
        steps.run(frame)
        return lambda key: frame[steps.place[key]]


def _narrowed(array: Tensor, first: int, width: int) -> Tensor:
    return array if array.shape[1] == width else array.narrow(1, first, width)


def _plain(ctx: Any, *tensors: Tensor) -> Sequence[Tensor]:
    return ctx.problem.plain(*ctx.problem.divided(tensors))


class _Levels(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, problem: Problem, keep: bool, *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        lowered = _lowered(problem.recurrence, keep=keep)
        inputs, start, constants = problem.divided(tensors)
        memory, num_sources = _memory_of(problem, inputs, constants, start[0]), len(start[0])
        results = []
        for part, rows in enumerate(start):
            memory.padded["state", part] = state = empty(
                sum(memory.adjacency.nodes) + 1, rows.shape[1], like=rows
            )
            state[:num_sources] = rows
            state[-1] = 0
            results.append(state[:-1])
        _put_states(memory, results, num_sources)
        memory.make(lowered.arrays)
        memory.run_at_once(lowered.before)
        sources, nodes = memory.sources(lowered.sources), memory.nodes(lowered.nodes)
        lowered.sources.run(sources[0])
        for node_frame, source_frame in zip(nodes, sources[1:], strict=True):
            lowered.nodes.run(node_frame)
            lowered.sources.run(source_frame)
        if keep:
            ctx.problem = problem
            ctx.set_materialize_grads(False)
            kept = [memory.arrays[name] for name in lowered.kept]
            ctx.save_for_backward(*tensors, *results, *kept)
        return tuple(results)

    @staticmethod
    @by_hand(_plain, num_options=2)
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        problem = ctx.problem
        lowered = _lowered(problem.recurrence, keep=True)
        num_parts, num_kept = problem.recurrence.num_parts, len(lowered.kept)
        saved = ctx.saved_tensors  # once: with checkpoints, asking recomputes them
        tensors = saved[: len(saved) - num_parts - num_kept]
        others = saved[len(tensors) :]
        results, kept = others[:num_parts], others[num_parts:]
        inputs, start, constants = problem.divided(tensors)
        memory, num_sources = _memory_of(problem, inputs, constants, start[0]), len(start[0])
        _put_states(memory, results, num_sources)
        for name, rows in zip(lowered.kept, kept, strict=True):
            memory.put(name, lowered.arrays[name][0], rows)
        for part, (gradient, state) in enumerate(zip(gradients, results, strict=True)):
            rows = torch.zeros_like(state) if gradient is None else gradient.clone()
            memory.put(("dstate", part), Domain.SOURCE, rows)
            memory.put(("gradient", part), Domain.NODE, rows[num_sources:])
        memory.make(lowered.arrays, lowered.pulled)
        memory.run_at_once(lowered.coefficients)
        sources, nodes = (
            memory.sources(lowered.source_gradients),
            memory.nodes(lowered.node_gradients),
        )
        for source_frame, node_frame in zip(sources[:0:-1], nodes[::-1], strict=True):
            lowered.source_gradients.run(source_frame)
            lowered.node_gradients.run(node_frame)
        lowered.source_gradients.run(sources[0])
        dstart = [memory.arrays["dstate", part][:num_sources] for part in range(num_parts)]
        needed = problem.divided(ctx.needs_input_grad[2:])
        dinputs, dconstants = _collected(memory, lowered, inputs, constants, needed)
        return None, None, *dinputs, *dstart, *dconstants


def _memory_of(
    problem: Problem, inputs: Sequence[Tensor], constants: Sequence[Tensor], like: Tensor
) -> _Memory:
    memory = _Memory(problem, constants, like)
    for number, rows in enumerate(inputs):
        rows = rows.expand(sum(memory.adjacency.nodes[1:]), rows.shape[-1])
        memory.put(("input", number), Domain.NODE, rows)
    first = memory.adjacency.all_incoming.first
    memory.put(("degree", None), Domain.NODE, first.diff().unsqueeze(1).to(like.dtype))
    return memory


def _put_states(memory: _Memory, states: Sequence[Tensor], num_sources: int) -> None:
    for part, state in enumerate(states):
        memory.put(("state", part), Domain.SOURCE, state)
        memory.put(("new", part), Domain.NODE, state[num_sources:])


def _collected(
    memory: _Memory,
    lowered: Lowered,
    inputs: Sequence[Tensor],
    constants: Sequence[Tensor],
    needed: tuple[Sequence[bool], ...],
) -> tuple[list[Tensor | None], list[Tensor | None]]:
    """The gradients of inputs and constants."""
    found, of_inputs, of_constants = lowered.explicit, needed[0], needed[2]
    operand = memory.run_at_once(lowered.after)
    read = lambda ref: operand(lowered.operand(ref))  # noqa: E731
    dinputs: list[Tensor | None] = [None] * len(inputs)
    dconstants: list[Tensor | None] = [None] * len(constants)
    for number, first, ref in found.inputs:
        if of_inputs[number]:
            if dinputs[number] is None:
                dinputs[number] = inputs[number].new_zeros(inputs[number].shape)
            rows = read(ref) if inputs[number].dim() > 1 else read(ref).sum(0)
            dinputs[number].narrow(-1, first, ref.width).copy_(rows)
    for number, first, ref in found.constants:
        if of_constants[number]:
            if dconstants[number] is None:
                dconstants[number] = torch.zeros_like(constants[number])
            part = dconstants[number].view(-1).narrow(0, first, ref.width)
            part.add_(read(ref).sum(0))
    for rows, (number, column), sums in found.weights:
        if of_constants[number]:
            known, factors = dconstants[number], (read(sums).t(), read(rows))
            if known is None and rows.width == constants[number].shape[1]:
                dconstants[number] = torch.mm(*factors)
                continue
            if known is None:
                dconstants[number] = torch.zeros_like(constants[number])
            dconstants[number].narrow(1, column, rows.width).addmm_(*factors)
    return dinputs, dconstants
