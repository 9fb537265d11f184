"""Cells in generated code, compared with the same cells level by level in torch."""

from __future__ import annotations

import random
from functools import partial

import pytest
import torch
import users_cells
from torch import Tensor, nn

from graphsent._dgl import dgl
from graphsent.cells import (
    AttentiveTreeGRU,
    AttentiveTreeLSTM,
    ChildSumTreeGRU,
    ChildSumTreeLSTM,
    IndexedFeat,
    SlottedCell,
)
from graphsent.kernels.library import SWITCH, kernels_in_use

HAS_COMPILER = kernels_in_use(torch.float64)
needs_compiler = pytest.mark.skipif(not HAS_COMPILER, reason="there is no C compiler")
IN_FEATS, HIDDEN_FEATS = 5, 19  # more than a SIMD vector, and not a multiple of it
OURS = {
    "child-sum LSTM": ChildSumTreeLSTM,
    "ungated LSTM": partial(ChildSumTreeLSTM, gate_output=False),
    "child-sum GRU": ChildSumTreeGRU,
    "literal GRU": partial(ChildSumTreeGRU, reset="literal"),
    "attentive LSTM": AttentiveTreeLSTM,
    "attended memory": partial(AttentiveTreeLSTM, memory="attended"),
    "attended gates": partial(AttentiveTreeLSTM, memory="both", gate_output=False),
    "attentive GRU": AttentiveTreeGRU,
}
CELLS = {**users_cells.CELLS, **OURS}
each_cell = pytest.mark.parametrize("name", CELLS)


def build(name: str, dtype: torch.dtype = torch.float64) -> nn.Module:
    """A cell of the usual sizes."""
    return CELLS[name](IN_FEATS, HIDDEN_FEATS).to(dtype)


def tree(num_nodes: int, most: int, seed: int = 0) -> dgl.DGLGraph:
    """A random tree whose nodes have so many children at most."""
    rng, free, edges = random.Random(seed), [0] * most, []
    for node in range(1, num_nodes):
        parent = free.pop(rng.randrange(len(free)))
        edges.append((node, parent))
        free += [node] * most
    graph = dgl.graph(edges, num_nodes=num_nodes)
    taken: dict[int, int] = {}
    slots = []
    for _, parent in edges:
        slots.append(taken.get(parent, 0))
        taken[parent] = slots[-1] + 1
    graph.edata["child_index"] = torch.tensor(slots, dtype=torch.int64)
    return graph


def shared(num_nodes: int, most: int, seed: int = 0) -> dgl.DGLGraph:
    """A graph in which nodes have several successors."""
    rng, edges, slots = random.Random(seed), [], []
    for node in range(num_nodes):
        count = rng.randint(0, min(most, node))
        edges += [(before, node) for before in rng.sample(range(node), count)]
        slots += rng.sample(range(most), count)
    graph = dgl.graph(edges, num_nodes=num_nodes)
    graph.edata["child_index"] = torch.tensor(slots, dtype=torch.int64)
    return graph


def graphs_for(cell: nn.Module) -> dict[str, dgl.DGLGraph]:
    most = cell.num_slots if isinstance(cell, SlottedCell) else 6
    found = {
        "one node": tree(1, 1),
        "two nodes": tree(2, 1),
        "chain": tree(12, 1),
        "tree": tree(60, most),
        "trees": dgl.batch([tree(n, most, n) for n in (1, 30, 2)]),
        "shared": shared(40, most),
    }
    if not isinstance(cell, SlottedCell):
        found["star"] = star(30)
    return found


def star(num_children: int) -> dgl.DGLGraph:
    children = torch.arange(1, num_children + 1)
    return dgl.graph((children, torch.zeros_like(children)))


def results(cell: nn.Module, graph: dgl.DGLGraph, feat: Tensor | IndexedFeat, **extra) -> list:
    """States, and gradients of inputs and parameters."""
    cell.zero_grad()
    given = feat if isinstance(feat, Tensor) else feat.rows
    given = given.clone().requires_grad_()
    feat = given if isinstance(feat, Tensor) else feat._replace(rows=given)
    states = cell.run(graph, feat, **extra)
    weights = [torch.linspace(-1, 2, part.numel()).to(part).view_as(part) for part in states]
    sum((part * weight).sum() for part, weight in zip(states, weights, strict=True)).backward()
    gradients = [part.grad for part in cell.parameters()]
    return [*states, given.grad, *(torch.zeros(()) if g is None else g for g in gradients)]


def assert_same(cell, graph, feat, monkeypatch, tolerance=1e-12, **extra) -> None:
    expected = results(cell, graph, feat, **extra, engine="dgl")
    ways = [("compiled", "1"), ("traced", "0")]
    for way, switch in ways if HAS_COMPILER else ways[1:]:
        monkeypatch.setenv(SWITCH, switch)
        assert cell.explain(graph).way == (way if graph.num_edges() else "levels")
        found = results(cell, graph, feat, **extra)
        for one, other in zip(found, expected, strict=True):
            scale = max(float(other.detach().abs().max()), 1) if other.numel() else 1
            torch.testing.assert_close(one, other, rtol=0, atol=tolerance * scale)
    monkeypatch.setenv(SWITCH, "1")
