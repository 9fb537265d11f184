"""Node data that cells read besides their features."""

from __future__ import annotations

import pytest
import torch
from generated_cases import HIDDEN_FEATS, IN_FEATS, tree
from torch import nn

from graphsent.cells import ChildSumTreeLSTM, IndexedFeat, TreeCell
from graphsent.cells.errors import CellError


class Scaled(ChildSumTreeLSTM):
    """A cell that reads integers besides its features."""

    input_names = ("x", "depth")

    def extra_inputs(self, graph, device):
        return {"depth": torch.arange(graph.num_nodes(), device=device).unsqueeze(1)}

    def start(self, x, depth):
        return super().start(x * depth)

    def combine(self, children, x, depth):
        return super().combine(children, x * depth)


def test_inputs_of_another_type_are_not_read_as_numbers_of_the_features():
    graph, cell = tree(30, 3), Scaled(IN_FEATS, HIDDEN_FEATS).double()
    feat = torch.randn(graph.num_nodes(), IN_FEATS, dtype=torch.float64)
    found = "inputs have different dtypes: feat torch.float64, depth torch.int64"
    assert str(cell.explain(graph)) == f"levels: {found}"
    expected = cell(graph, feat, engine="dgl")
    torch.testing.assert_close(cell(graph, feat), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", [(), (2, 3)])
def test_inputs_that_are_no_matrices_are_named(shape):
    class Shaped(Scaled):
        def extra_inputs(self, graph, device):
            return {"depth": torch.ones(graph.num_nodes(), *shape, device=device)}

    found = Shaped(IN_FEATS, HIDDEN_FEATS).explain(tree(30, 3))
    expected = f"its input depth has the shape {(30, *shape)}: (num_nodes, width) can be traced"
    assert str(found) == f"levels: {expected}"


class Weighted(ChildSumTreeLSTM):
    """A cell whose node data are always float32."""

    input_names = ("x", "weight")

    def extra_inputs(self, graph, device):
        return {"weight": graph.ndata["weight"].float().unsqueeze(1)}

    def start(self, x, weight):
        return super().start(x * weight)

    def combine(self, children, x, weight):
        return super().combine(children, x * weight)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_node_data_have_the_dtype_of_the_features(dtype):
    graph, cell = tree(30, 3), Weighted(IN_FEATS, HIDDEN_FEATS).to(dtype)
    graph.ndata["weight"] = torch.arange(graph.num_nodes())
    assert not cell.explain(graph).reason.startswith("inputs")
    feat = torch.randn(graph.num_nodes(), IN_FEATS, dtype=dtype)
    found = [cell(graph, feat, engine=engine) for engine in ("auto", "dgl")]
    torch.testing.assert_close(*found)
    assert found[0].dtype == dtype


def test_names_may_be_lists():
    graph, cell = tree(30, 3), Weighted(IN_FEATS, HIDDEN_FEATS)
    cell.state_names, cell.input_names = ["h", "c"], ["x", "weight"]
    graph.ndata["weight"] = torch.arange(graph.num_nodes())
    feat = torch.randn(graph.num_nodes(), IN_FEATS)
    found = [cell(graph, feat, return_cell=True, engine=engine) for engine in ("auto", "dgl")]
    torch.testing.assert_close(*found)


def test_nodes_that_share_features_have_node_data_of_their_own():
    graph, cell = tree(30, 3), Weighted(IN_FEATS, HIDDEN_FEATS)
    graph.ndata["weight"] = torch.linspace(0, 1, 30)
    feat = IndexedFeat(torch.randn(3, IN_FEATS), torch.arange(30) % 3)
    torch.testing.assert_close(cell(graph, feat), cell(graph, feat.dense(), engine="dgl"))


class Wide(TreeCell):
    """The first column of a projection of two, added to wider node data and a wider parameter."""

    state_names = ("h",)
    input_names = ("x", "row")

    def __init__(self):
        super().__init__(IN_FEATS, 40)
        self.W = nn.Linear(IN_FEATS, 2)
        self.b = nn.Parameter(torch.randn(40))

    def extra_inputs(self, graph, device):
        return {"row": torch.linspace(0, 1, graph.num_nodes() * 40).reshape(-1, 40)}

    def project(self, feat):
        return self.W(feat)

    def start(self, x, row):
        return (torch.tanh(x[:, :1] + row + self.b),)

    def combine(self, children, x, row):
        return (torch.tanh(x[:, 1:] + row + children[0].sum(1)),)


def test_leaves_read_no_more_columns_than_the_projection_has():
    """In compiled code, which would read beyond the weight."""
    graph, cell = tree(30, 3), Wide()
    feat = torch.randn(30, IN_FEATS)
    torch.testing.assert_close(cell(graph, feat), cell(graph, feat, engine="dgl"))


def test_autocast_widens_node_data_as_it_does_features():
    graph, cell = tree(30, 3), Weighted(IN_FEATS, HIDDEN_FEATS)
    graph.ndata["weight"] = torch.linspace(0, 1, 30).bfloat16()
    feat = torch.randn(graph.num_nodes(), IN_FEATS).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        found = cell(graph, feat)
    torch.testing.assert_close(found.float(), cell(graph, feat.float()), rtol=0, atol=0.02)


def test_missing_node_data_are_named():
    cell, graph = Weighted(IN_FEATS, HIDDEN_FEATS), tree(3, 3)
    for run in (lambda: cell(graph, torch.randn(3, IN_FEATS)), lambda: cell.explain(graph)):
        with pytest.raises(CellError, match=r"Weighted.extra_inputs failed.*\[\].*: no 'weight'"):
            run()


class Scale(TreeCell):
    """A cell without parameters."""

    state_names = ("h",)
    input_names = ("x", "weight")
    extra_inputs = Weighted.extra_inputs

    def project(self, feat):
        return feat

    def start(self, x, weight):
        return (x * weight,)

    def combine(self, children, x, weight):
        return (children[0].sum(1) + x * weight,)


def test_node_data_are_not_truncated_to_the_type_of_integer_features():
    graph, cell = tree(3, 3), Scale(1, 1)
    graph.ndata["weight"] = torch.full((3,), 1.5)
    with pytest.raises(CellError, match=r"start to return .* torch.int64"):
        cell(graph, torch.full((3, 1), 4))
