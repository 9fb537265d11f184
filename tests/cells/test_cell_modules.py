"""The cells behave as torch modules should, on both engines."""

import copy
import io
import pickle

import pytest
import torch
from cell_contract import HIDDEN_FEATS, IN_FEATS, cells_where, each_cell
from torch.utils.checkpoint import checkpoint

from graphsent import cells
from graphsent._dgl import dgl


@pytest.fixture(params=["levels", "dgl"])
def case(row, request):
    structure = row.small_structure()
    feat = torch.randn(structure.num_nodes, IN_FEATS, dtype=torch.float64)
    arguments = {**row.arguments(structure), "engine": request.param}
    return row.cell(), structure.graph(), feat, arguments


def cast(arguments, dtype):
    return {
        name: value.to(dtype) if isinstance(value, torch.Tensor) else value
        for name, value in arguments.items()
    }


@each_cell
def test_float32_and_bfloat16(row, case):
    cell, graph, feat, arguments = case
    exact = cell(graph, feat, **arguments)
    for dtype, tolerance in ((torch.float32, 1e-4), (torch.bfloat16, 0.3)):
        cell = cell.to(dtype)
        narrow = cast(arguments, dtype)
        h = cell(graph, feat.to(dtype), **narrow)
        assert h.dtype == dtype
        torch.testing.assert_close(h.double(), exact, rtol=0, atol=tolerance)
        h.sum().backward()
        assert all(p.grad is None or p.grad.dtype == dtype for p in cell.parameters())
        cell.zero_grad()


@each_cell
def test_autocast(row, case):
    check_autocast(*case)


def check_autocast(cell, graph, feat, arguments):
    """Compares states and gradients with those without; the backward pass in it, and after it."""

    def gradients(h, feat):
        return torch.autograd.grad(h.double().square().sum(), [feat, *cell.parameters()])

    feat.requires_grad_()
    exact = cell(graph, feat, **arguments)
    expected = gradients(exact, feat)
    cell, arguments = cell.float(), cast(arguments, torch.float32)
    narrow = feat.detach().float().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        h = cell(graph, narrow, **arguments)
        within = gradients(cell(graph, narrow, **arguments), narrow)
    torch.testing.assert_close(h.double(), exact, rtol=0, atol=0.3)
    for found in (within, gradients(h, narrow)):
        for got, known in zip(found, expected, strict=True):
            tolerance = 0.05 * max(1.0, float(known.abs().max()))
            torch.testing.assert_close(got.double(), known, rtol=0, atol=tolerance)


