"""The cells behave as torch modules should on both engines, beyond the contract's checks."""

import pytest
import torch
from cell_contract import HIDDEN_FEATS, IN_FEATS, cells_where, each_cell

from graphsent import cells
from graphsent._dgl import dgl
from graphsent.testing import module_checks
from graphsent.testing.case import Case

each_engine = pytest.mark.parametrize("engine", ["levels", "dgl"])


@each_cell
@each_engine
def test_autocast(row, engine):
    module_checks.under_autocast(row.case(), engine, tolerance=0.05)


class Compositor(torch.nn.Module):
    """One linear map of child and sibling."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2 * HIDDEN_FEATS, HIDDEN_FEATS)

    def forward(self, child, sibling):
        return self.linear(torch.cat((child, sibling), -1))


def of_parametrized_weights(in_feats, hidden_feats):
    cell = cells.ChildSumTreeLSTM(in_feats, hidden_feats)
    torch.nn.utils.parametrizations.weight_norm(cell.U)
    return cell


def of_a_linear_compositor(in_feats, hidden_feats):
    maps = {"encoder": torch.nn.Linear(in_feats, hidden_feats), "compositor": Compositor()}
    return cells.TreeNet(in_feats, hidden_feats, **maps, memory=False)


@each_engine
@pytest.mark.parametrize("build", [of_parametrized_weights, of_a_linear_compositor])
def test_autocast_of_other_maps(build, engine):
    graph = dgl.graph(([3, 1, 4, 2], [1, 2, 2, 0]))
    graph.edata["kind"] = torch.tensor([1, 0, 1, 1])
    case = Case(build, {"tree": graph}, lambda graph: {})
    module_checks.under_autocast(case, engine, tolerance=0.05)


@each_cell
def test_repr_gives_the_sizes_and_options(row):
    text = repr(row.build()).replace("\n", " ")
    assert str(IN_FEATS) in text
    for name in ("gate_output", "leaf_peephole", "td_share_input"):
        options = {**row.options, **({"td_share_input": False} if "unshared" in row.name else {})}
        if name in options:
            assert f"{name}={options[name]}" in text


@cells_where(lambda row: row.name.endswith("lstm"))
@each_engine
def test_cell_states_come_on_request(row, engine):
    structure, cell = row.small_structure(), row.cell()
    feat = torch.randn(structure.num_nodes, IN_FEATS, dtype=torch.float64)
    arguments = {**row.arguments(structure), "engine": engine}
    h, c = cell(structure.graph(), feat, return_cell=True, **arguments)
    assert h.shape == c.shape == (len(feat), cell.out_feats)
    assert torch.equal(cell(structure.graph(), feat, **arguments), h)


@pytest.mark.parametrize("name", ["ChildSumTreeLSTM", "NaryTreeLSTM", "AttentiveTreeLSTM"])
def test_a_map_of_the_inputs_without_bias(name):
    cell = getattr(cells, name)(5, 4)
    cell.W = torch.nn.Linear(5, cell.W.out_features, bias=False)
    graph, feat = dgl.graph(([1, 2, 3], [0, 0, 1])), torch.randn(4, 5)
    graph.edata["child_index"] = torch.tensor([0, 1, 0])
    by_dgl, by_levels = (cell(graph, feat, engine=engine) for engine in ("dgl", "levels"))
    torch.testing.assert_close(by_levels, by_dgl)
