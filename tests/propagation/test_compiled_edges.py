"""The compiled walk over edges against the one in torch: values and gradients."""

from __future__ import annotations

import random

import pytest
import torch
from compiled_cases import (
    TOLERANCES,
    Compared,
    Draw,
    check,
    check_threads,
    start_of,
)
from fused_cases import dag, forest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphsent._dgl import dgl
from graphsent.kernels.library import kernels_in_use
from graphsent.propagation import PropagationError
from graphsent.propagation.fused_attention import AttentiveGRU, AttentiveLSTM
from graphsent.propagation.fused_edges import run_edges
from graphsent.propagation.fused_gru import ChildSumGRU
from graphsent.propagation.fused_lstm import ChildSumLSTM
from graphsent.propagation.schedule.schedule import schedule_of

pytestmark = pytest.mark.skipif(not kernels_in_use(torch.float64), reason="there is no C compiler")

RULES = {
    "child-sum LSTM": ChildSumLSTM,
    "ungated LSTM": lambda size: ChildSumLSTM(size, gate_output=False),
    "child-sum GRU": ChildSumGRU,
    "attentive LSTM": AttentiveLSTM,
    "attentive ungated LSTM": lambda size: AttentiveLSTM(size, gate_output=False),
    "attentive GRU": AttentiveGRU,
}


def slots_of(rule: str) -> int:
    """How many predecessors a node has at most in tests of both walks."""
    return 2


each_rule = pytest.mark.parametrize("rule", RULES)


