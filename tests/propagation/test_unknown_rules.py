"""Rules that fit the shapes of others, but are none that the compiled walks know."""

from __future__ import annotations

import random

import pytest
import torch
from fused_cases import dag, forest

from graphsent.kernels.library import SWITCH
from graphsent.propagation.fused_edges import run_edges
from graphsent.propagation.fused_gru import ChildSumGRU
from graphsent.propagation.fused_recursive import Squash
from graphsent.propagation.fused_slots import run_slots
from graphsent.propagation.schedule.schedule import schedule_of
from graphsent.propagation.schedule.slots import make_slots

SIZE = 5


class Doubled(ChildSumGRU):
    """Twice the states of a GRU."""

    compiled = "doubled gru"

    def update(self, nodes, states):
        super().update(nodes, states)
        states[0].mul_(2)

    def update_backward(self, nodes, gradients, into):
        super().update_backward(nodes, [gradients[0] * 2], into)


class Unknown(Squash):
    """Twice the states of the plain recursive cell."""

    compiled = "doubled squash"

    def forward(self, level, states):
        super().forward(level, states)
        states[0].mul_(2)

    def backward(self, level, gradients, into):
        super().backward(level, [gradients[0] * 2], into)


def numbers(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def both_ways(run, monkeypatch):
    found = []
    for kernels in ("1", "0"):
        monkeypatch.setenv(SWITCH, kernels)
        (h,) = run()
        assert "Compiled" not in type(h.grad_fn).__name__
        found.append(h)
    assert torch.equal(*found)
    return found[0]


@pytest.mark.parametrize("statement", [True, "doubled gru"])
def test_over_edges(statement, monkeypatch):
    monkeypatch.setattr(Doubled, "compiled", statement)
    schedule = schedule_of(dag(random.Random(0), 20, 3, None))
    first = schedule.num_sources
    start, inputs = numbers(first, SIZE), numbers(20 - first, 3 * SIZE)
    weights = [numbers(SIZE, SIZE) for _ in range(3)]

    def run(rule):
        return run_edges(rule, schedule, (start,), inputs, weights[0], weights[1:])

    h = both_ways(lambda: run(Doubled(SIZE)), monkeypatch)
    inner = slice(first, int(schedule.bounds.ends[1]))
    torch.testing.assert_close(h[inner], 2 * run(ChildSumGRU(SIZE))[0][inner])


@pytest.mark.parametrize("statement", [True, "doubled squash"])
def test_over_slots(statement, monkeypatch):
    monkeypatch.setattr(Unknown, "compiled", statement)
    graph = forest(random.Random(0), 20, 2)
    schedule = schedule_of(graph)
    slots, first = make_slots(schedule, 2, graph.edata["child_index"]), schedule.num_sources
    start, inputs, weight = numbers(first, SIZE), numbers(20 - first, SIZE), numbers(SIZE, 2 * SIZE)

    def run(rule):
        return run_slots(rule, schedule, slots, (start,), inputs, [weight])

    h = both_ways(lambda: run(Unknown(SIZE)), monkeypatch)
    inner = slice(first, int(schedule.bounds.ends[1]))
    torch.testing.assert_close(h[inner], 2 * run(Squash(SIZE))[0][inner])
