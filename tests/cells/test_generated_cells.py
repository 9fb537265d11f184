"""Cells in generated code agree with the same cells level by level in torch."""

from __future__ import annotations

import re

import pytest
import torch
from generated_cases import (
    HIDDEN_FEATS,
    IN_FEATS,
    assert_same,
    build,
    each_cell,
    graphs_for,
    needs_compiler,
    results,
    star,
    tree,
)
from torch import nn
from torch.nn.utils import parametrizations, parametrize
from users_cells import Attentive, GatedSum, Nary

from graphsent._dgl import dgl
from graphsent.cells import (
    AttentiveTreeLSTM,
    ChildSumTreeLSTM,
    IndexedFeat,
    SlottedCell,
    TreeCell,
)
from graphsent.cells.errors import CellError
from graphsent.kernels.library import SWITCH


@each_cell
def test_values_and_gradients(name, monkeypatch):
    cell = build(name)
    for graph in graphs_for(cell).values():
        feat = torch.randn(graph.num_nodes(), IN_FEATS, dtype=torch.float64)
        assert_same(cell, graph, feat, monkeypatch)


@each_cell
def test_words(name, monkeypatch):
    cell = build(name)
    for graph in graphs_for(cell).values():
        rows = torch.randn(4, IN_FEATS, dtype=torch.float64)
        anywhere = torch.randint(-1, 4, (graph.num_nodes(),))
        at_leaves = torch.where(graph.in_degrees() == 0, anywhere.clamp(min=0), -1)
        for index in (anywhere, at_leaves):
            assert_same(cell, graph, IndexedFeat(rows, index), monkeypatch)


@each_cell
def test_initial_states(name, monkeypatch):
    cell = build(name)
    graph = graphs_for(cell)["trees"]
    sizes = (graph.num_nodes(), HIDDEN_FEATS)
    initial = [torch.randn(sizes, dtype=torch.float64) for _ in cell.state_names]
    feat = torch.randn(graph.num_nodes(), IN_FEATS, dtype=torch.float64)
    words = IndexedFeat(feat[:4], torch.randint(-1, 4, sizes[:1]))
    for each in (feat, words):
        assert_same(cell, graph, each, monkeypatch, initial_state=initial)


@each_cell
def test_several_threads(name, monkeypatch):
    cell = build(name)
    most = cell.num_slots if isinstance(cell, SlottedCell) else 4
    graph = dgl.batch([tree(150, most, seed) for seed in range(3)])
    rows = torch.randn(40, IN_FEATS, dtype=torch.float64)
    feat = IndexedFeat(rows, torch.randint(-1, 40, (graph.num_nodes(),)))
    torch.set_num_threads(3)
    try:
        assert_same(cell, graph, feat, monkeypatch)
    finally:
        torch.set_num_threads(1)


@pytest.mark.parametrize("name", ["Nary", "Attentive", "child-sum GRU"])
def test_single_precision(name, monkeypatch):
    cell = build(name, torch.float32)
    graph = graphs_for(cell)["trees"]
    assert_same(cell, graph, torch.randn(graph.num_nodes(), IN_FEATS), monkeypatch, 2e-6)


@each_cell
def test_without_gradients(name, monkeypatch):
    cell = build(name)
    graph = graphs_for(cell)["shared"]
    feat = torch.randn(graph.num_nodes(), IN_FEATS, dtype=torch.float64)
    expected = cell.run(graph, feat)
    with torch.no_grad():
        for one, other in zip(cell.run(graph, feat), expected, strict=True):
            assert torch.equal(one, other)


@needs_compiler
@each_cell
def test_finite_differences(name):
    cell = build(name)
    graph = graphs_for(cell)["chain"]
    feat = torch.randn(graph.num_nodes(), IN_FEATS, dtype=torch.float64, requires_grad=True)
    given = (feat, *cell.parameters())
    assert cell.explain(graph).way == "compiled"
    torch.autograd.gradcheck(lambda feat, *_: cell.run(graph, feat), given, fast_mode=True)


