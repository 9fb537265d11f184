"""Second-order gradients on every engine agree with DGL."""

from __future__ import annotations

import functools

import pytest
import torch
from cell_contract import HIDDEN_FEATS, IN_FEATS, cells_where, each_cell
from cell_structures import bottom_up, join
from strategies import chain_shape, perfect_shape, star_shape
from torch import Tensor

from graphsent import cells
from graphsent.cells import IndexedFeat
from graphsent.kernels.library import SWITCH
from graphsent.propagation.errors import PropagationError

STRUCTURE = join([bottom_up(shape) for shape in (chain_shape(3), perfect_shape(2))])


@pytest.fixture
def way(monkeypatch):
    """Parametrizes over the engines and returns the name of each."""

    def choose(name: str) -> str:
        monkeypatch.setenv(SWITCH, "0" if name == "levels in torch" else "1")
        return name.split()[0]

    return choose


def rows(num_rows: int) -> Tensor:
    return torch.randn(num_rows, IN_FEATS, dtype=torch.float64, requires_grad=True)


def second_gradients(states: tuple[Tensor, ...], leaf: Tensor, wanted: list[Tensor]) -> list:
    """Gradients of a gradient penalty, and of a function of gradients."""
    loss = sum(part.square().sum() for part in states)
    (gradient,) = torch.autograd.grad(loss, leaf, create_graph=True)
    penalty = loss + 10 * gradient.square().sum()
    second = torch.autograd.grad(
        penalty, wanted, create_graph=True, allow_unused=True, materialize_grads=True
    )
    return [gradient, *second, *torch.autograd.grad(second[0].square().sum(), leaf)]


def compare(way, run, leaf: Tensor, wanted: list[Tensor]) -> None:
    """Compares the results of a run on every engine with those on DGL."""
    expected = second_gradients(run(engine="dgl"), leaf, wanted)
    for name in ("levels", "levels in torch"):
        found = second_gradients(run(engine=way(name)), leaf, wanted)
        for got, known in zip(found, expected, strict=True):
            torch.testing.assert_close(got, known, rtol=1e-9, atol=1e-9)


@each_cell
def test_second_gradients_agree_with_dgl(row, way):
    structure, cell = row.small_structure(), row.cell()
    feat, arguments = rows(structure.num_nodes), row.arguments(structure)
    extra = [value.requires_grad_() for value in arguments.values()]
    run = functools.partial(row.run, cell, structure, feat, **arguments)
    compare(way, run, feat, [feat, *extra, *cell.parameters()])


@each_cell
@pytest.mark.parametrize("inner", [False, True])
def test_words(row, way, inner):
    structure, cell = row.small_structure(), row.cell()
    leaves = structure.leaves
    index = torch.where(leaves, torch.randint(0, 4, leaves.shape), -1)
    if inner:
        index = torch.where(leaves, index, torch.randint(-1, 6, leaves.shape))
    table = rows(6)
    arguments = row.arguments(structure)
    run = functools.partial(row.run, cell, structure, IndexedFeat(table, index), **arguments)
    compare(way, run, table, [table, *cell.parameters()])


@cells_where(lambda row: row.name in ("nary_lstm", "attentive_gru", "top_down_lstm"))
def test_initial_states(row, way):
    structure, cell = row.small_structure(), row.cell()
    feat, arguments = rows(structure.num_nodes), row.arguments(structure)
    parts = len(getattr(cell, "state_names", ("h", "c")))
    shape = (structure.num_nodes, cell.hidden_feats)
    state = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for _ in range(parts)]
    arguments["initial_state"] = state if parts > 1 else state[0]
    run = functools.partial(row.run, cell, structure, feat, **arguments)
    compare(way, run, feat, [feat, *state, *cell.parameters()])


@cells_where(lambda row: row.name in ("nary_lstm", "attentive_gru", "con_tree", "tree_net"))
def test_finite_differences(row):
    structure = min(row.every_structure()[1:], key=lambda tree: tree.num_nodes)
    cell = row.cell()
    graph, arguments = structure.graph(), row.arguments(structure)
    names = [name for name, _ in cell.named_parameters()]

    def states(feat, *parameters):
        weights = dict(zip(names, parameters, strict=True))
        return torch.func.functional_call(cell, weights, (graph, feat), arguments)

    given = (rows(structure.num_nodes), *cell.parameters())
    assert torch.autograd.gradgradcheck(states, given, fast_mode=True)


