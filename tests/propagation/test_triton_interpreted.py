"""Triton kernels on the CPU, by Triton's interpreter, against torch and DGL: values and gradients.

Triton decides at its import whether it interprets, so ``test_triton.py`` runs these tests in a
process of their own.
"""

from __future__ import annotations

import os
import random

import pytest
import test_fused
import torch
from compiled_cases import Compared, Draw
from fused_cases import COMPILED, Case, child_sum, dag, forest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from triton_cases import RULES, Problem

from graphsent import cells
from graphsent._dgl import dgl
from graphsent.cells.feats import IndexedFeat
from graphsent.propagation import (
    PropagationError,
    fused_edges,
    fused_slots,
    triton_edges,
    triton_launch,
    triton_slots,
)
from graphsent.propagation.compiled import SWITCH

pytestmark = [
    pytest.mark.skipif(
        os.environ.get("TRITON_INTERPRET") != "1", reason="test_triton.py runs it, with Triton"
    ),
    # The logistic function of a large negative number, by numpy.
    pytest.mark.filterwarnings("ignore:overflow encountered in exp:RuntimeWarning"),
]

# Of the largest number.
TOLERANCES = {torch.float64: 1e-10, torch.float32: 1e-5}
COUNTS = (1, 2, 3, 5)
each_rule = pytest.mark.parametrize("rule", RULES)


@pytest.fixture(autouse=True)
def on_cpu(monkeypatch):
    """Takes the CPU for a device with Triton, and without kernels in C."""
    monkeypatch.setattr(triton_launch, "DEVICE", "cpu")
    monkeypatch.setattr(fused_slots, "run_compiled_slots", lambda *_: None)
    monkeypatch.setattr(fused_edges, "run_compiled_edges", lambda *_: None)


def check(problem: Compared, monkeypatch, tolerance: float | None = None, **options) -> None:
    """Compares the kernels with torch."""
    ours = problem.outcome(**options)
    with monkeypatch.context() as context:
        context.setenv(SWITCH, "0")
        plain = problem.outcome(**options)
    assert "Triton" in type(ours[0].grad_fn).__name__
    assert "Triton" not in type(plain[0].grad_fn).__name__
    for got, expected in zip(ours, plain, strict=True):
        assert got.dtype == expected.dtype
        largest = max(float(expected.detach().abs().max()), 1e-30)
        difference = float((got - expected).detach().abs().max())
        assert difference <= (tolerance or TOLERANCES[problem.inputs.dtype]) * largest


@each_rule
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("size", [1, 3, 33, 150])
def test_sizes(rule, size, dtype, monkeypatch):
    check(Problem(rule, forest(random.Random(0), 9, 2), size, dtype=dtype), monkeypatch)


@each_rule
@pytest.mark.parametrize("one_row", [True, False])
@pytest.mark.parametrize("shared_leaves", [True, False])
def test_options(rule, one_row, shared_leaves, monkeypatch):
    for count in COUNTS:
        graph = dag(random.Random(count), 8, count)
        options = {"one_row": one_row, "shared_leaves": shared_leaves, "bias": not one_row}
        check(Problem(rule, graph, 5, count, **options), monkeypatch)


@each_rule
def test_nodes_with_several_successors(rule, monkeypatch):
    for seed in range(3):
        check(Problem(rule, dag(random.Random(seed), 12, 2), 7), monkeypatch)


@given(st.sampled_from(sorted(RULES)), st.booleans(), st.integers(0, 1 << 16), st.integers(2, 12))
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_graph(monkeypatch, rule, is_forest, seed, num_nodes):
    graph = (forest if is_forest else dag)(random.Random(seed), num_nodes, 2)
    if graph.num_edges():
        check(Problem(rule, graph, 3), monkeypatch)


@each_rule
def test_levels_of_one_node(rule, monkeypatch):
    graph = dgl.graph((torch.arange(8), torch.arange(1, 9)))
    graph.edata["child_index"] = torch.arange(8) % 2
    check(Problem(rule, graph, 4), monkeypatch)


@each_rule
def test_a_wide_level(rule, monkeypatch):
    """More nodes than columns, and a root that sees all where it can."""
    count = 30 if "child-sum" in rule else 3
    nodes = torch.arange(30)
    graph = dgl.graph((nodes, 30 + nodes // count))
    graph.edata["child_index"] = nodes % count
    check(Problem(rule, graph, 4, min(count, 3)), monkeypatch)


@each_rule
def test_gradients_of_one_part(rule, monkeypatch):
    problem = Problem(rule, dag(random.Random(1), 8, 2))
    for part in range(2):
        check(problem, monkeypatch, parts=(part,))


@each_rule
def test_any_strides(rule, monkeypatch):
    problem = Problem(rule, dag(random.Random(2), 8, 2), 5)
    for tensors in (problem.start, problem.weights):
        tensors[:] = [part.detach().t().contiguous().t().requires_grad_() for part in tensors]
    problem.inputs = problem.inputs.detach().repeat_interleave(2, 1)[:, ::2].requires_grad_()
    check(problem, monkeypatch)


@each_rule
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.bfloat16, 0.1), (torch.float16, 0.02)])
def test_narrower_types(rule, dtype, tolerance, monkeypatch):
    graph = forest(random.Random(3), 8, 2)
    check(Problem(rule, graph, 4, dtype=dtype), monkeypatch, tolerance)


@each_rule
def test_finite_differences(rule):
    problem = Problem(rule, dag(random.Random(6), 6, 2), 2)

    def function(*tensors):
        problem.start, problem.inputs = list(tensors[:2]), tensors[2]
        problem.weights = list(tensors[3:])
        return problem.run()

    assert torch.autograd.gradcheck(function, tuple(problem.tensors), fast_mode=True)