@each_cell
def test_gradients_of_gradients(name, monkeypatch):
    cell = build(name)
    graph = graphs_for(cell)["shared"]
    feat = torch.randn(graph.num_nodes(), IN_FEATS, dtype=torch.float64, requires_grad=True)
    found = []
    for switch in "10":
        monkeypatch.setenv(SWITCH, switch)
        loss = sum(part.square().sum() for part in cell.run(graph, feat))
        (gradient,) = torch.autograd.grad(loss, feat, create_graph=True)
        penalty = gradient.square().sum()
        found.append(torch.autograd.grad(penalty, [feat, *cell.parameters()], allow_unused=True))
    for one, other in zip(*found, strict=True):
        if other is not None:
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-11)


def test_frozen_parameters(monkeypatch):
    cell = Attentive(IN_FEATS, HIDDEN_FEATS).double()
    for name in ("U_f", "w", "W"):
        getattr(cell, name).requires_grad_(False)
    graph = graphs_for(cell)["trees"]
    feat = torch.randn(graph.num_nodes(), IN_FEATS, dtype=torch.float64)
    assert_same(cell, graph, feat, monkeypatch)
    assert cell.U_f.weight.grad is None
    assert cell.U.weight.grad is not None


def test_a_cell_that_changes_is_traced_again(monkeypatch):
    cell = GatedSum(IN_FEATS, HIDDEN_FEATS).double()
    graph = graphs_for(cell)["tree"]
    feat = torch.randn(graph.num_nodes(), IN_FEATS, dtype=torch.float64)
    before = cell(graph, feat)
    cell.map = nn.Sequential(nn.Linear(HIDDEN_FEATS, HIDDEN_FEATS), nn.Tanh()).double()
    assert not torch.allclose(cell(graph, feat), before)
    assert_same(cell, graph, feat, monkeypatch)


class Counting(GatedSum):
    """A cell with buffers of whole numbers."""

    def __init__(self, *sizes, of=lambda cell, h: h):
        super().__init__(*sizes)
        self.of = of
        self.register_buffer("steps", torch.tensor(3))
        self.register_buffer("signs", torch.arange(HIDDEN_FEATS) % 2)

    def combine(self, children, x):
        return super().combine((self.of(self, children[0]),), x)


@pytest.mark.parametrize(
    "of",
    [lambda cell, h: h, lambda cell, h: h * (1 - 2 * cell.signs.to(h.dtype)) / cell.steps.double()],
)
def test_buffers_of_whole_numbers(of, monkeypatch):
    """They may be there, and be converted; computing with them is left to torch."""
    cell = Counting(IN_FEATS, HIDDEN_FEATS, of=of).double()
    graph = graphs_for(cell)["tree"]
    feat = torch.randn(graph.num_nodes(), IN_FEATS, dtype=torch.float64)
    assert_same(cell, graph, feat, monkeypatch)
    cell.signs[0] = 3
    assert_same(cell, graph, feat, monkeypatch)


def test_computing_with_whole_numbers():
    cell = Counting(IN_FEATS, HIDDEN_FEATS, of=lambda cell, h: h * cell.steps).double()
    reason = cell.explain(graphs_for(cell)["tree"]).reason
    assert reason == "it uses a tensor of torch.int64 on cpu"


class ByValue(GatedSum):
    def combine(self, children, x):
        (h,) = children
        return super().combine((h if (h > 0).all() else -h,), x)


class Unknown(GatedSum):
    def combine(self, children, x):
        (h,) = super().combine(children, x)
        return (h.cumsum(-1),)


class Learned(TreeCell):
    """An LSTM whose first state is a parameter, with a peephole; leaves have an input or none."""

    def __init__(self, in_feats, hidden_feats, of_leaves):
        super().__init__(in_feats, hidden_feats)
        self.lstm, self.of_leaves = nn.LSTMCell(in_feats, hidden_feats), of_leaves
        self.first = nn.Parameter(torch.rand(3, hidden_feats))

    def project(self, feat):
        return feat

    def start(self, x):
        zeros = x.new_zeros(x.shape[0], self.hidden_feats)
        h, c, peephole = (zeros + row for row in self.first)
        if self.of_leaves:
            return self.lstm(x, (h, c * peephole))
        return torch.sigmoid(h @ self.lstm.weight_hh[: self.hidden_feats].t()), c * peephole

    def combine(self, children, x):
        h, c = (part.mean(1) for part in children)
        return self.lstm(x, (h, c + self.first[1] * self.first[2].expand_as(c)))