@each_cell
def test_products_with_the_hessian(row):
    structure, cell = row.small_structure(), row.cell()
    feat = rows(structure.num_nodes).detach()
    arguments = row.arguments(structure)
    found = [
        torch.autograd.functional.hvp(
            lambda x, name=name: row.run(cell, structure, x, engine=name, **arguments)[0].sum(),
            feat,
            torch.ones_like(feat),
        )[1]
        for name in ("levels", "dgl")
    ]
    assert found[0].abs().max() > 1e-3
    torch.testing.assert_close(*found, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["levels", "levels in torch"])
def test_weights_that_are_replaced_for_a_call(way, name):
    """Gradients are at the weights of the call, not at later weights of the cell."""
    cell, other = (cells.NaryTreeLSTM(IN_FEATS, HIDDEN_FEATS).double() for _ in range(2))
    weights = {name: value.detach().requires_grad_() for name, value in other.named_parameters()}
    feat, graph = rows(STRUCTURE.num_nodes), STRUCTURE.graph()
    wanted = [feat, *weights.values()]
    h = torch.func.functional_call(cell, weights, (graph, feat), {"engine": way(name)})
    found = second_gradients((h,), feat, wanted)
    h = other(graph, feat, engine="dgl")
    expected = second_gradients((h,), feat, [feat, *other.parameters()])
    for got, wanted in zip(found, expected, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-9, atol=1e-9)


def test_one_map_in_two_places(way):
    cell = cells.ChildSumTreeGRU(IN_FEATS, HIDDEN_FEATS).double()
    cell.U_z = cell.U
    feat, graph = rows(STRUCTURE.num_nodes), STRUCTURE.graph()

    def run(engine):
        return (cell(graph, feat, engine=engine),)

    compare(way, run, feat, [feat, *cell.parameters()])


@pytest.mark.parametrize("name", ["levels", "levels in torch"])
def test_penalties_of_absolute_values(way, name):
    """The second derivative of an absolute value is zeros that torch does not store."""
    cell, graph = cells.ChildSumTreeLSTM(IN_FEATS, HIDDEN_FEATS).double(), STRUCTURE.graph()
    feat, results = rows(STRUCTURE.num_nodes), []
    for engine in (way(name), "dgl"):
        states = cell(graph, feat, return_cell=True, engine=engine)
        loss = sum(part.abs().sum() for part in states)
        (gradient,) = torch.autograd.grad(loss, feat, create_graph=True)
        results.append(torch.autograd.grad(gradient.abs().sum(), [feat, *cell.parameters()]))
    for got, wanted in zip(*results, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-9, atol=1e-9)


class Constant(torch.autograd.Function):
    """Rows that no gradient reaches."""

    @staticmethod
    def forward(ctx, rows):
        return rows.clone()

    @staticmethod
    def backward(ctx, gradient):
        return None


@pytest.mark.parametrize("name", ["levels", "levels in torch", "dgl"])
def test_states_that_no_gradient_reaches(way, name):
    cell, feat = cells.ChildSumTreeGRU(IN_FEATS, HIDDEN_FEATS).double(), rows(STRUCTURE.num_nodes)
    h = cell(STRUCTURE.graph(), feat, engine=way(name))
    for create_graph in (True, False):
        (gradient,) = torch.autograd.grad(
            Constant.apply(h).sum(), feat, create_graph=create_graph, allow_unused=True
        )
        assert gradient is None or not gradient.any()


def test_autocast_of_the_forward_pass_alone():
    """The backward pass differentiates what the forward pass did, in its dtypes."""
    cell = cells.ChildSumTreeLSTM(IN_FEATS, HIDDEN_FEATS)
    feat, graph = torch.randn(STRUCTURE.num_nodes, IN_FEATS), STRUCTURE.graph()
    feat.requires_grad_()
    found = []
    for enabled in (True, False):
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            h = cell(graph, feat)
        (gradient,) = torch.autograd.grad(h.float().sum(), feat, create_graph=True)
        found.append(torch.autograd.grad(gradient.float().square().sum(), feat)[0])
    largest = found[1].abs().max()
    torch.testing.assert_close(*found, rtol=0, atol=0.1 * float(largest))


