"""The engines against DGL: values and gradients on random forests and acyclic graphs."""

from __future__ import annotations

import random

import pytest
import torch
from level_cases import (
    CASES,
    HIDDEN_FEATS,
    IN_FEATS,
    Case,
    dag,
    forest,
    run,
    run_dgl,
)

from graphsent._dgl import dgl
from graphsent.propagation.schedule.schedule import schedule_of
from graphsent.propagation.tape import Buffer, Tape

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def features(graph, dtype=torch.float64):
    return torch.randn(graph.num_nodes(), IN_FEATS, dtype=dtype, requires_grad=True)


def loss(states, seed: int = 0):
    generator = torch.Generator().manual_seed(seed)
    weights = [torch.randn(s.shape, generator=generator, dtype=torch.float64) for s in states]
    return sum((w.to(s.dtype) * s).sum() for w, s in zip(weights, states, strict=True))


def check(case: Case, graph: dgl.DGLGraph):
    cell, feat = case.build(), features(graph)
    wanted = [feat, *cell.parameters()]
    theirs, ours = run_dgl(cell, graph, feat), run(cell, case.engine, graph, feat)
    for got, expected in zip(ours, theirs, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-10, atol=1e-10)
    gradients = [
        torch.autograd.grad(loss(states), wanted, allow_unused=True, materialize_grads=True)
        for states in (ours, theirs)
    ]
    for got, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-10, atol=1e-10)


@each_case
def test_forests(case):
    rng = random.Random(0)
    for num_nodes in (1, 2, 9, 30):
        check(case, forest(rng, num_nodes, case.max_degree, case.slot_name))


@each_case
def test_acyclic_graphs(case):
    rng = random.Random(1)
    for num_nodes in (5, 12, 30):
        check(case, dag(rng, num_nodes, case.max_degree, case.slot_name))


@each_case
@pytest.mark.parametrize("num_nodes", [0, 1, 3])
def test_no_edges_at_all(case, num_nodes):
    graph = dgl.graph(([], []), num_nodes=num_nodes)
    if case.slot_name is not None:
        graph.edata[case.slot_name] = torch.zeros(0, dtype=torch.int64)
    cell, feat = case.build(), features(graph)
    states = run(cell, case.engine, graph, feat)
    assert all(state.shape == (num_nodes, HIDDEN_FEATS) for state in states)
    loss(states).backward()
    assert feat.grad.shape == feat.shape


@each_case
def test_batches_and_chains(case):
    rng = random.Random(2)
    members = [forest(rng, size, case.max_degree, case.slot_name) for size in (1, 7, 20)]
    check(case, dgl.batch(members))
    chain = dgl.graph((torch.arange(40), torch.arange(1, 41)))
    if case.slot_name is not None:
        chain.edata[case.slot_name] = torch.zeros(40, dtype=torch.int64)
    check(case, chain)


@each_case
def test_gradients_of_some_results_and_inputs(case):
    """A loss on a part of the states; gradients of some of the tensors."""
    graph = dag(random.Random(3), 12, case.max_degree, case.slot_name)
    cell, feat = case.build(), features(graph)
    parameters = list(cell.parameters())
    for part in range(len(cell.state_names)):
        for wanted in ([feat], parameters[:1], parameters[-1:]):
            gradients = [
                torch.autograd.grad(
                    states[part].square().sum(), wanted, allow_unused=True, materialize_grads=True
                )
                for states in (run(cell, case.engine, graph, feat), run_dgl(cell, graph, feat))
            ]
            for got, expected in zip(*gradients, strict=True):
                torch.testing.assert_close(got, expected, rtol=1e-10, atol=1e-10)