@pytest.mark.parametrize("of_leaves", [True, False])
def test_a_learned_first_state(of_leaves, monkeypatch):
    cell = Learned(IN_FEATS, HIDDEN_FEATS, of_leaves).double()
    for graph in graphs_for(cell).values():
        if not graph.num_edges():
            continue  # and then no state may depend on the input
        feat = torch.randn(graph.num_nodes(), IN_FEATS, dtype=torch.float64)
        assert_same(cell, graph, feat, monkeypatch)
        words = IndexedFeat(feat[:2], torch.arange(graph.num_nodes()) % 2)
        assert_same(cell, graph, words, monkeypatch)


OUTSIDE = torch.ones(HIDDEN_FEATS, dtype=torch.float64)


class Constant(GatedSum):
    def combine(self, children, x):
        (h,) = super().combine(children, x)
        return (h + OUTSIDE,)


class Remembers(GatedSum):
    def combine(self, children, x):
        self.pooled = children[0].sum(1)
        return super().combine(children, x)


class InPlace(GatedSum):
    def combine(self, children, x):
        children[0].mul_(2)
        return super().combine(children, x)


class SetsAnEntry(GatedSum):
    def combine(self, children, x):
        h = children[0] * 2
        h[:, :, 0] = 0
        return super().combine((h,), x)


class Random(GatedSum):
    def combine(self, children, x):
        torch.rand(1)
        return super().combine(children, x)


class OverNodes(GatedSum):
    def combine(self, children, x):
        (h,) = super().combine(children, x)
        return (h - 0 * h.sum(0),)


class CountsNodes(GatedSum):
    def combine(self, children, x):
        (h,) = super().combine(children, x)
        return (h / (1 + 0 * len(x)),)


class WithoutGradients(GatedSum):
    def combine(self, children, x):
        (h,) = children
        with torch.no_grad():
            scale = torch.sigmoid(h)
        return super().combine((scale * h,), x)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, gradient):
        return 2 * gradient


class OwnGradient(GatedSum):
    def combine(self, children, x):
        return super().combine(children, Doubled.apply(x))


class Stacked(GatedSum):
    def project(self, feat):
        return super().project(feat).unsqueeze(1)

    def start(self, x):
        return super().start(x.squeeze(1))

    def combine(self, children, x):
        return super().combine(children, x.squeeze(1))


UNTRACEABLE = {
    Stacked: "project does not return a matrix: combine can reshape",
    WithoutGradients: "it computes under no_grad",
    OwnGradient: r"or in an autograd\.Function",
    ByValue: "it depends on the values of a tensor",
    Unknown: "it calls cumsum",
    Constant: r"uses a tensor of shape \(19,\) that is not a parameter or buffer",
    Remembers: "sets attributes of modules",
    InPlace: "it changes a tensor in place",
    SetsAnEntry: "it changes a tensor in place",
    Random: "it draws random numbers",
    OverNodes: "mixes the nodes of a level",
    CountsNodes: "computes with the number of nodes",
}


@pytest.mark.parametrize("kind", UNTRACEABLE)
def test_code_that_cannot_be_traced(kind, monkeypatch):
    cell = kind(IN_FEATS, HIDDEN_FEATS).double()
    graph = graphs_for(cell)["tree"]
    explained = cell.explain(graph)
    assert explained.way == "levels"
    assert re.search(UNTRACEABLE[kind], explained.reason)
    feat = torch.randn(graph.num_nodes(), IN_FEATS, dtype=torch.float64)
    found = []
    for engine in ("levels", "dgl"):
        h = cell(graph, feat, engine=engine)
        gradients = torch.autograd.grad(h.square().sum(), list(cell.parameters()))
        found.append((h, *gradients))
    torch.testing.assert_close(*found)


@needs_compiler
def test_hooks():
    cell = Nary(IN_FEATS, HIDDEN_FEATS)
    graph = graphs_for(cell)["tree"]
    with cell.U.register_forward_hook(lambda *args: None):
        assert cell.explain(graph) == ("levels", "modules have hooks")
    assert cell.explain(graph).way == "compiled"


