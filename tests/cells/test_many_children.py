"""Rounding in float32 for nodes with very many children, and for very many nodes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from graphsent import cells
from graphsent._dgl import dgl
from graphsent.kernels.library import SWITCH

NUM_CHILDREN = 100_000
CELLS = (
    cells.ChildSumTreeLSTM,
    cells.ChildSumTreeGRU,
    cells.AttentiveTreeLSTM,
    cells.AttentiveTreeGRU,
)


def values_and_gradients(cell: torch.nn.Module, graph: dgl.DGLGraph, feat: Tensor) -> list[Tensor]:
    """The states, and the gradient of the inputs."""
    feat = feat.clone().requires_grad_()
    h = cell(graph, feat, engine="levels")
    weights = torch.linspace(-1, 1, h.numel(), dtype=h.dtype).view_as(h)
    return [h, *torch.autograd.grad((h * weights).sum(), feat)]


@pytest.mark.parametrize("kernels", ["0", "1"])
@pytest.mark.parametrize("make", CELLS)
def test_rounding_does_not_grow_with_the_number_of_children(make, kernels, monkeypatch):
    monkeypatch.setenv(SWITCH, kernels)
    torch.manual_seed(0)
    cell = make(5, 4)
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.mul_(0.1)  # so that the sums leave the gates of their target open
    children = torch.arange(1, NUM_CHILDREN + 1)
    graph = dgl.graph((children, torch.zeros_like(children)))
    feat = torch.randn(NUM_CHILDREN + 1, 5)
    single = values_and_gradients(cell, graph, feat)
    double = values_and_gradients(cell.double(), graph, feat.double())
    for ours, exact in zip(single, double, strict=True):
        assert (ours - exact).abs().max() <= 3e-6 * exact.abs().max()


class Biased(cells.TreeCell):
    """Two biases: of a projection, and one that is added at each node."""

    state_names = ("h",)

    def __init__(self, in_feats: int, hidden_feats: int) -> None:
        super().__init__(in_feats, hidden_feats)
        self.W = nn.Linear(in_feats, hidden_feats)
        self.b = nn.Parameter(torch.zeros(hidden_feats))

    def project(self, feat: Tensor) -> Tensor:
        return self.W(feat)

    def start(self, x: Tensor) -> tuple[Tensor]:
        return (x,)

    def combine(self, children: tuple[Tensor], x: Tensor) -> tuple[Tensor]:
        return (x + self.b + children[0].sum(1),)


@pytest.mark.parametrize("kernels", ["0", "1"])
def test_rounding_of_gradients_of_biases_does_not_grow_with_the_number_of_nodes(
    kernels, monkeypatch
):
    monkeypatch.setenv(SWITCH, kernels)
    cell, leaves = Biased(2, 40), torch.arange(50_000)
    graph = dgl.graph((leaves, leaves + len(leaves)))
    (0.1 * cell(graph, torch.randn(graph.num_nodes(), 2))).sum().backward()
    for bias, count in ((cell.W.bias, 3 * len(leaves)), (cell.b, len(leaves))):
        torch.testing.assert_close(bias.grad, torch.full_like(bias, 0.1 * count), rtol=1e-5, atol=0)
