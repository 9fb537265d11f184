"""Generated walks over unusual graphs, with unusual numbers, in unusual environments."""

from __future__ import annotations

import math
import random

import pytest
import torch
from generated_cases import (
    CELLS,
    IN_FEATS,
    OURS,
    assert_same,
    build,
    each_cell,
    results,
    shared,
    star,
    tree,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from graphsent._dgl import dgl
from graphsent.cells import IndexedFeat, SlottedCell, TreeCell
from graphsent.kernels import build as building
from graphsent.kernels import library as kernels
from graphsent.kernels.library import SWITCH
from graphsent.propagation.backends.c import library

each_edge_cell = pytest.mark.parametrize(
    "name", [name for name in CELLS if not isinstance(build(name), SlottedCell)]
)


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    monkeypatch.setenv(SWITCH, "1")


def most_of(cell) -> int:
    return cell.num_slots if isinstance(cell, SlottedCell) else 5


def features(graph, dtype=torch.float64):
    return torch.randn(graph.num_nodes(), IN_FEATS, dtype=dtype)


@each_cell
def test_many_nodes_per_level(name, monkeypatch):
    """Levels of more rows and edges than one block holds."""
    cell = build(name)
    graph = dgl.batch([tree(4, most_of(cell), seed % 7) for seed in range(1000)])
    rows = torch.randn(50, IN_FEATS, dtype=torch.float64)
    feat = IndexedFeat(rows, torch.randint(50, (graph.num_nodes(),)))
    assert_same(cell, graph, feat, monkeypatch, 1e-11)


@each_edge_cell
def test_many_edges_per_node(name, monkeypatch):
    """More edges to one node than one block holds; the hub of one star is in another."""
    cell, width = build(name), 2000
    sources = torch.arange(1, 2 * width + 1)
    graph = dgl.graph((sources, (sources > width).long()))
    assert_same(cell, graph, features(graph), monkeypatch, 1e-10)


@given(st.sampled_from(sorted(CELLS)), st.integers(0, 1 << 16), st.integers(2, 40))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_graph(monkeypatch, name, seed, num_nodes):
    cell = build(name)
    graph = shared(num_nodes, random.Random(seed).randint(1, most_of(cell)), seed)
    assert_same(cell, graph, features(graph), monkeypatch, 1e-11)


@each_cell
@pytest.mark.parametrize("num_threads", [2, 3])
def test_threads_give_the_same_numbers_each_time(name, num_threads):
    cell = build(name)
    graph = shared(300, most_of(cell))
    feat = features(graph)
    alone = results(cell, graph, feat)
    alone = [part.clone() for part in alone]
    torch.set_num_threads(num_threads)
    try:
        several = [part.clone() for part in results(cell, graph, feat)]
        again = results(cell, graph, feat)
    finally:
        torch.set_num_threads(1)
    assert all(map(torch.equal, several, again))
    for got, expected in zip(several, alone, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-10, atol=1e-10)


@each_cell
def test_any_strides(name, monkeypatch):
    cell = build(name)
    for part in cell.parameters():
        if part.dim() > 1:
            part.data = part.data.t().contiguous().t()
    graph = shared(30, most_of(cell))
    feat = features(graph).repeat_interleave(2, 1)[:, ::2]
    assert not feat.is_contiguous()
    assert_same(cell, graph, feat, monkeypatch)


def test_tensors_that_are_stored_with_the_other_sign(monkeypatch):
    cell = build("Nary")
    graph = shared(30, most_of(cell))
    feat = torch._neg_view(features(graph))
    for part in cell.parameters():
        part.data = torch._neg_view(-part.data)
    assert all(part.is_neg() for part in (feat, *cell.parameters()))
    assert_same(cell, graph, feat, monkeypatch)


@each_cell
def test_gradients_of_one_part(name, monkeypatch):
    cell = build(name)
    graph = shared(30, most_of(cell))
    feat = features(graph).requires_grad_()
    for number in range(len(cell.state_names)):
        found = []
        for switch in "10":
            monkeypatch.setenv(SWITCH, switch)
            loss = cell.run(graph, feat)[number].square().sum()
            targets = [feat, *cell.parameters()]
            found.append(torch.autograd.grad(loss, targets, materialize_grads=True))
        for one, other in zip(*found, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", OURS)
def test_infinite_values_and_nan(name):
    """Sums of any size, including infinity and NaN."""
    cell = build(name, torch.float32)
    graph = tree(40, 3)
    feat = features(graph, torch.float32)
    with torch.no_grad():
        feat[:, ::3], feat[:, 1::3] = 1e30, -1e30
        assert all(state.isfinite().all() for state in cell.run(graph, feat))
        feat[int(graph.in_degrees().argmin())] = torch.nan
        h = cell(graph, feat)
        assert h.isnan().any()
        assert not h.isnan().all()


def test_scores_far_apart(monkeypatch):
    """The softmax neither overflows nor loses small terms."""
    cell = build("attentive LSTM")
    with torch.no_grad():
        cell.attention.w.weight.mul_(1000)
    graph = star(5)
    assert_same(cell, graph, features(graph), monkeypatch)


class Exponential(TreeCell):
    """h = exp(the sum of the predecessors' h); x without predecessors."""

    state_names = ("h",)

    def project(self, feat):
        return feat

    def start(self, x):
        return (x,)

    def combine(self, children, x):
        (h,) = children
        return (torch.exp(h.sum(1)),)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_exponentials_of_any_size(dtype):
    """Up to infinity, and down to zero."""
    about = torch.finfo(dtype)
    most = 1.2 * math.log(about.max)
    x = torch.tensor([*torch.linspace(-most, most, 1000), -torch.inf, torch.inf], dtype=dtype)
    cell = Exponential(len(x), len(x)).to(dtype)
    h = cell(dgl.graph(([0], [1])), x.expand(2, -1))[1]
    assert h.isinf().any()
    assert (h == 0).any()
    torch.testing.assert_close(h, x.exp(), rtol=8 * about.eps, atol=about.tiny)


class Shifted(Exponential):
    """Functions of states, which are computed once for each predecessor."""

    def __init__(self, in_feats: int, size: int) -> None:
        super().__init__(in_feats, size)
        self.p = nn.Parameter(torch.randn(size))

    def combine(self, children, x):
        h = children[0] + self.p
        return ((h * torch.sigmoid(h)).sum(1) + x,)


def test_infinite_states_without_successors_that_nothing_reads():
    """They do not make gradients NaN."""
    cell, graph = Shifted(IN_FEATS, IN_FEATS).double(), dgl.graph(([0, 1, 1], [2, 2, 3]))
    feat = features(graph)
    feat[2] = -torch.inf  # as the logarithm of 0
    found = []
    for engine in ("levels", "dgl"):
        given = feat.clone().requires_grad_()
        h = cell(graph, given, engine=engine)
        found += [torch.autograd.grad(h[3].sum(), [given, cell.p])]
    for one, other in zip(*found, strict=True):
        assert one.isfinite().all()
        torch.testing.assert_close(one, other)


# What Choices takes jumps where two numbers are equal: rounding may change which of them it takes.
@pytest.mark.parametrize("name", [name for name in CELLS if name != "Choices"])
def test_hooks_may_store_less_precise_numbers(name):
    """Saved-tensor hooks only get the numbers of a walk, since they may change them arbitrarily."""

    def store(saved: torch.Tensor) -> tuple[torch.Tensor, torch.dtype]:
        return saved.bfloat16() if saved.is_floating_point() else saved, saved.dtype

    def load(stored: tuple[torch.Tensor, torch.dtype]) -> torch.Tensor:
        return stored[0].to(stored[1])

    cell = build(name)
    graph = shared(60, most_of(cell))
    feat = features(graph)
    expected = [part.detach().clone() for part in results(cell, graph, feat)]
    with torch.autograd.graph.saved_tensors_hooks(store, load):
        found = [part.detach() for part in results(cell, graph, feat)]
    largest = max(float(part.abs().max()) for part in expected)
    for got, exact in zip(found, expected, strict=True):
        assert float((got - exact).abs().max()) <= 0.02 * largest


@each_cell
def test_tensors_of_their_own_are_on_the_cpu(name, monkeypatch):
    """Also under another default device."""
    cell = build(name)
    graph = shared(40, most_of(cell))
    feat = features(graph)
    expected = [part.detach().clone() for part in results(cell, graph, feat)]
    torch.set_default_device("meta")
    try:
        states = cell.run(graph, feat)
    finally:
        torch.set_default_device(None)
    for got, exact in zip(states, expected, strict=False):
        assert torch.equal(got, exact)


@pytest.mark.parametrize(("num_bytes", "rows"), [(16, 12), (64, 12), (32, 6)])
@pytest.mark.parametrize("name", ["Nary", "attentive LSTM"])
def test_vectors_of_other_processors(name, num_bytes, rows, monkeypatch):
    """Compilers emulate long vectors by short ones."""
    monkeypatch.setattr(building, "_PROCESSORS", {"": (num_bytes, rows, ())})
    quick = [option for option in building._COMMAND if "-O" not in option]
    monkeypatch.setattr(building, "_COMMAND", quick)
    clear_libraries()
    try:
        cell = build(name)
        graph = shared(60, most_of(cell))
        assert_same(cell, graph, features(graph), monkeypatch)
    finally:
        clear_libraries()


def clear_libraries() -> None:
    """As in a new process."""
    library._load._made.clear()
    kernels._load._made.clear()