class Centered(nn.Module):
    """A parametrization with a number that may change."""

    share = 1.0

    def forward(self, weight):
        return weight - self.share * weight.mean()


PARAMETRIZED = {
    "weight norm": lambda linear: parametrizations.weight_norm(linear),
    "orthogonal": lambda linear: parametrizations.orthogonal(linear),
    "own": lambda linear: parametrize.register_parametrization(linear, "weight", Centered()),
}


@pytest.mark.parametrize("name", PARAMETRIZED)
def test_parametrizations(name, monkeypatch):
    cell = Nary(IN_FEATS, HIDDEN_FEATS).double()
    graph = graphs_for(cell)["tree"]
    feat = torch.randn(graph.num_nodes(), IN_FEATS, dtype=torch.float64)
    assert_same(cell, graph, feat, monkeypatch)
    PARAMETRIZED[name](cell.U)
    assert_same(cell, graph, feat, monkeypatch)
    with torch.no_grad():
        for part in cell.parameters():
            part.add_(torch.randn_like(part))
    assert_same(cell, graph, feat, monkeypatch)
    for part in cell.modules():
        if isinstance(part, Centered):
            part.share = 0.5
    assert_same(cell, graph, feat, monkeypatch)
    parametrize.remove_parametrizations(cell.U, "weight")
    assert_same(cell, graph, feat, monkeypatch)


def test_parametrized_weights_that_torch_caches():
    cell = Nary(IN_FEATS, HIDDEN_FEATS).double()
    for linear in (cell.W, cell.U):
        parametrizations.weight_norm(linear)
    graph = graphs_for(cell)["tree"]
    feat = torch.randn(graph.num_nodes(), IN_FEATS, dtype=torch.float64)
    found = []
    for _ in range(2):
        with parametrize.cached():  # the first call traces the cell
            h = cell(graph, feat)
            norm = cell.U.weight.square().sum()
        found.append(torch.autograd.grad(h.square().sum() + norm, cell.parameters()))
    torch.testing.assert_close(*found)


@needs_compiler
def test_weights_that_torch_has_cached_are_computed_in_the_trace():
    cell = Nary(IN_FEATS, HIDDEN_FEATS)
    parametrizations.weight_norm(cell.U)
    with parametrize.cached():
        assert cell.U.weight is cell.U.weight
        assert cell.explain(graphs_for(cell)["tree"]).way == "compiled"


@needs_compiler
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float16])
def test_autocast_runs_compiled_code_in_the_type_of_parameters(kind):
    cell = Nary(IN_FEATS, HIDDEN_FEATS)
    graph = graphs_for(cell)["tree"]
    feat = torch.randn(graph.num_nodes(), IN_FEATS).to(kind)
    index = torch.arange(graph.num_nodes()).flip(0)
    given = feat.float(), IndexedFeat(feat.float(), index)
    expected = [cell(graph, each) for each in given]
    wanted = torch.autograd.grad(expected[0].square().sum(), cell.parameters())
    with torch.autocast("cpu", torch.bfloat16):
        assert cell.explain(graph).way == "compiled"
        found = [cell(graph, feat), cell(graph, IndexedFeat(feat, index))]
    gradients = torch.autograd.grad(found[0].square().sum(), cell.parameters())
    for got, exact in zip((*found, *gradients), (*expected, *wanted), strict=True):
        assert got.dtype == torch.float32
        assert torch.equal(got, exact)


@pytest.mark.parametrize("kind", [Nary, ChildSumTreeLSTM])
def test_autocast_without_compiled_code(kind, monkeypatch):
    monkeypatch.setenv(SWITCH, "0")
    cell, graph = kind(IN_FEATS, HIDDEN_FEATS), tree(30, 2)
    feat = torch.randn(graph.num_nodes(), IN_FEATS)
    with torch.autocast("cpu", torch.bfloat16):
        assert cell.explain(graph).way == "traced"
        found = cell(graph, feat)
    torch.testing.assert_close(found.float(), cell(graph, feat), rtol=0, atol=0.05)