@each_cell
@pytest.mark.parametrize("name", ["levels", "levels in torch"])
def test_batched_gradients(row, way, name):
    structure, cell = row.small_structure(), row.cell()
    feat, arguments = rows(structure.num_nodes), row.arguments(structure)
    h = row.run(cell, structure, feat, engine=way(name), **arguments)[0]
    batch = torch.linspace(-1, 1, 2 * h.numel()).to(h).view(2, *h.shape)
    expected = [torch.autograd.grad(h, feat, part, retain_graph=True)[0] for part in batch]
    with pytest.raises(PropagationError, match="one at a time, got is_grads_batched"):
        torch.autograd.grad(h, feat, batch, is_grads_batched=True)
    h = row.run(cell, structure, feat, engine="dgl", **arguments)[0]
    (found,) = torch.autograd.grad(h, feat, batch, is_grads_batched=True)
    torch.testing.assert_close(found, torch.stack(expected), rtol=1e-9, atol=1e-9)


def test_a_linear_map_that_is_not_a_submodule(way):
    cell = cells.ChildSumTreeGRU(IN_FEATS, HIDDEN_FEATS).double()
    cell.kept = [cell.U_z]
    del cell.U_z
    cell.__class__ = type("Kept", (type(cell),), {"U_z": property(lambda self: self.kept[0])})
    feat, graph = rows(STRUCTURE.num_nodes), STRUCTURE.graph()
    wanted = [feat, *cell.parameters(), cell.U_z.weight]
    compare(way, lambda engine: (cell(graph, feat, engine=engine),), feat, wanted)


class Products(cells.TreeCell):
    """Products of the states of any number of predecessors, many of which are zeros."""

    state_names = ("h",)

    def project(self, feat: Tensor) -> Tensor:
        return feat

    def start(self, x: Tensor) -> tuple[Tensor]:
        return (torch.relu(x),)

    def combine(self, children: tuple[Tensor], x: Tensor) -> tuple[Tensor]:
        return (torch.tanh(x) + children[0].prod(1),)


def test_products_with_several_zeros(way):
    graph = join([bottom_up(star_shape(width)) for width in (1, 2, 3, 5, 8)]).graph()
    feat, cell = rows(graph.num_nodes()), Products(IN_FEATS, IN_FEATS)
    compare(way, lambda engine: (cell(graph, feat, engine=engine),), feat, [feat])


@pytest.mark.filterwarnings("ignore:.torch.jit")  # by torch itself
@pytest.mark.parametrize("gradients", [True, False])
@pytest.mark.parametrize("name", ["levels", "levels in torch"])
def test_forward_mode_gradients_of_parameters_are_not_lost(way, name, gradients):
    engine, forward_ad = way(name), torch.autograd.forward_ad
    cell = cells.ChildSumTreeLSTM(IN_FEATS, HIDDEN_FEATS).double()
    weight = cell.U.weight.detach()
    arguments = STRUCTURE.graph(), rows(STRUCTURE.num_nodes).detach()
    with forward_ad.dual_level(), torch.set_grad_enabled(gradients):
        given = {"U.weight": forward_ad.make_dual(weight, torch.ones_like(weight))}
        with pytest.raises(PropagationError, match="expected gradients in reverse mode"):
            torch.func.functional_call(cell, given, arguments, {"engine": engine})


@pytest.mark.filterwarnings("ignore:.torch.jit")
@pytest.mark.parametrize("gradients", [True, False])
@pytest.mark.parametrize("name", ["levels", "levels in torch"])
def test_forward_mode_gradients_of_initial_states_are_not_lost(way, name, gradients):
    engine, forward_ad = way(name), torch.autograd.forward_ad
    cell = cells.ChildSumTreeLSTM(IN_FEATS, HIDDEN_FEATS).double().requires_grad_(False)
    feat = rows(STRUCTURE.num_nodes).detach()
    state = torch.randn(STRUCTURE.num_nodes, HIDDEN_FEATS, dtype=torch.float64)
    with forward_ad.dual_level(), torch.set_grad_enabled(gradients):
        given = (forward_ad.make_dual(state, state), state)
        with pytest.raises(PropagationError, match="expected gradients in reverse mode"):
            cell(STRUCTURE.graph(), feat, given, engine=engine)