@each_rule
def test_a_rule_alone_has_no_gradients_of_gradients(rule):
    problem = Problem(rule, dag(random.Random(7), 6, 2))
    loss = problem.run()[0].square().sum()
    with pytest.raises(PropagationError, match="expected gradients of first order"):
        torch.autograd.grad(loss, problem.inputs, create_graph=True)


@each_rule
def test_the_same_numbers_every_time(rule):
    problem = Problem(rule, dag(random.Random(8), 8, 2))
    assert all(map(torch.equal, problem.outcome(), problem.outcome()))


@each_rule
def test_two_forward_passes_before_two_backward_passes(rule):
    problems = [Problem(rule, forest(random.Random(seed), 8, 2)) for seed in range(2)]
    expected = [problem.outcome() for problem in problems]
    several = [problem.run() for problem in problems]
    for problem, states, outcome in zip(problems, several, expected, strict=True):
        loss = sum((part * part.detach().cos()).sum() for part in states)
        for _ in range(2):
            again = torch.autograd.grad(loss, problem.tensors, retain_graph=True)
            assert all(map(torch.equal, again, outcome[2:]))


@each_rule
def test_values_without_a_limit(rule):
    problem = Problem(rule, forest(random.Random(4), 12, 2), 4, dtype=torch.float32)
    with torch.no_grad():
        problem.inputs[:, ::3] = 1e30
        problem.inputs[:, 1::3] = -torch.inf
        assert all(state.isfinite().all() for state in problem.run())
        problem.inputs[0] = torch.nan
        assert all(state.isnan().any() for state in problem.run())


@each_rule
def test_inference(rule):
    problem = Problem(rule, forest(random.Random(5), 8, 2))
    expected = problem.run()
    for mode in (torch.no_grad(), torch.inference_mode()):
        with mode:
            assert all(map(torch.equal, problem.run(), expected))


def test_the_first_use_may_be_inference(monkeypatch):
    monkeypatch.setattr(triton_launch, "_known", {})
    problem = Problem("N-ary", forest(random.Random(5), 8, 2))
    with torch.inference_mode():
        problem.run()
    assert set(triton_launch._known.values()) == {True}


def test_kernels_that_compute_something_else(monkeypatch, caplog):
    """They are not used: everything runs in torch."""

    def launch(kernel, *given, **constants):
        triton_launch.launch(kernel, *given, **constants)
        if kernel is triton_launch.kernels().nary:
            h = given[5]
            h += 1

    problem = Problem("N-ary", forest(random.Random(5), 8, 2))
    expected = problem.run()
    monkeypatch.setattr(triton_launch, "_known", {})
    monkeypatch.setattr(triton_slots, "launch", launch)
    for _ in range(2):
        states = problem.run()
        assert "Triton" not in type(states[0].grad_fn).__name__
        for got, wanted in zip(states, expected, strict=True):
            torch.testing.assert_close(got, wanted, rtol=1e-10, atol=1e-10)
    (record,) = caplog.records
    assert "something else than torch" in record.getMessage()


@each_rule
def test_tensors_that_do_not_fit(rule):
    """They are left to the other ways to run, which say so."""
    problem = Problem(rule, dag(random.Random(5), 12, 2), 4)
    problem.inputs = problem.inputs[:, :-1]
    with pytest.raises((RuntimeError, ValueError)):
        problem.run()


@each_rule
def test_subclasses_of_rules_run_in_torch(rule):
    problem = Problem(rule, dag(random.Random(9), 8, 2))

    class Other(type(problem.rule)):
        """It might do something else."""

    problem.rule.__class__ = Other
    assert "Triton" not in type(problem.run()[0].grad_fn).__name__


CASES = [
    *COMPILED,
    Case("child-sum", cells.ChildSumTreeLSTM, child_sum, 4),
    Case("child-sum ungated", cells.ChildSumTreeLSTM, child_sum, 4, {"gate_output": False}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cells_against_dgl(case, monkeypatch):
    launched = []

    def launch(kernel, *given, **constants):
        launched.append(kernel)
        triton_launch.launch(kernel, *given, **constants)

    for module in (triton_slots, triton_edges):
        monkeypatch.setattr(module, "launch", launch)
    rng = random.Random(0)
    for num_nodes in (1, 2, 10):
        graph = forest(rng, num_nodes, case.max_degree, case.slot_name)
        test_fused.check(case, graph)
        assert bool(launched) == bool(graph.num_edges())
        launched.clear()
    test_fused.check(case, dag(rng, 8, case.max_degree, case.slot_name))
    test_fused.test_no_edges_at_all(case, 3)


@pytest.mark.parametrize("cell", [cells.NaryTreeLSTM, cells.ChildSumTreeLSTM])
@pytest.mark.parametrize("with_initial_state", [False, True])
def test_words_and_initial_states(cell, with_initial_state, monkeypatch):
    """Nodes that share rows of the inputs, and those that have none; states before the leaves."""
    graph = forest(random.Random(0), 16, 2)
    cell = cell(3, 4).double()
    draw = Draw(torch.float64)
    rows, initial = draw(5, 3), [draw(16, 4) for _ in range(2 * with_initial_state)]
    feat = IndexedFeat(rows, torch.arange(16) % 7 - 1)
    feat.index[feat.index == 5] = -1
    outcomes = []
    for switch in ("1", "0"):
        monkeypatch.setenv(SWITCH, switch)
        h, c = cell(graph, feat, initial or None, return_cell=True, engine="levels")
        total = (h * h.detach().cos()).sum() + c.sum()
        gradients = torch.autograd.grad(total, [rows, *initial, *cell.parameters()])
        outcomes.append((h, c, *gradients))
    for got, expected in zip(*outcomes, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-10, atol=1e-10)