@needs_compiler
def test_a_cell_that_is_first_called_under_autocast():
    cell = AttentiveTreeLSTM(IN_FEATS, HIDDEN_FEATS)
    graph = graphs_for(cell)["tree"]
    feat = torch.randn(graph.num_nodes(), IN_FEATS)
    with torch.autocast("cpu", torch.bfloat16):
        found = cell(graph, feat)
        assert cell.explain(graph).way == "compiled"
        one = cell(tree(1, 1), feat[:1])
    assert cell.explain(graph).way == "compiled"
    assert torch.equal(found, cell(graph, feat))
    torch.testing.assert_close(one, cell(tree(1, 1), feat[:1]))  # of the same type, too


@needs_compiler
def test_gradients_of_gradients_under_autocast():
    cell = ChildSumTreeLSTM(IN_FEATS, HIDDEN_FEATS)
    graph = graphs_for(cell)["tree"]
    loss = cell(graph, torch.randn(graph.num_nodes(), IN_FEATS)).square().sum()

    def gradient() -> torch.Tensor:
        return torch.autograd.grad(loss, cell.U.weight, create_graph=True)[0]

    with torch.autocast("cpu", torch.bfloat16):
        found = gradient()
    assert torch.equal(found, gradient())


@needs_compiler
@pytest.mark.parametrize("of", [tuple, list])
def test_initial_states_under_autocast(of):
    cell = Nary(IN_FEATS, HIDDEN_FEATS)
    graph = graphs_for(cell)["tree"]
    feat = torch.randn(graph.num_nodes(), IN_FEATS)
    initial = of(torch.randn(graph.num_nodes(), HIDDEN_FEATS).bfloat16() for _ in "hc")
    expected = cell(graph, feat, initial_state=[part.float() for part in initial])
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(cell(graph, feat, initial_state=initial), expected)
        with pytest.raises(CellError, match="initial"):
            cell(graph, feat, initial_state=["h", "c"])


@needs_compiler
def test_autocast_does_not_admit_wider_types():
    cell = Nary(IN_FEATS, HIDDEN_FEATS)
    graph = graphs_for(cell)["tree"]
    with torch.autocast("cpu", torch.bfloat16), pytest.raises(CellError, match="float64"):
        cell(graph, torch.randn(graph.num_nodes(), IN_FEATS).double())


def test_other_types_run_in_torch():
    cell = Nary(IN_FEATS, HIDDEN_FEATS)
    explained = cell.bfloat16().explain(graphs_for(cell)["tree"])
    assert explained == ("traced", "there is no compiled code for torch.bfloat16")


@needs_compiler
def test_explanations_of_each_way_to_run(monkeypatch):
    graph = star(2)
    cell = ChildSumTreeLSTM(IN_FEATS, HIDDEN_FEATS)
    assert cell.explain(graph).way == "compiled"
    assert cell.explain(tree(1, 1)).way == "levels"
    monkeypatch.setenv(SWITCH, "0")
    assert cell.explain(graph).way == "traced"
    assert GatedSum(IN_FEATS, HIDDEN_FEATS).explain(graph).reason.startswith(f"{SWITCH}=0")
    cell.reduce_func = lambda nodes: None
    assert cell.explain(graph).way == "functions"
    assert str(cell.explain(graph)).startswith("functions: ")


@pytest.mark.parametrize("inner_input", [True, False])
def test_a_projection_whose_bias_is_a_row(inner_input, monkeypatch):
    class Rows(Nary):
        def __init__(self):
            super().__init__(IN_FEATS, HIDDEN_FEATS)
            self.b = nn.Parameter(torch.randn(1, len(self.W.bias)))

        def project(self, feat):
            return self.W(feat) + self.b

    cell, graph = Rows().double(), tree(60, 2)
    cell.W.bias = None
    cell.inner_input = inner_input
    rows = torch.randn(9, IN_FEATS, dtype=torch.float64)
    index = torch.where(graph.in_degrees() == 0, torch.arange(60) % 9, -1)
    assert_same(cell, graph, IndexedFeat(rows, index), monkeypatch)
    assert_same(cell, graph, rows.repeat(7, 1)[:60], monkeypatch)