class Problem(Compared):
    """A rule, a schedule and tensors that need gradients."""

    def __init__(
        self,
        rule: str,
        graph: dgl.DGLGraph,
        size: int = 6,
        *,
        one_row: bool = False,
        shared_leaves: bool = False,
        shared_inputs: bool = False,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        draw = Draw(dtype)
        self.rule, self.schedule = RULES[rule](size), schedule_of(graph)
        first = self.schedule.num_sources
        num_inner, num_rows, self.leaves = self.schedule.num_nodes - first, first, None
        if shared_leaves:
            num_rows = max(first // 2, 1)
            self.leaves = torch.randint(num_rows, (first,), generator=draw.generator)
        blocks = 1 + max(block.inputs for block in (*self.rule.edge_order, *self.rule.order))
        self.start = [draw(num_rows, size) for _ in range(self.rule.num_parts)]
        self.start_gate_output, self.num_results = None, None
        self.inputs = draw(blocks * size) if one_row else draw(num_inner, blocks * size)
        self.input_rows = None
        if shared_inputs:
            self.input_rows = torch.randint(7, (num_inner,), generator=draw.generator)
            self.inputs = draw(7, blocks * size)
        heights = [len(self.rule.edge_order), *(len(p.gates) for p in self.rule.products)]
        self.weights = [draw(height * size, size) for height in heights]
        with torch.no_grad():
            for weight in self.weights:
                weight /= size**0.5
        self.vectors = [draw(size)] if len(self.rule.edge_order) > 1 else []

    @property
    def tensors(self) -> list[torch.Tensor]:
        return [*self.start, self.inputs, *self.weights, *self.vectors]

    def run(self):
        first, *others = self.weights
        maps = (self.inputs, first, others, self.vectors)
        start = self.start
        if self.start_gate_output is not None:
            start = start_of(self.start, self.start_gate_output, self.rule.size)
        rows = (self.leaves, self.input_rows)
        return run_edges(self.rule, self.schedule, start, *maps, *rows, self.num_results)


def star(width: int) -> dgl.DGLGraph:
    """Two levels of stars: one node with many predecessors, one of them with as many."""
    sources = torch.arange(1, 2 * width + 1)
    return dgl.graph((sources, (sources > width).long()))


@each_rule
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("size", [1, 3, 8, 33])
def test_sizes(rule, size, dtype, monkeypatch):
    for number, make in enumerate((forest, dag)):
        graph = make(random.Random(number), 40, 4)
        check(Problem(rule, graph, size, dtype=dtype), monkeypatch)


@each_rule
@pytest.mark.parametrize("one_row", [True, False])
@pytest.mark.parametrize("shared_leaves", [True, False])
def test_options(rule, one_row, shared_leaves, monkeypatch):
    graph = dag(random.Random(2), 30, 5)
    check(Problem(rule, graph, one_row=one_row, shared_leaves=shared_leaves), monkeypatch)


@each_rule
@pytest.mark.parametrize("size", [3, 8, 33])
def test_shared_inputs(rule, size, monkeypatch):
    problem = Problem(rule, dag(random.Random(4), 60, 5), size, shared_inputs=True)
    check(problem, monkeypatch)
    check_threads(problem, 2)


WITH_MEMORY = [name for name in RULES if "LSTM" in name]


@each_rule
def test_results_by_node(rule, monkeypatch):
    problem = Problem(rule, dag(random.Random(5), 60, 4), shared_leaves=True)
    states, position = problem.run(), problem.schedule.position
    for num_results in range(1, problem.rule.num_parts + 1):
        problem.num_results = num_results
        check(problem, monkeypatch)
        check_threads(problem, 2)
        by_node = [part[position] for part in states[:num_results]]
        assert all(map(torch.equal, problem.run(), by_node))


@each_rule
def test_many_nodes_a_level(rule, monkeypatch):
    """Levels of more edges than are handled at once."""
    graph = forest(random.Random(0), 1500, 3)
    check(Problem(rule, graph, 40, shared_leaves=True), monkeypatch)


@each_rule
def test_many_edges_a_node(rule, monkeypatch):
    """More edges to one node than are handled at once."""
    check(Problem(rule, star(3000), 32, shared_leaves=True), monkeypatch)


@given(
    st.sampled_from(sorted(RULES)),
    st.integers(0, 1 << 16),
    st.integers(2, 40),
    st.integers(1, 6),
    st.integers(1, 20),
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_graph(monkeypatch, rule, seed, num_nodes, max_degree, size):
    graph = dag(random.Random(seed), num_nodes, max_degree)
    if graph.num_edges():
        check(Problem(rule, graph, size), monkeypatch)


@each_rule
def test_gradients_of_one_part(rule, monkeypatch):
    problem = Problem(rule, dag(random.Random(1), 30, 3))
    for part in range(problem.rule.num_parts):
        check(problem, monkeypatch, parts=(part,))


@each_rule
def test_finite_differences(rule):
    problem = Problem(rule, dag(random.Random(6), 8, 3), 3)
    size, heights = len(problem.start), len(problem.weights)

    def function(*tensors):
        problem.start, problem.inputs = list(tensors[:size]), tensors[size]
        problem.weights = list(tensors[size + 1 : size + 1 + heights])
        problem.vectors = list(tensors[size + 1 + heights :])
        return problem.run()

    assert torch.autograd.gradcheck(function, tuple(problem.tensors), fast_mode=True)


@each_rule
def test_a_rule_alone_has_no_gradients_of_gradients(rule):
    problem = Problem(rule, dag(random.Random(7), 8, 3))
    loss = problem.run()[0].square().sum()
    with pytest.raises(PropagationError, match="expected gradients of first order"):
        torch.autograd.grad(loss, problem.inputs, create_graph=True)


@each_rule
@pytest.mark.parametrize("num_threads", [2, 3])
def test_threads(rule, num_threads):
    """As many threads give the same numbers each time, other ones the same but for rounding."""
    problem = Problem(rule, dag(random.Random(3), 300, 4), 20, shared_leaves=True)
    check_threads(problem, num_threads)


@each_rule
def test_any_strides(rule, monkeypatch):
    problem = Problem(rule, dag(random.Random(2), 30, 3))
    for tensors in (problem.start, problem.weights):
        tensors[:] = [t.detach().t().contiguous().t().requires_grad_() for t in tensors]
    problem.inputs = problem.inputs.detach().repeat_interleave(2, 1)[:, ::2].requires_grad_()
    problem.vectors = [v.detach().repeat(2)[::2].requires_grad_() for v in problem.vectors]
    assert not problem.inputs.is_contiguous()
    check(problem, monkeypatch)


@each_rule
def test_values_without_a_limit(rule):
    """Sums of any size, infinite ones and NaN."""
    problem = Problem(rule, forest(random.Random(4), 40, 3), 4, dtype=torch.float32)
    with torch.no_grad():
        problem.inputs[:, ::3] = 1e30
        problem.inputs[:, 1::3] = -torch.inf
        assert all(state.isfinite().all() for state in problem.run())
        problem.inputs[0, :] = torch.nan
        h = problem.run()[0]
        assert h.isnan().any()
        assert not h.isnan().all()


def test_scores_far_apart(monkeypatch):
    """The softmax neither overflows nor loses what is small beside the largest."""
    problem = Problem("attentive LSTM", star(5), 4)
    with torch.no_grad():
        problem.vectors[0].mul_(1000)
    check(problem, monkeypatch)


def test_tensors_that_do_not_fit():
    problem = Problem("attentive LSTM", star(3), 4)
    problem.weights[1] = problem.weights[1][:-1]
    with pytest.raises(ValueError, match=r"expected a tensor of shape \(12, 4\), got \(11, 4\)"):
        problem.run()


@each_rule
def test_subclasses_of_rules_run_in_torch(rule):
    problem = Problem(rule, star(3))

    class Other(type(problem.rule)):
        """It might do something else."""

    problem.rule.__class__ = Other
    assert "Compiled" not in type(problem.run()[0].grad_fn).__name__


@each_rule
def test_inference(rule):
    problem = Problem(rule, forest(random.Random(5), 40, 3))
    expected = problem.run()
    for mode in (torch.no_grad(), torch.inference_mode()):
        with mode:
            states = problem.run()
        assert all(map(torch.equal, states, expected))
        assert not any(state.requires_grad for state in states)
