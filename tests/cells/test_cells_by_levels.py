"""The cells of the package run by levels, from their traces."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from cell_contract import HIDDEN_FEATS, IN_FEATS, cells_where

from graphsent import cells
from graphsent._dgl import dgl
from graphsent.cells.base import TreeCell
from graphsent.kernels.library import SWITCH
from graphsent.propagation import run

TRACED = [
    cells.AttentiveTreeGRU,
    cells.AttentiveTreeLSTM,
    cells.ChildSumTreeGRU,
    cells.ChildSumTreeLSTM,
    cells.LexicalizedTreeLSTM,
    cells.NaryTreeLSTM,
    cells.RecursiveCell,
    cells.TopDownTreeLSTM,
    cells.TreeNet,
]


@pytest.mark.parametrize("switch", ["0", "1"])
@pytest.mark.parametrize("kind", TRACED, ids=lambda kind: kind.__name__)
def test_traced(kind, switch, monkeypatch):
    """The fast path is taken: slower ones would give the same results."""

    def refuse(*_):
        raise AssertionError("by combine")

    monkeypatch.setenv(SWITCH, switch)
    monkeypatch.setattr(TreeCell, "_run_functions", refuse)
    monkeypatch.setattr(run, "run_levels", refuse)
    cell = kind(IN_FEATS, HIDDEN_FEATS)
    if kind is cells.TopDownTreeLSTM:
        graph = dgl.graph(([0, 0], [1, 2]))
    else:
        graph = dgl.graph(([1, 2], [0, 0]))
    for name in ("child_index", "kind"):
        graph.edata[name] = torch.tensor([0, 1])
    assert cell(graph, torch.randn(3, IN_FEATS), engine="levels").shape == (3, HIDDEN_FEATS)


@cells_where(lambda row: isinstance(row.build(), TreeCell))
def test_traced_with_any_option(row):
    structure = row.small_structure()
    found = row.cell().explain(structure.graph(), **row.arguments(structure))
    assert found.way != "levels", found


@pytest.mark.parametrize("engine", ["levels", "dgl"])
def test_an_index_that_is_overwritten(engine):
    """Torch does not notice writes to the array that the tensor shares memory with."""
    graph, other = (dgl.graph(([1, 2], [0, 0])) for _ in range(2))
    cell, rows = cells.ChildSumTreeLSTM(IN_FEATS, HIDDEN_FEATS), torch.randn(5, IN_FEATS)
    numbers = np.array([-1, 0, 1])
    index = torch.from_numpy(numbers)
    for words in ([-1, 0, 1], [4, 2, 3], [-1, -1, 2]):
        numbers[:] = words
        found = cell(graph, cells.IndexedFeat(rows, index), engine=engine)
        expected = cell(other, cells.IndexedFeat(rows, torch.tensor(words)), engine=engine)
        assert torch.equal(found, expected)


@pytest.mark.parametrize("kind", [cells.NaryTreeLSTM, cells.LexicalizedTreeLSTM, cells.BiTreeLSTM])
def test_slots_that_are_overwritten(kind):
    """Torch does not notice what numpy writes to edge data, but results must not be stale."""
    graph = dgl.graph(([1, 2], [0, 0]))
    graph.edata["child_index"] = torch.tensor([0, 1])
    cell, feat = kind(IN_FEATS, HIDDEN_FEATS), torch.randn(3, IN_FEATS)
    for slots in ([0, 1], [1, 0], [0, 1]):
        graph.edata["child_index"].numpy()[:] = slots
        expected = cell(graph, feat, engine="dgl")
        torch.testing.assert_close(cell(graph, feat, engine="levels"), expected)
    graph.edata["child_index"].numpy()[:] = 1
    with pytest.raises(cells.CellError, match="differ in child_index"):
        cell(graph, feat, engine="levels")


def test_cells_with_different_numbers_of_slots():
    """Slots are cached with the graph, for each cell its own."""
    graph, feat = dgl.graph(([1, 2], [0, 0])), torch.randn(3, IN_FEATS)
    graph.edata["child_index"] = torch.tensor([1, 0])
    for num_slots in (2, 3, 2):
        cell = cells.NaryTreeLSTM(IN_FEATS, HIDDEN_FEATS, num_slots)
        expected = cell(graph, feat, engine="dgl")
        torch.testing.assert_close(cell(graph, feat, engine="levels"), expected)


@pytest.mark.parametrize("kind", [cells.NaryTreeLSTM, cells.ChildSumTreeLSTM])
def test_second_order_gradients_after_inference_mode(kind):
    """What is cached with a graph may be saved by autograd."""
    graph, feat = dgl.graph(([1, 2], [0, 0])), torch.randn(3, IN_FEATS, requires_grad=True)
    graph.edata["child_index"] = torch.tensor([0, 1])
    cell = kind(IN_FEATS, HIDDEN_FEATS)
    with torch.inference_mode():
        cell(graph, feat, engine="levels")
    h = cell(graph, feat, engine="levels")
    (gradient,) = torch.autograd.grad(h.square().sum(), feat, create_graph=True)
    gradient.square().sum().backward()
    assert feat.grad.isfinite().all()
