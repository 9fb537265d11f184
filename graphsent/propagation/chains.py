"""Sequences as chains of nodes: the schedule, and states of LSTMs and GRUs along them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from graphsent.propagation.fused_gru import SequenceGRU
from graphsent.propagation.fused_lstm import SequenceLSTM
from graphsent.propagation.fused_slots import run_slots
from graphsent.propagation.schedule.schedule import Bounds, Schedule
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
    sent_to = np.full(len(nodes), num_steps)
    sent_to[source] = nodes[:num_steps]
    edges = nodes[:num_steps], source, nodes[num_chains:]
    packed = torch.from_numpy(np.concatenate((nodes, nodes, *edges, sent_to)))
    degrees = np.ones(len(nodes), np.int64)
    degrees[:num_chains] = 0
    bounds = Bounds(num_chains + np.append(0, ends), degrees)
    schedule = Schedule(bounds, packed, num_steps, single_successor=True)
    lengths = np.searchsorted(-sizes, -nodes[:num_chains])
    return Chains(schedule, Slots(1, schedule.source, schedule.sent_to), lengths, ends)


def lstm_states(
    chains: Chains,
    inputs: Tensor,
    weight: Tensor,
    input_rows: Tensor | None = None,
    start: Sequence[Tensor] | None = None,
) -> tuple[Tensor, ...]:
    r"""States of ``torch.nn.LSTM`` along chains.

    .. math::
        c = \sigma(f) * c_{t-1} + \sigma(i) * \tanh(g), \qquad h = \sigma(o) * \tanh(c)

    with the sums i, f, g, o of the inputs and of :math:`W h_{t-1}`.

    Args:
        chains: on the CPU, as all tensors.
        inputs: i, f, g, o of the steps, or with ``input_rows`` any rows, (..., 4 * size).
        weight: W, (4 * size, size).
        input_rows: (num_steps,) int64, the row of the inputs of each step.
        start: h and c before each chain, (num_chains, size); zeros by default.

    Returns:
        h and c, (num_chains + num_steps, size), those before the chains first.
    """
    size = weight.shape[1]
    return _run(_rule(SequenceLSTM, size), chains, inputs, weight, None, input_rows, start)


def gru_states(
    chains: Chains,
    inputs: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    input_rows: Tensor | None = None,
    start: Sequence[Tensor] | None = None,
) -> tuple[Tensor, ...]:
    r"""States of ``torch.nn.GRU`` along chains.

    .. math::
        n = \tanh(x_n + \sigma(r) * (W_n h_{t-1} + b_n)), \qquad
        h = (1 - \sigma(z)) * n + \sigma(z) * h_{t-1}

    with the sums r, z of the inputs and of :math:`W h_{t-1} + b`.

    Args:
        chains: on the CPU, as all tensors.
        inputs: r, z, n of the steps, or with ``input_rows`` any rows, (..., 3 * size).
        weight: W, (3 * size, size).
        bias: b, (3 * size,).
        input_rows: (num_steps,) int64, the row of the inputs of each step.
        start: h before each chain, alone in a sequence, (num_chains, size); zeros by default.

    Returns:
        h alone, (num_chains + num_steps, size), those before the chains first.
    """
    size = weight.shape[1]
    if bias is not None:
        bias = torch.nn.functional.pad(bias, (0, size))
    return _run(_rule(SequenceGRU, size), chains, inputs, weight, bias, input_rows, start)


_rule = functools.cache(lambda kind, size: kind(size))


def _run(
    rule: SequenceLSTM | SequenceGRU,
    chains: Chains,
    inputs: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    input_rows: Tensor | None,
    start: Sequence[Tensor] | None,
) -> tuple[Tensor, ...]:
    leaves = None
    if start is None:  # one row of zeros, which is multiplied once
        start = [inputs.new_zeros(1, rule.size)] * rule.num_parts
        leaves = torch.zeros(chains.num_chains, dtype=torch.int64)
    problem = (rule, chains.schedule, chains.slots, start, inputs, [weight], bias, leaves)
    return run_slots(*problem, input_rows)
