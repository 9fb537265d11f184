"""The compiled walk over slots against the one in torch: values and gradients."""

from __future__ import annotations

import random
from functools import partial

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
from graphsent.propagation.fused_lstm import NaryLSTM
from graphsent.propagation.fused_peephole import PeepholeLSTM
from graphsent.propagation.fused_recursive import Mixture, Squash
from graphsent.propagation.fused_slots import run_slots
from graphsent.propagation.fused_treenet import Composition
from graphsent.propagation.schedule.schedule import schedule_of
from graphsent.propagation.schedule.slots import make_slots

pytestmark = pytest.mark.skipif(not kernels_in_use(torch.float64), reason="there is no C compiler")

# The rules by size and number of slots, and the numbers of slots that they take.
RULES = {
    "N-ary": (NaryLSTM, (1, 2, 3, 5)),
    "N-ary, inputs of each f": (partial(NaryLSTM, shared_forget=False), (1, 2, 3, 5)),
    "N-ary ungated": (partial(NaryLSTM, gate_output=False), (1, 2, 3, 5)),
    "peephole": (PeepholeLSTM, (1, 2, 3)),
    "peephole, inputs of each f": (partial(PeepholeLSTM, shared_forget=False), (1, 2, 3)),
    "peephole, one f": (lambda size, count: PeepholeLSTM(size, 1), (1, 2, 3)),
    "squash": (lambda size, count: Squash(size), (1, 2, 3)),
    "composition": (lambda size, count: Composition(size), (2,)),
    "mixture": (lambda size, count: Mixture(size), (2,)),
}


def slots_of(rule: str) -> int:
    """Two slots, if the rule takes so many."""
    return min(2, RULES[rule][1][-1])


each_rule = pytest.mark.parametrize("rule", RULES)
each_count = pytest.mark.parametrize(
    ("rule", "count"), [(name, count) for name, (_, counts) in RULES.items() for count in counts]
)


