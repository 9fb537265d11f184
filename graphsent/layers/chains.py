"""Sequences as chains of nodes: their schedule, and the states of recurrences along them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from graphsent.propagation.backends.c.library import generated_library
from graphsent.propagation.backends.c.walk import run_compiled
from graphsent.propagation.backends.plan import Found, planned
from graphsent.propagation.recurrence.recurrence import Recurrence, given_states, trace
from graphsent.propagation.schedule.schedule import Schedule
from graphsent.propagation.schedule.slots import Slots


class Chains(NamedTuple):
    """Sequences in descending order of length, without a graph.

    Level 0 holds the initial states, the others the steps, in the order of a packed sequence: the
    first steps of all sequences, then the second steps.

    Attributes:
        schedule: Schedule of all nodes, which are numbered by ordinal.
        slots: One slot per node, its predecessor.
        lengths: (num_chains,) int64, descending.
        ends: (num_steps,) int64, the cumulated number of sequences with each step.
    """

    schedule: Schedule
    slots: Slots
    lengths: np.ndarray
    ends: np.ndarray

    @property
    def num_chains(self) -> int:
        """Number of sequences."""
        return len(self.lengths)

    def node(self, chain: np.ndarray, step: np.ndarray) -> np.ndarray:
        """The index of steps of chains among all steps, shaped as ``chain``."""
        return np.append(0, self.ends)[step] + chain

    def last(self) -> np.ndarray:
        """(num_chains,) index of the last step of each chain."""
        return self.node(np.arange(self.num_chains), self.lengths - 1)

    def steps(self) -> tuple[np.ndarray, np.ndarray]:
        """The chain of each step, and its position in it from 0, each (all steps,) int64."""
        sizes = np.diff(self.ends, prepend=0)
        step = np.repeat(np.arange(len(sizes)), sizes)
        return np.arange(len(step)) - np.repeat(self.ends - sizes, sizes), step

    def turned(self) -> np.ndarray:
        """(all steps,) index of the mirrored step of its chain, to reverse the sequences."""
        chain, step = self.steps()
        return self.node(chain, self.lengths[chain] - 1 - step)


def make_chains(sizes: np.ndarray) -> Chains:
    """Chains from the number of sequences that have a first step, a second one, and so on.

    Args:
        sizes: (num_steps,) int64, descending, at least 1; the ``batch_sizes`` of a packed sequence.
    """
    num_chains, ends = int(sizes[0]), np.cumsum(sizes)
    num_steps = int(ends[-1])
    nodes = np.arange(num_chains + num_steps)
    # A step follows its predecessor at a distance of the size of the latter's level.
    before = np.append(num_chains, sizes[:-1])
    source = nodes[num_chains:] - np.repeat(before, sizes)
    edges = nodes[:num_steps], source, nodes[num_chains:]
    packed = torch.from_numpy(np.concatenate((nodes, nodes, *edges)))
    degrees = np.ones(len(nodes), np.int64)
    degrees[:num_chains] = 0
    schedule = Schedule(num_chains + np.append(0, ends), degrees, packed, num_steps)
    lengths = np.searchsorted(-sizes, -nodes[:num_chains])
    return Chains(schedule, Slots(1, schedule.source), lengths, ends)


Step = Callable[..., Sequence[Tensor]]
"""Takes the parts of a state, (num_chains, size), inputs (num_chains, width), and the weights;
returns the parts of the next state."""


@functools.cache
def chain_recurrence(step: Step, num_parts: int, *shapes: tuple[int, ...]) -> Recurrence:
    """The recurrence of a step function, traced.

    Args:
        step: The function.
        num_parts: Number of parts of a state.
        *shapes: Shapes of the weights; the first is (width of the inputs, size of a state).

    Raises:
        Untraceable: If it cannot be traced.
    """
    (width, size), weights = shapes[0], [torch.empty(shape, device="cpu") for shape in shapes]
    named = {str(number): weight for number, weight in enumerate(weights)}

    def combine(states: Sequence[Any], x: Any) -> Sequence[Any]:
        return step([part.squeeze(1) for part in states], x, *weights)

    sizes = (weights[0].dtype, [width], size, num_parts)
    traced = trace(combine, named, *sizes, children=True, num_slots=1)
    return Recurrence(size, num_parts, 1, traced, given_states(size, num_parts), None)


def chain_states(
    recurrence: Recurrence,
    chains: Chains,
    inputs: Tensor,
    weights: Sequence[Tensor],
    input_rows: Tensor | None = None,
    start: Sequence[Tensor] | None = None,
) -> tuple[Tensor, ...]:
    """The states along chains, by compiled code.

    Args:
        recurrence: A :func:`chain_recurrence` for which
            :func:`~.backends.c.library.generated_library` has code.
        chains: The chains; all tensors are on the CPU.
        inputs: Inputs of the steps, or with ``input_rows`` any rows, (..., width).
        weights: Weights of the step, of the traced shapes.
        input_rows: (num_steps,) int64, the row in ``inputs`` of each step.
        start: Parts of the initial states, (num_chains, size); zeros by default.

    Returns:
        The parts of the states, (num_chains + num_steps, size), initial states first.
    """
    leaves = None
    if start is None:  # one shared row of zeros, which is multiplied once
        start = [inputs.new_zeros(1, recurrence.size)] * recurrence.num_parts
        leaves = torch.zeros(chains.num_chains, dtype=torch.int64, device="cpu")
    named = {str(number): weight for number, weight in enumerate(weights)}
    library, num_parts = generated_library(recurrence, inputs.dtype), recurrence.num_parts
    found = Found(recurrence, library, named, inputs.dtype)
    graph = chains.schedule, chains.slots
    plan, tensors = planned(found, *graph, start, leaves, (inputs,), input_rows, num_parts)
    return run_compiled(plan, tensors)