class Compositor(torch.nn.Module):
    """One linear map of child and sibling."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2 * HIDDEN_FEATS, HIDDEN_FEATS)

    def forward(self, child, sibling):
        return self.linear(torch.cat((child, sibling), -1))


@pytest.mark.parametrize("engine", ["levels", "dgl"])
@pytest.mark.parametrize("kind", ["parametrized", "linear compositor"])
def test_autocast_of_other_maps(kind, engine):
    if kind == "parametrized":
        cell = cells.ChildSumTreeLSTM(IN_FEATS, HIDDEN_FEATS)
        torch.nn.utils.parametrizations.weight_norm(cell.U)
    else:
        encoder = torch.nn.Linear(IN_FEATS, HIDDEN_FEATS)
        maps = {"encoder": encoder, "compositor": Compositor()}
        cell = cells.TreeNet(IN_FEATS, HIDDEN_FEATS, **maps, memory=False)
    graph = dgl.graph(([3, 1, 4, 2], [1, 2, 2, 0]))
    graph.edata["kind"] = torch.tensor([1, 0, 1, 1])
    feat = torch.randn(5, IN_FEATS, dtype=torch.float64)
    check_autocast(cell.double(), graph, feat, {"engine": engine})


@each_cell
def test_no_grad_and_eval(row, case):
    cell, graph, feat, arguments = case
    expected = cell(graph, feat, **arguments)
    with torch.no_grad():
        h = cell(graph, feat, **arguments)
    assert not h.requires_grad
    assert torch.equal(h, expected)
    with torch.inference_mode():
        assert torch.equal(cell.eval()(graph, feat, **arguments), expected)


@each_cell
def test_functional_call(row, case):
    cell, graph, feat, arguments = case
    other = row.cell()
    weights = {name: value.detach() for name, value in other.named_parameters()}
    h = torch.func.functional_call(cell, weights, (graph, feat), arguments)
    assert torch.equal(h, other(graph, feat, **arguments))
    assert not torch.equal(h, cell(graph, feat, **arguments))


@each_cell
def test_copies_and_state_dicts(row, case):
    cell, graph, feat, arguments = case
    expected = cell(graph, feat, **arguments)
    loaded = row.build().double()
    loaded.load_state_dict(cell.state_dict())
    file = io.BytesIO()
    torch.save(cell.state_dict(), file)
    file.seek(0)
    saved = row.build().double()
    saved.load_state_dict(torch.load(file))
    for twin in (copy.deepcopy(cell), pickle.loads(pickle.dumps(cell)), loaded, saved):
        assert torch.equal(twin(graph, feat, **arguments), expected)
        assert repr(twin) == repr(cell)


@each_cell
def test_checkpoint(row, case):
    cell, graph, feat, arguments = case
    feat.requires_grad_()
    cell(graph, feat, **arguments).square().sum().backward()
    expected, feat.grad = feat.grad, None
    h = checkpoint(cell, graph, feat, use_reentrant=False, **arguments)
    h.square().sum().backward()
    torch.testing.assert_close(feat.grad, expected, rtol=0, atol=1e-12)


@each_cell
def test_reset_draws_all_matrices_anew(row):
    cell = row.build()
    fresh = {name: value.clone() for name, value in cell.state_dict().items()}
    for parameter in cell.parameters():
        torch.nn.init.constant_(parameter, 7.0)
    cell.reset_parameters()
    for name, value in cell.state_dict().items():
        assert not value.eq(7.0).any(), name
        if value.dim() > 1:
            assert not torch.equal(value, fresh[name]), name
    torch.manual_seed(0)
    first = row.build().state_dict()
    torch.manual_seed(0)
    assert all(torch.equal(value, first[name]) for name, value in row.build().state_dict().items())


@each_cell
def test_every_parameter_is_used(row, case):
    cell, graph, feat, arguments = case
    cell(graph, feat, **arguments).square().sum().backward()
    assert all(p.grad is not None and p.grad.ne(0).any() for p in cell.parameters())


@each_cell
def test_repr_gives_the_sizes_and_options(row):
    text = repr(row.build()).replace("\n", " ")
    assert str(IN_FEATS) in text
    for name in ("gate_output", "leaf_peephole", "td_share_input"):
        options = {**row.options, **({"td_share_input": False} if "unshared" in row.name else {})}
        if name in options:
            assert f"{name}={options[name]}" in text


@cells_where(lambda row: row.name.endswith("lstm"))
def test_cell_states_come_on_request(row, case):
    cell, graph, feat, arguments = case
    h, c = cell(graph, feat, return_cell=True, **arguments)
    assert h.shape == c.shape == (len(feat), cell.out_feats)
    assert torch.equal(cell(graph, feat, **arguments), h)


@pytest.mark.parametrize("name", ["ChildSumTreeLSTM", "NaryTreeLSTM", "AttentiveTreeLSTM"])
def test_a_map_of_the_inputs_without_bias(name):
    cell = getattr(cells, name)(5, 4)
    cell.W = torch.nn.Linear(5, cell.W.out_features, bias=False)
    graph, feat = dgl.graph(([1, 2, 3], [0, 0, 1])), torch.randn(4, 5)
    graph.edata["child_index"] = torch.tensor([0, 1, 0])
    by_dgl, by_levels = (cell(graph, feat, engine=engine) for engine in ("dgl", "levels"))
    torch.testing.assert_close(by_levels, by_dgl)
