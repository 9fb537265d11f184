"""First states that the compiled walks make themselves, against those in torch."""

from __future__ import annotations

import random
from itertools import product

import pytest
import test_compiled_slots
import torch
from compiled_cases import (
    TOLERANCES,
    check,
    check_states_without_gradients,
    check_threads,
    inputs_for,
    sums_for,
)
from fused_cases import dag, forest

from graphsent.kernels.library import kernels_in_use

pytestmark = pytest.mark.skipif(not kernels_in_use(torch.float64), reason="there is no C compiler")

WALKS = {"slots": test_compiled_slots}
each_rule = pytest.mark.parametrize(
    ("walk", "rule"), [(walk, rule) for walk, cases in WALKS.items() for rule in cases.WITH_MEMORY]
)
each_kind = pytest.mark.parametrize("gate_output", [True, False])
shared_or_not = pytest.mark.parametrize("shared_leaves", [True, False])


def problem_of(walk, rule, graph, size=7, *, gate_output=True, in_feats=None, **options):
    """A problem whose start is made of sums or, with ``in_feats``, of inputs."""
    problem = WALKS[walk].Problem(rule, graph, size, **options)
    problem.start_gate_output = gate_output
    if in_feats is None:
        problem.start = sums_for(problem.start, gate_output)
    else:
        problem.start = inputs_for(problem.start, gate_output, in_feats)
    return problem


def small_dag(walk, rule, num_nodes=60):
    return dag(random.Random(4), num_nodes, WALKS[walk].slots_of(rule))


@each_rule
@each_kind
@shared_or_not
def test_sums(walk, rule, gate_output, shared_leaves, monkeypatch):
    options = {"gate_output": gate_output, "shared_leaves": shared_leaves}
    problem = problem_of(walk, rule, small_dag(walk, rule), **options)
    check(problem, monkeypatch)
    check_threads(problem, 2)
    states = problem.run()
    with torch.no_grad():
        assert all(map(torch.equal, problem.run(), states))
    problem.start = [problem.start[0].detach()]
    (gradient,) = torch.autograd.grad(states[0].sum(), problem.inputs)
    (found,) = torch.autograd.grad(problem.run()[0].sum(), problem.inputs)
    assert torch.equal(found, gradient)


@each_rule
def test_sums_by_threads_without_gradients(walk, rule):
    """Fewer rows to start with than threads would be started for."""
    graph = forest(random.Random(4), 1500, WALKS[walk].slots_of(rule))
    problem = problem_of(walk, rule, graph, shared_leaves=True)
    problem.leaves, problem.start = problem.leaves % 3, [problem.start[0].detach()[:3]]
    check_states_without_gradients(problem, 4)


@each_rule
def test_sums_of_another_width(walk, rule):
    problem = problem_of(walk, rule, small_dag(walk, rule, 20), 6)
    problem.start_gate_output = False
    with pytest.raises(ValueError, match=r"expected a tensor of shape \(\d+, 12\), got"):
        problem.run()


@each_rule
@each_kind
@shared_or_not
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize(("size", "in_feats"), [(7, 1), (1, 9), (8, 33), (20, 400)])
def test_inputs(walk, rule, gate_output, shared_leaves, dtype, size, in_feats, monkeypatch):
    options = {"gate_output": gate_output, "shared_leaves": shared_leaves, "dtype": dtype}
    problem = problem_of(walk, rule, small_dag(walk, rule, 600), size, in_feats=in_feats, **options)
    check(problem, monkeypatch)
    if dtype == torch.float64:
        check_threads(problem, 2)
        check_states_without_gradients(problem, 3)


@each_rule
@pytest.mark.parametrize("needed", list(product([True, False], repeat=3)), ids=str)
def test_gradients_of_some_of_the_inputs(walk, rule, needed):
    problem = problem_of(walk, rule, small_dag(walk, rule), in_feats=5)
    before, expected = problem.start, problem.outcome()
    problem.start = [
        part if need else part.detach() for part, need in zip(before, needed, strict=True)
    ]
    loss = sum((state * state.detach().cos()).sum() for state in problem.run())
    wanted = [part for part in problem.tensors if part.requires_grad]
    assert len(wanted) == len(problem.tensors) - needed.count(False)
    found = iter(torch.autograd.grad(loss, wanted))
    gradients = expected[problem.rule.num_parts :]
    for part, gradient in zip(problem.tensors, gradients, strict=True):
        if part.requires_grad:
            torch.testing.assert_close(next(found), gradient, rtol=1e-12, atol=1e-12)


@each_rule
@pytest.mark.parametrize("number", range(3))
def test_inputs_that_do_not_fit(walk, rule, number):
    problem = problem_of(walk, rule, small_dag(walk, rule, 20), 6, in_feats=4)
    problem.start[number] = problem.start[number].detach()[:-6]  # five outputs are not needed
    with pytest.raises(ValueError, match="expected a tensor of shape"):
        problem.run()
