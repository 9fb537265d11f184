"""NaN, infinity, and tensors with unusual strides."""

import pytest
import torch
from cell_contract import IN_FEATS, cells_where, each_cell
from cell_structures import join

from graphsent.kernels.library import SWITCH


@cells_where(lambda row: row.leaves_only)
@pytest.mark.parametrize("engine", ["dgl", "levels"])
def test_nan_in_ignored_rows(row, engine):
    """NaN in ignored rows affects neither states nor gradients."""
    structure, cell = row.small_structure(), row.cell()
    feat = torch.randn(structure.num_nodes, IN_FEATS, dtype=torch.float64)
    found = []
    for value in (0.0, torch.nan):
        given = feat.masked_fill(~structure.leaves.unsqueeze(1), value).requires_grad_()
        h = cell(structure.graph(), given, engine=engine, **row.arguments(structure))
        wanted = [given, *cell.parameters()]
        found.append([h, *torch.autograd.grad(h.square().sum(), wanted)])
    assert all(map(torch.equal, *found))


HEADS = ("head_words", "lexicalized_lstm", "bi_tree_lstm")


@each_cell
@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_infinite_and_nan_inputs(row, value, monkeypatch):
    """The same numbers on every engine, also infinity and NaN; see docs/engine.md for heads."""
    if row.name in HEADS and value == value:
        pytest.skip("mixtures of infinite words depend on the engine")
    structure, cell = join(row.every_structure()), row.cell()
    feat = torch.randn(structure.num_nodes, IN_FEATS, dtype=torch.float64)
    feat[torch.rand(feat.shape) < 0.05] = value
    arguments, found = row.arguments(structure), []
    for engine, kernels in (("dgl", "1"), ("levels", "1"), ("levels", "0")):
        monkeypatch.setenv(SWITCH, kernels)
        states = row.run(cell, structure, feat, engine=engine, **arguments)
        found.append(torch.cat(states, -1))
    for got in found[1:]:
        torch.testing.assert_close(got, found[0], rtol=1e-9, atol=1e-9, equal_nan=True)
    assert not found[0].isfinite().all() or value == value


def scattered(values):
    """Equal values that are not contiguous in memory."""
    return torch.stack((values, torch.full_like(values, 7)), -1)[..., 0]


def turned(values):
    """Equal values with the last dimension slowest, as ``nonzero`` or a copy may return them."""
    return values.transpose(0, -1).contiguous().transpose(0, -1) if values.dim() else values


@each_cell
@pytest.mark.parametrize("kernels", ["1", "0"])
@pytest.mark.parametrize("unpack", [scattered, turned])
def test_saved_tensors_with_other_strides(row, kernels, unpack, monkeypatch):
    """As saved-tensor hooks may return them."""
    monkeypatch.setenv(SWITCH, kernels)
    structure, cell = row.small_structure(), row.cell()
    feat = torch.randn(structure.num_nodes, IN_FEATS, dtype=torch.float64, requires_grad=True)
    wanted, found = [feat, *cell.parameters()], []
    arguments = row.arguments(structure)
    for hook in (lambda values: values, unpack):
        with torch.autograd.graph.saved_tensors_hooks(lambda values: values.clone(), hook):
            h = row.run(cell, structure, feat, **arguments)[0]
            found.append(torch.autograd.grad(h.square().sum(), wanted, allow_unused=True))
    for got, expected in zip(*found, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-12, atol=1e-12)
