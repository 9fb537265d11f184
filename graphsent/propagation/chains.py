"""Sequences as chains of nodes: the schedule, and states of recurrences along them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from graphsent.propagation.backends.c.library import generated_library
from graphsent.propagation.backends.c.plan import Inputs, Start
from graphsent.propagation.backends.c.walk import run_recurrence
from graphsent.propagation.recurrence.recurrence import Recurrence, trace
from graphsent.propagation.schedule.schedule import Schedule
from graphsent.propagation.schedule.slots import Slots


class Chains(NamedTuple):
    """Sequences from the longest to the shortest, without a graph.

    The first level are the states before the sequences, the others are their steps: nodes are in
    the order of a packed sequence, the first steps of all of them, then the second ones.

    Attributes:
        schedule: of all nodes, which are numbered by position.
        slots: one a node, its predecessor.
        lengths: (num_chains,) int64, descending.
        ends: (num_steps,) int64, how many steps of all sequences there are up to each one.
    """

    schedule: Schedule
    slots: Slots
    lengths: np.ndarray
    ends: np.ndarray

    @property
    def num_chains(self) -> int:
        """How many sequences there are."""
        return len(self.lengths)

    def node(self, chain: np.ndarray, step: np.ndarray) -> np.ndarray:
        """The number of some steps of chains among all steps."""
        return np.append(0, self.ends)[step] + chain

    def last(self) -> np.ndarray:
        """(num_chains,) The last step of each chain."""
        return self.node(np.arange(self.num_chains), self.lengths - 1)

    def steps(self) -> tuple[np.ndarray, np.ndarray]:
        """The chain of each step, and its number in the chain, from 0."""
        sizes = np.diff(self.ends, prepend=0)
        step = np.repeat(np.arange(len(sizes)), sizes)
        return np.arange(len(step)) - np.repeat(self.ends - sizes, sizes), step

    def turned(self) -> np.ndarray:
        """For each step that which is as far from the other end of its chain."""
        chain, step = self.steps()
        return self.node(chain, self.lengths[chain] - 1 - step)


def make_chains(sizes: np.ndarray) -> Chains:
    """Chains by how many have a first step, a second one, and so on.

    Args:
        sizes: (num_steps,) int64, descending, at least 1; the ``batch_sizes`` of a packed sequence.
    """
    num_chains, ends = int(sizes[0]), np.cumsum(sizes)
    num_steps = int(ends[-1])
    nodes = np.arange(num_chains + num_steps)
    # A step comes as many nodes after the one before as the latter's level has.
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
"""The state after a step, from the state before it, the input of the step and the weights.

Parts of states are (num_chains, size), inputs (num_chains, width)."""


@functools.cache
def chain_recurrence(step: Step, num_parts: int, *shapes: tuple[int, ...]) -> Recurrence:
    """The recurrence of a function of states, inputs and weights.

    Args:
        step: the function.
        num_parts: parts of a state.
        *shapes: of the weights; the first one's are the width of the inputs and the size of a
            state.

    Raises:
        Untraceable: if there is something in it that has no expression.
    """
    (width, size), weights = shapes[0], [torch.empty(shape, device="cpu") for shape in shapes]
    named = {str(number): weight for number, weight in enumerate(weights)}

    def combine(states: Sequence[Any], x: Any) -> Sequence[Any]:
        return step([part.squeeze(1) for part in states], x, *weights)

    def start(x: Any) -> list[Any]:  # nobody asks for it: there are states before all chains
        return [torch.zeros_like(x[:, :size])] * num_parts

    sizes = ([width], size, num_parts)
    traced = trace(combine, named, *sizes, children=True, num_slots=1)
    zeros = trace(start, named, *sizes, children=False)
    return Recurrence(size, num_parts, 1, traced, zeros, (width,), None, ((0, width),))


def chain_states(
    recurrence: Recurrence,
    chains: Chains,
    inputs: Tensor,
    weights: Sequence[Tensor],
    input_rows: Tensor | None = None,
    start: Sequence[Tensor] | None = None,
) -> tuple[Tensor, ...]:
    """The states along chains, in compiled code.

    Args:
        recurrence: see :func:`chain_recurrence`; :func:`~.backends.c.library.generated_library`
            has code for it.
        chains: on the CPU, as all tensors.
        inputs: of the steps, or with ``input_rows`` any rows, (..., width).
        weights: as many as the recurrence was made for.
        input_rows: (num_steps,) int64, the row of the inputs of each step.
        start: parts of the states before each chain, (num_chains, size); zeros by default.

    Returns:
        The parts of the states, (num_chains + num_steps, size), those before the chains first.
    """
    leaves = None
    if start is None:  # one row of zeros, which is multiplied once
        start = [inputs.new_zeros(1, recurrence.size)] * recurrence.num_parts
        leaves = torch.zeros(chains.num_chains, dtype=torch.int64, device="cpu")
    return run_recurrence(
        recurrence,
        generated_library(recurrence, inputs.dtype),
        chains.schedule,
        chains.slots,
        Start(start, True, 0, leaves),
        Inputs((inputs,), input_rows),
        {str(number): weight for number, weight in enumerate(weights)},
        None,
    )
