"""The compiled walk over slots against the one in torch: values and gradients."""

from __future__ import annotations

import random

import pytest
import torch
from compiled_cases import TOLERANCES, Compared, Draw, check, check_threads
from fused_cases import dag, forest

from graphsent.propagation.compiled import SWITCH, kernels_in_use
from graphsent.propagation.fused_lstm import NaryLSTM
from graphsent.propagation.fused_slots import make_slots, run_slots
from graphsent.propagation.schedule import schedule_of

pytestmark = pytest.mark.skipif(not kernels_in_use(torch.float64), reason="there is no C compiler")


class Problem(Compared):
    """A rule, a schedule and tensors that need gradients."""

    def __init__(
        self,
        graph,
        size: int,
        count: int = 2,
        *,
        gate_output: bool = True,
        shared_forget: bool = True,
        one_row: bool = False,
        shared_leaves: bool = False,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        draw = Draw(dtype)
        self.rule = NaryLSTM(size, count, gate_output=gate_output, shared_forget=shared_forget)
        self.schedule = schedule_of(graph)
        self.slots = make_slots(self.schedule, count, graph.edata["child_index"])
        num_gates, first = len(self.rule.order), self.schedule.num_sources
        num_inner, num_rows = self.schedule.num_nodes - first, first
        self.leaves = None
        if shared_leaves:
            num_rows = max(first // 2, 1)
            self.leaves = torch.randint(num_rows, (first,), generator=draw.generator)
        blocks = num_gates if not shared_forget else num_gates - count + 1
        self.start = [draw(num_rows, size) for _ in range(2)]
        self.inputs = draw(blocks * size) if one_row else draw(num_inner, blocks * size)
        self.weights = [draw(num_gates * size, count * size)]
        self.bias = draw(num_gates * size)
        with torch.no_grad():
            self.weights[0] /= size**0.5

    @property
    def tensors(self) -> list[torch.Tensor]:
        return [*self.start, self.inputs, *self.weights, self.bias]

    def run(self):
        return run_slots(
            *(self.rule, self.schedule, self.slots, self.start, self.inputs, self.weights),
            *(self.bias, self.leaves),
        )


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("size", [1, 3, 7, 8, 16, 33, 150])
def test_sizes(size, dtype, monkeypatch):
    for number, make in enumerate((forest, dag)):
        graph = make(random.Random(number), 40, 2, "child_index")
        check(Problem(graph, size, dtype=dtype), monkeypatch)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("gate_output", [True, False])
@pytest.mark.parametrize("shared_forget", [True, False])
@pytest.mark.parametrize("one_row", [True, False])
@pytest.mark.parametrize("shared_leaves", [True, False])
def test_options(count, gate_output, shared_forget, one_row, shared_leaves, monkeypatch):
    options = {
        "gate_output": gate_output,
        "shared_forget": shared_forget,
        "one_row": one_row,
        "shared_leaves": shared_leaves,
    }
    graph = dag(random.Random(count), 30, count, "child_index")
    check(Problem(graph, 6, count, **options), monkeypatch)


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_many_nodes_a_level(dtype, monkeypatch):
    """Levels of more rows than are handled at once, with weights that fill several panels."""
    graph = forest(random.Random(0), 1500, 2, "child_index")
    check(Problem(graph, 40, dtype=dtype, shared_leaves=True), monkeypatch)


@pytest.mark.parametrize("part", [0, 1])
def test_gradients_of_one_part(part, monkeypatch):
    graph = dag(random.Random(1), 30, 2, "child_index")
    check(Problem(graph, 5), monkeypatch, parts=(part,))


def test_any_strides(monkeypatch):
    problem = Problem(dag(random.Random(2), 30, 2, "child_index"), 5)
    for tensors in (problem.start, problem.weights):
        tensors[:] = [t.detach().t().contiguous().t().requires_grad_() for t in tensors]
    problem.inputs = problem.inputs.detach().repeat_interleave(2, 1)[:, ::2].requires_grad_()
    problem.bias = problem.bias.detach().repeat_interleave(2)[::2].requires_grad_()
    assert not problem.inputs.is_contiguous()
    check(problem, monkeypatch)
    (gradient,) = torch.autograd.grad(problem.run()[0].sum(), problem.bias)  # of expanded ones
    with monkeypatch.context() as context:
        context.setenv(SWITCH, "0")
        (expected,) = torch.autograd.grad(problem.run()[0].sum(), problem.bias)
    torch.testing.assert_close(gradient, expected)


@pytest.mark.parametrize("num_threads", [2, 3])
def test_threads(num_threads):
    """As many threads give the same numbers each time, other ones the same but for rounding."""
    graph = dag(random.Random(3), 300, 2, "child_index")
    problem = Problem(graph, 20, shared_leaves=True)
    check_threads(problem, num_threads)


def test_second_forward_pass_before_the_first_backward_pass():
    problems = [
        Problem(forest(random.Random(s), 400, 2, "child_index"), 16, shared_leaves=True)
        for s in range(2)
    ]
    expected = [problem.outcome() for problem in problems]
    several = [problem.run() for problem in problems]
    for problem, states, (h, c, *gradients) in zip(problems, several, expected, strict=True):
        assert torch.equal(states[0], h)
        assert torch.equal(states[1], c)
        loss = sum((part * part.detach().cos()).sum() for part in states)
        for _ in range(2):
            again = torch.autograd.grad(loss, problem.tensors, retain_graph=True)
            assert all(map(torch.equal, again, gradients))


def test_values_without_a_limit():
    """Sums of any size, infinite ones and NaN."""
    problem = Problem(forest(random.Random(4), 40, 2, "child_index"), 4, dtype=torch.float32)
    with torch.no_grad():
        problem.inputs[:, ::3] = 1e30
        problem.inputs[:, 1::3] = -torch.inf
        assert all(state.isfinite().all() for state in problem.run())
        problem.inputs[0, 0] = torch.nan
        h, c = problem.run()
        assert h.isnan().any()
        assert c.isnan().any()
        assert not h.isnan().all()


def test_nothing_is_kept_without_gradients():
    problem = Problem(forest(random.Random(5), 40, 2, "child_index"), 4)
    expected = problem.run()
    with torch.no_grad():
        states = problem.run()
    assert all(map(torch.equal, states, expected))
    assert not any(state.requires_grad for state in states)
