"""A cell whose recursion contains any function, and its comparison with DGL."""

from __future__ import annotations

import copy

import torch
from generated_cases import results, tree
from torch import nn

from graphsent.cells import TreeCell

SIZE = 4


class Cell(TreeCell):
    """Parameters and a buffer for a function ``of`` to compute with."""

    state_names = ("h",)

    def __init__(self):
        super().__init__(3, SIZE)
        self.W, self.U, self.V = nn.Linear(3, SIZE), nn.Linear(SIZE, SIZE), nn.Linear(SIZE, SIZE)
        self.p, self.q = nn.Parameter(torch.tensor(2.0)), nn.Parameter(torch.rand(SIZE, SIZE))
        self.register_buffer("b", torch.tensor(2.0))
        self.V.weight = self.U.weight
        self.double()

    def project(self, feat):
        return self.W(feat)

    def start(self, x):
        return (torch.tanh(x),)

    def combine(self, children, x):
        return (torch.tanh(x + self.of(self.U(children[0].sum(1)))),)


def assert_same(cell: Cell) -> None:
    graph, feat = tree(20, 3), torch.randn(20, 3, dtype=torch.float64)
    expected = results(copy.deepcopy(cell), graph, feat, engine="dgl")
    for one, other in zip(results(cell, graph, feat), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10, equal_nan=True)