class Bare(TreeCell):
    """It has no parameters, and reads the dtype of its inputs."""

    state_names = ("h",)

    def project(self, feat):
        return feat

    def start(self, x):
        return (x,)

    def combine(self, children, x):
        scale = torch.finfo(x.dtype).eps ** 0.1
        return (torch.tanh(scale * x + children[0].sum(1)),)


def test_a_cell_without_parameters(monkeypatch):
    cell, graph = Bare(IN_FEATS, IN_FEATS), tree(60, 3)
    for dtype in (torch.float64, torch.float32):
        feat = torch.randn(60, IN_FEATS, dtype=dtype)
        tolerance = 1e-12 if dtype == torch.float64 else 1e-5
        assert_same(cell, graph, feat, monkeypatch, tolerance)


PARTS = {
    "chunk": lambda weight: torch.cat(weight.chunk(2)[::-1]),
    "split": lambda weight: torch.cat(weight.split(7)),
    "unbind": lambda weight: torch.stack(weight.unbind()[::-1]),
    "iteration": lambda weight: torch.stack([*weight]),
    "maximum": lambda weight: weight * weight.max(0).values,
}


@needs_compiler
@pytest.mark.parametrize("name", PARTS)
def test_functions_of_parameters_that_return_tuples(name, monkeypatch):
    class Parts(Bare):
        def __init__(self):
            super().__init__(IN_FEATS, IN_FEATS)
            self.U = nn.Parameter(torch.randn(IN_FEATS, IN_FEATS))

        def combine(self, children, x):
            weight = PARTS[name](self.U)
            return (torch.tanh(x + nn.functional.linear(children[0].sum(1), weight)),)

    feat = torch.randn(60, IN_FEATS, dtype=torch.float64)
    assert_same(Parts().double(), tree(60, 3), feat, monkeypatch)


@pytest.mark.parametrize("switch", ["1", "0"])
@each_cell
def test_training_on_a_graph_after_inference(name, switch, monkeypatch):
    monkeypatch.setenv(SWITCH, switch)
    cell = build(name)
    graph = graphs_for(cell)["trees"]
    feat = torch.randn(graph.num_nodes(), IN_FEATS, dtype=torch.float64)
    with torch.inference_mode():
        cell(graph, feat)
    found = results(cell, graph, feat)
    expected = results(cell, graphs_for(cell)["trees"], feat)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("switch", ["1", "0"])
def test_backward_passes_that_overlap(switch, monkeypatch):
    """One begins and ends within another."""
    monkeypatch.setenv(SWITCH, switch)
    cell, graph = GatedSum(IN_FEATS, HIDDEN_FEATS).double(), tree(30, 3)
    feat = torch.randn(30, IN_FEATS, dtype=torch.float64, requires_grad=True)
    h = cell(graph, feat)
    other = h.square().sum()
    wanted = [feat, *cell.parameters()]
    expected = torch.autograd.grad(h.sum(), wanted, retain_graph=True)
    inner = torch.autograd.grad(other, feat, retain_graph=True)
    found = []

    def begin_another(gradient):
        found.extend(torch.autograd.grad(other, feat, retain_graph=True))

    for parameter in cell.parameters():
        parameter.register_hook(begin_another)
    for one, same in zip(
        torch.autograd.grad(h.sum(), wanted, retain_graph=True), expected, strict=True
    ):
        torch.testing.assert_close(one, same)
    assert found
    for one in found:
        torch.testing.assert_close(one, inner[0])


def test_a_state_of_another_dtype_under_autocast():
    class Mixed(Bare):
        def __init__(self):
            super().__init__(IN_FEATS, IN_FEATS)
            self.U = nn.Linear(IN_FEATS, IN_FEATS)
            self.p = nn.Parameter(torch.randn(IN_FEATS))

        def project(self, feat):
            return self.U(feat)

        def combine(self, children, x):
            return (self.U(children[0].sum(1)) * self.p + x,)

    cell, graph, feat = Mixed(), tree(30, 3), torch.randn(30, IN_FEATS)
    with torch.autocast("cpu", torch.bfloat16):
        h = cell(graph, feat, engine="dgl")
    torch.testing.assert_close(h.float(), cell(graph, feat), rtol=0.1, atol=0.1)
