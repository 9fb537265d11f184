"""Rules that fit the shapes of others, but are none that the compiled walks know."""

from __future__ import annotations

import random

import pytest
import torch
from fused_cases import forest

from graphsent.kernels.library import SWITCH
from graphsent.propagation.fused_recursive import Squash
from graphsent.propagation.fused_slots import run_slots
from graphsent.propagation.schedule.schedule import schedule_of
from graphsent.propagation.schedule.slots import make_slots

SIZE = 5


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