@each_case
def test_finite_differences(case):
    graph = dag(random.Random(4), 6, case.max_degree, case.slot_name)
    cell = case.build()
    weights = {name: value.detach() for name, value in cell.named_parameters()}

    def function(feat, *values):
        replaced = dict(zip(weights, values, strict=True))

        class Module(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.cell = cell

            def forward(self, feat):
                return run(self.cell, case.engine, graph, feat)

        named = {f"cell.{name}": value for name, value in replaced.items()}
        return torch.func.functional_call(Module(), named, (feat,))

    values = [value.clone().requires_grad_() for value in weights.values()]
    assert torch.autograd.gradcheck(function, (features(graph), *values), fast_mode=True)


@each_case
def test_two_forward_passes_before_two_backward_passes(case):
    graphs = [forest(random.Random(s), 30, case.max_degree, case.slot_name) for s in range(2)]
    cell = case.build()
    feats = [features(graph) for graph in graphs]
    alone = []
    for graph, feat in zip(graphs, feats, strict=True):
        states = run(cell, case.engine, graph, feat)
        alone.append(torch.autograd.grad(loss(states), feat)[0])
    several = [run(cell, case.engine, *pair) for pair in zip(graphs, feats, strict=True)]
    for states, feat, expected in zip(several, feats, alone, strict=True):
        (again,) = torch.autograd.grad(loss(states), feat, retain_graph=True)
        assert torch.equal(again, expected)
    (again,) = torch.autograd.grad(loss(several[0]), feats[0])
    assert torch.equal(again, alone[0])


@each_case
@pytest.mark.parametrize("backward", [True, False])
def test_states_are_freed_with_the_results(case, backward, new_buffers):
    """With or without a backward pass, as of a validation that forgets no_grad."""
    graph = forest(random.Random(5), 20, case.max_degree, case.slot_name)
    cell, feat = case.build(), features(graph)
    states = run(cell, case.engine, graph, feat)
    if backward:
        loss(states).backward()
    del states
    assert new_buffers() == 0


def test_gradients_in_buffers_are_freed_after_each_backward_pass():
    with Tape() as tape:
        buffer = Buffer(tape, torch.zeros(3, 2))
        buffer.write(slice(0, 1), torch.ones(1, 2, requires_grad=True))
        rows = buffer.read(slice(0, 1))
    for _ in range(2):
        rows.sum().backward(retain_graph=True)
        assert not buffer._gradients


@each_case
def test_without_gradients(case):
    graph = forest(random.Random(5), 20, case.max_degree, case.slot_name)
    cell, feat = case.build(), features(graph)
    expected = run(cell, case.engine, graph, feat)
    with torch.no_grad():
        states = run(cell, case.engine, graph, feat)
    assert not any(state.requires_grad for state in states)
    with torch.inference_mode():
        inferred = run(cell, case.engine, graph, feat.detach())
    for several in zip(expected, states, inferred, strict=True):
        assert torch.equal(several[0], several[1])
        assert torch.equal(several[0], several[2])


@each_case
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-4), (torch.bfloat16, 0.3)])
def test_narrow_dtypes(case, dtype, tolerance):
    graph = forest(random.Random(6), 12, case.max_degree, case.slot_name)
    cell, feat = case.build(), features(graph)
    exact = run(cell, case.engine, graph, feat)
    cell = cell.to(dtype)
    narrow = feat.detach().to(dtype).requires_grad_()
    states = run(cell, case.engine, graph, narrow)
    for got, expected in zip(states, exact, strict=True):
        assert got.dtype == dtype
        torch.testing.assert_close(got.double(), expected, rtol=0, atol=tolerance)
    loss(states).backward()
    assert narrow.grad.dtype == dtype
    assert narrow.grad.isfinite().all()


@each_case
def test_gradients_of_gradients(case):
    graph = dag(random.Random(7), 12, case.max_degree, case.slot_name)
    cell, feat = case.build(), features(graph)
    found = []
    for states in (run(cell, case.engine, graph, feat), run_dgl(cell, graph, feat)):
        (gradient,) = torch.autograd.grad(loss(states), feat, create_graph=True)
        objective = loss(states, 1) + gradient.square().sum()
        wanted = [feat, *cell.parameters()]
        found.append(torch.autograd.grad(objective, wanted, materialize_grads=True))
    for got, expected in zip(*found, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-10, atol=1e-10)


def test_permutations():
    graph = dag(random.Random(8), 10, 3)
    schedule = schedule_of(graph)
    rows = torch.randn(10, 2, dtype=torch.float64, requires_grad=True)
    assert torch.equal(schedule.by_ordinal(rows), rows[schedule.nodes])
    assert torch.equal(schedule.by_node(schedule.by_ordinal(rows)), rows)
    assert torch.autograd.gradcheck(lambda rows: schedule.by_ordinal(rows), rows)
    assert torch.autograd.gradgradcheck(lambda rows: schedule.by_ordinal(rows) ** 2, rows)