class Problem(Compared):
    """A rule, a schedule and tensors that need gradients."""

    def __init__(
        self,
        rule: str,
        graph: dgl.DGLGraph,
        size: int = 6,
        count: int | None = None,
        *,
        one_row: bool = False,
        shared_leaves: bool = False,
        shared_inputs: bool = False,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        draw, count = Draw(dtype), count or slots_of(rule)
        self.rule = RULES[rule][0](size, count)
        self.schedule = schedule_of(graph)
        self.slots = make_slots(self.schedule, count, graph.edata["child_index"])
        first = self.schedule.num_sources
        num_inner, num_rows, self.leaves = self.schedule.num_nodes - first, first, None
        if shared_leaves:
            num_rows = max(first // 2, 1)
            self.leaves = torch.randint(num_rows, (first,), generator=draw.generator)
        blocks = len({block.inputs for block in self.rule.order} - {None})
        self.start = [draw(num_rows, size) for _ in range(self.rule.num_parts)]
        self.start_gate_output, self.num_results = None, None
        self.input_rows = None
        if shared_inputs:
            self.input_rows = torch.randint(7, (num_inner,), generator=draw.generator)
        num_inputs = 7 if shared_inputs else num_inner
        self.inputs = draw(blocks * size) if one_row else draw(num_inputs, blocks * size)
        self.weights = [draw(len(p.gates) * size, count * size) for p in self.rule.products]
        if self.rule.late is not None:
            self.weights.append(draw(size, size))
        self.bias = draw(len(self.rule.order) * size)
        with torch.no_grad():
            for weight in self.weights:
                weight /= size**0.5

    @property
    def tensors(self) -> list[torch.Tensor]:
        return [*self.start, self.inputs, *self.weights, self.bias]

    def run(self):
        start = self.start
        if self.start_gate_output is not None:
            start = start_of(self.start, self.start_gate_output, self.rule.size)
        return run_slots(
            *(self.rule, self.schedule, self.slots, start, self.inputs, self.weights),
            *(self.bias, self.leaves, self.input_rows, self.num_results),
        )


def single_file(num_nodes: int, slots: tuple[int, ...]) -> dgl.DGLGraph:
    """Random trees of nodes with one predecessor or none, in some of two slots."""
    rng = random.Random(0)
    nodes = [node for node in range(num_nodes) if node % 50]
    graph = dgl.graph(([rng.randrange(node) for node in nodes], nodes), num_nodes=num_nodes)
    graph.edata["child_index"] = torch.tensor([rng.choice(slots) for _ in nodes])
    return graph


@each_rule
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("size", [1, 3, 7, 8, 16, 33, 150])
def test_sizes(rule, size, dtype, monkeypatch):
    for number, make in enumerate((forest, dag)):
        graph = make(random.Random(number), 40, slots_of(rule))
        check(Problem(rule, graph, size, dtype=dtype), monkeypatch)


@each_count
@pytest.mark.parametrize("one_row", [True, False])
@pytest.mark.parametrize("shared_leaves", [True, False])
def test_options(rule, count, one_row, shared_leaves, monkeypatch):
    graph = dag(random.Random(count), 30, count)
    options = {"one_row": one_row, "shared_leaves": shared_leaves}
    check(Problem(rule, graph, 6, count, **options), monkeypatch)


@each_rule
@pytest.mark.parametrize("size", [6, 40])
def test_shared_inputs(rule, size, monkeypatch):
    graph = dag(random.Random(2), 100, slots_of(rule))
    check(Problem(rule, graph, size, shared_leaves=True, shared_inputs=True), monkeypatch)


@pytest.mark.parametrize(
    ("rule", "slots"),
    [
        (rule, slots)
        for rule in RULES
        for slots in ((0,), (1,), (0, 1))
        if max(slots) < slots_of(rule)
    ],
    ids=str,
)
@pytest.mark.parametrize("shared", [True, False])
def test_one_predecessor(rule, slots, shared, monkeypatch):
    """One slot a node at most has a state in it, all nodes the same slot or not."""
    options = {"shared_leaves": shared, "shared_inputs": shared}
    problem = Problem(rule, single_file(600, slots), 20, **options)
    check(problem, monkeypatch)
    check_threads(problem, 2)


WITH_MEMORY = [name for name, (make, counts) in RULES.items() if make(1, counts[-1]).num_parts > 1]


@each_rule
def test_results_by_node(rule, monkeypatch):
    problem = Problem(rule, dag(random.Random(5), 60, slots_of(rule)), shared_leaves=True)
    num_parts, position = problem.rule.num_parts, problem.schedule.position
    states, *gradients = problem.outcome(), problem.outcome(parts=(0,))
    problem.num_results = num_parts
    check(problem, monkeypatch)
    check_threads(problem, 2)
    for found, expected in zip(problem.outcome(), states, strict=True):
        by_node = expected[position] if expected.shape == states[0].shape else expected
        torch.testing.assert_close(found, by_node, rtol=1e-12, atol=1e-12)
    problem.num_results = 1
    check(problem, monkeypatch)
    h, *found = problem.outcome()
    assert torch.equal(h, states[0][position])
    for part, expected in zip(found, gradients[0][num_parts:], strict=True):
        torch.testing.assert_close(part, expected, rtol=1e-12, atol=1e-12)


@each_rule
def test_start_without_gradients(rule, monkeypatch):
    problem = Problem(rule, dag(random.Random(2), 60, slots_of(rule)), shared_leaves=True)
    expected = problem.outcome()
    first, num_states = len(problem.start), problem.rule.num_parts
    problem.start = [part.detach() for part in problem.start]
    monkeypatch.setattr(
        Problem, "tensors", property(lambda self: [self.inputs, *self.weights, self.bias])
    )
    found = problem.outcome()
    assert all(map(torch.equal, found, expected[:num_states] + expected[num_states + first :]))


@given(
    st.sampled_from(sorted(RULES)),
    st.integers(0, 1 << 16),
    st.integers(2, 40),
    st.integers(1, 20),
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_graph(monkeypatch, rule, seed, num_nodes, size):
    graph = dag(random.Random(seed), num_nodes, slots_of(rule))
    if graph.num_edges():
        check(Problem(rule, graph, size), monkeypatch)


@each_rule
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_many_nodes_a_level(rule, dtype, monkeypatch):
    """Levels of more rows than are handled at once, with weights that fill several panels."""
    graph = forest(random.Random(0), 1500, slots_of(rule))
    check(Problem(rule, graph, 40, dtype=dtype, shared_leaves=True), monkeypatch)


@each_rule
def test_gradients_of_one_part(rule, monkeypatch):
    problem = Problem(rule, dag(random.Random(1), 30, slots_of(rule)))
    for part in range(problem.rule.num_parts):
        check(problem, monkeypatch, parts=(part,))


@each_rule
def test_without_bias(rule, monkeypatch):
    problem = Problem(rule, dag(random.Random(8), 30, slots_of(rule)))
    zeros = torch.zeros_like(problem.bias)
    with torch.no_grad():
        problem.bias = zeros
        expected = problem.run()
        problem.bias = None
        assert all(map(torch.equal, problem.run(), expected))


@each_rule
def test_finite_differences(rule):
    problem = Problem(rule, dag(random.Random(6), 8, slots_of(rule)), 3)
    first = len(problem.start)

    def function(*tensors):
        problem.start, problem.inputs = list(tensors[:first]), tensors[first]
        problem.weights, problem.bias = list(tensors[first + 1 : -1]), tensors[-1]
        return problem.run()

    assert torch.autograd.gradcheck(function, tuple(problem.tensors), fast_mode=True)


@each_rule
def test_a_rule_alone_has_no_gradients_of_gradients(rule):
    problem = Problem(rule, dag(random.Random(7), 8, slots_of(rule)))
    loss = problem.run()[0].square().sum()
    with pytest.raises(PropagationError, match="expected gradients of first order"):
        torch.autograd.grad(loss, problem.inputs, create_graph=True)


@each_rule
def test_any_strides(rule, monkeypatch):
    problem = Problem(rule, dag(random.Random(2), 30, slots_of(rule)), 5)
    for tensors in (problem.start, problem.weights):
        tensors[:] = [t.detach().t().contiguous().t().requires_grad_() for t in tensors]
    problem.inputs = problem.inputs.detach().repeat_interleave(2, 1)[:, ::2].requires_grad_()
    problem.bias = problem.bias.detach().repeat_interleave(2)[::2].requires_grad_()
    assert not problem.inputs.is_contiguous()
    check(problem, monkeypatch)


@each_rule
def test_gradients_of_any_strides(rule):
    problem = Problem(rule, dag(random.Random(2), 30, slots_of(rule)), 5)
    h = problem.run()[0]
    (gradient,) = torch.autograd.grad(h.sum(), problem.inputs, retain_graph=True)  # of expanded 1
    (expected,) = torch.autograd.grad(h, problem.inputs, torch.ones_like(h))
    assert torch.equal(gradient, expected)


@each_rule
@pytest.mark.parametrize("num_threads", [2, 3])
def test_threads(rule, num_threads):
    """As many threads give the same numbers each time, other ones the same but for rounding."""
    problem = Problem(rule, dag(random.Random(3), 300, slots_of(rule)), 20, shared_leaves=True)
    check_threads(problem, num_threads)


@each_rule
def test_second_forward_pass_before_the_first_backward_pass(rule):
    problems = [
        Problem(rule, forest(random.Random(s), 400, slots_of(rule)), 16, shared_leaves=True)
        for s in range(2)
    ]
    expected = [problem.outcome() for problem in problems]
    several = [problem.run() for problem in problems]
    for problem, states, outcome in zip(problems, several, expected, strict=True):
        assert all(map(torch.equal, states, outcome[: len(states)]))
        loss = sum((part * part.detach().cos()).sum() for part in states)
        for _ in range(2):
            again = torch.autograd.grad(loss, problem.tensors, retain_graph=True)
            assert all(map(torch.equal, again, outcome[len(states) :]))


@each_rule
def test_values_without_a_limit(rule):
    """Sums of any size, infinite ones and NaN."""
    problem = Problem(rule, forest(random.Random(4), 40, slots_of(rule)), 4, dtype=torch.float32)
    with torch.no_grad():
        problem.inputs[:, ::3] = 1e30
        problem.inputs[:, 1::3] = -torch.inf
        assert all(state.isfinite().all() for state in problem.run())
        problem.inputs[0] = torch.nan
        states = problem.run()
        assert all(state.isnan().any() for state in states)
        assert not any(state.isnan().all() for state in states)


@pytest.mark.parametrize("changed", ["start", "inputs", "weights", "bias", "leaves", "input_rows"])
def test_tensors_that_do_not_fit(changed):
    shared = {"shared_leaves": True, "shared_inputs": True}
    problem = Problem("N-ary", dag(random.Random(5), 30, 2), 4, **shared)
    tensor = getattr(problem, changed)
    if isinstance(tensor, list):
        tensor[0] = tensor[0][:, :-1]
    else:
        setattr(problem, changed, tensor[..., :-1])
    with pytest.raises(ValueError, match="expected a tensor of shape"):
        problem.run()


@each_rule
def test_subclasses_of_rules_run_in_torch(rule):
    problem = Problem(rule, dag(random.Random(9), 8, slots_of(rule)))

    class Other(type(problem.rule)):
        """It might do something else."""

    problem.rule.__class__ = Other
    assert "Compiled" not in type(problem.run()[0].grad_fn).__name__


@each_rule
def test_inference(rule):
    problem = Problem(rule, forest(random.Random(5), 40, slots_of(rule)))
    expected = problem.run()
    for mode in (torch.no_grad(), torch.inference_mode()):
        with mode:
            states = problem.run()
        assert all(map(torch.equal, states, expected))
        assert not any(state.requires_grad for state in states)
