"""Custom cells and functions on graphs built by other code."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest
import torch
from test_own_cells import Own
from torch import nn

from graphsent import cells
from graphsent._dgl import dgl
from graphsent.cells.slots import CHILD_INDEX, edge_slots
from graphsent.errors import GraphsentWarning
from graphsent.propagation import PropagationError, prop_nodes_topo


class OwnSlots(cells.SlottedCell):
    """A custom cell with slots for predecessors."""

    state_names = ("h",)

    def __init__(self):
        super().__init__(3, 4, num_slots=3)
        self.W, self.U = nn.Linear(3, 4), nn.Linear(12, 4)

    def project(self, feat):
        return self.W(feat)

    def start(self, x):
        return (torch.tanh(x),)

    def combine(self, children, x):
        return (torch.tanh(x + self.U(children[0].flatten(1))),)


def several_types() -> dgl.DGLGraph:
    types = {("a", "to", "a"): ([1, 2, 3, 3], [0, 0, 1, 2]), ("a", "back", "a"): ([0], [3])}
    return dgl.heterograph(types)["to"]


SHARED = dgl.graph(([0, 1, 2, 2, 0], [2, 2, 3, 4, 4]))
GRAPHS = {
    "shared successors": SHARED,
    "several edges": dgl.graph(([1, 1, 2, 0], [0, 0, 0, 3])),
    "isolated nodes": dgl.graph(([1, 2], [0, 0]), num_nodes=6),
    "no edges": dgl.graph(([], []), num_nodes=3),
    "one type of several": several_types(),
    "batch": dgl.batch([SHARED, dgl.graph(([1, 1, 2], [0, 0, 0])), SHARED]),
    "subgraph": dgl.node_subgraph(SHARED, [0, 1, 2, 4]),
    "reversed": dgl.reverse(SHARED),
    "simple": dgl.to_simple(dgl.graph(([1, 1, 2, 0], [0, 0, 0, 3]))),
}
KINDS = {
    "own": Own,
    "own slots": OwnSlots,
    "child-sum": lambda: cells.ChildSumTreeLSTM(3, 4),
    "attentive": lambda: cells.AttentiveTreeLSTM(3, 4),
    "n-ary": lambda: cells.NaryTreeLSTM(3, 4, 3),
    "affine": lambda: cells.NaryTreeLSTM(3, 4, 3, leaf="affine"),
    "recursive": lambda: cells.RecursiveCell(3, 4, 3),
}


def outcome(cell, graph, feat, engine):
    """States, and gradients of inputs and parameters."""
    feat = feat.clone().requires_grad_()
    h = cell(graph, feat, engine=engine)
    targets = [feat, *cell.parameters()]
    weights = torch.linspace(-1, 1, h.numel(), dtype=h.dtype).view_as(h)
    return h, *torch.autograd.grad(
        (h * weights).sum(), targets, allow_unused=True, materialize_grads=True
    )


@pytest.mark.parametrize("idtype", [torch.int64, torch.int32], ids=str)
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_propagation_of_a_graph_gives_the_same(kind, graph, idtype):
    graph, cell = graph.astype(idtype), KINDS[kind]().double()
    graph.edata[CHILD_INDEX] = edge_slots(graph)
    feat = torch.randn(graph.num_nodes(), 3, dtype=torch.float64)
    found = outcome(cell, graph, feat, "levels")
    for part, other in zip(found, outcome(cell, graph, feat, "dgl"), strict=True):
        torch.testing.assert_close(part, other, rtol=0, atol=1e-10)
    with graph.local_scope(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The input graph for the user-defined edge function")
        graph.ndata.update(cell.node_inputs(graph, feat))
        for _ in range(4):
            graph.update_all(cell.message_func, cell.reduce_func, cell.apply_node_func)
        torch.testing.assert_close(graph.ndata["h"], found[0], rtol=0, atol=1e-10)


def own_message(edges):
    return {"m": edges.src["h"] * edges.data["w"]}


def own_reduce(nodes):
    return {"h": nodes.mailbox["m"].max(1).values + nodes.data["h"]}


@pytest.mark.parametrize("idtype", [torch.int64, torch.int32], ids=str)
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_user_defined_functions(graph, idtype):
    graph = graph.astype(idtype)
    graph.ndata["h"] = torch.randn(graph.num_nodes(), 4)
    graph.edata["w"] = torch.randn(graph.num_edges(), 1)
    found = []
    for propagate in (prop_nodes_topo, dgl.prop_nodes_topo):
        with graph.local_scope(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The input graph for the user-defined edge function")
            propagate(graph, own_message, own_reduce)
            found.append(graph.ndata["h"])
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("engine", ["levels", "dgl"])
@pytest.mark.parametrize("ends", [([0, 1], [0, 0]), ([0, 1, 2], [1, 2, 0])], ids=["loop", "cycle"])
def test_loops_and_cycles(ends, engine):
    graph = dgl.graph(ends).formats(["coo", "csr"])
    message = "expected an acyclic graph, got one with a cycle among its"
    with pytest.raises(PropagationError, match=message):
        Own()(graph, torch.randn(graph.num_nodes(), 3), engine=engine)
    with pytest.raises(PropagationError, match=message):
        Own().node_inputs(graph, torch.randn(graph.num_nodes(), 3))


@pytest.mark.parametrize("engine", ["levels", "dgl"])
@pytest.mark.parametrize("formats", ["csc", "csr", "coo", ["csc", "coo"]], ids=str)
def test_graphs_with_restricted_formats(formats, engine):
    cell, feat = Own(), torch.randn(5, 3)
    graph = SHARED.formats(formats)
    with pytest.raises(
        PropagationError,
        match=r"^expected a graph with all sparse formats, got one with \['c.+ only",
    ):
        cell(graph, feat, engine=engine)
    graph = graph.formats(["coo", "csr", "csc"])  # as the message says
    torch.testing.assert_close(cell(graph, feat, engine=engine), cell(SHARED, feat, engine=engine))


def test_a_graph_that_grows():
    graph, cell = dgl.graph(([1, 2], [0, 0])), Own()
    cell(graph, torch.randn(3, 3))
    graph.add_nodes(2)
    graph.add_edges([0, 3], [4, 4])
    feat = torch.randn(5, 3)
    torch.testing.assert_close(cell(graph, feat), cell(graph, feat, engine="dgl"))


@pytest.mark.filterwarnings("ignore:The input graph for the user-defined edge function")  # DGL's
def test_example_of_the_guide_runs():
    guide = Path(__file__).parents[2] / "docs" / "guide" / "cells.md"
    blocks = re.findall(r"```python\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 3
    names: dict = {}
    for block in blocks:
        exec(block, names)
    assert names["graph"].ndata["h"].shape == (5, 32)
    assert names["h"].shape == (7, 32)


# The order of predecessors

ORDERED = {
    "n-ary": (lambda: cells.NaryTreeLSTM(3, 4), "NaryTreeLSTM"),
    "recursive": (lambda: cells.RecursiveCell(3, 4), "RecursiveCell"),
    "lexicalized": (lambda: cells.LexicalizedTreeLSTM(3, 4), "LexicalizedTreeLSTM"),
    "bidirectional": (lambda: cells.BiTreeLSTM(3, 4), "LexicalizedTreeLSTM"),
}


@pytest.mark.parametrize("engine", ["levels", "dgl"])
@pytest.mark.parametrize(("make", "name"), ORDERED.values(), ids=ORDERED)
def test_the_order_of_edges_counts_with_a_warning(make, name, engine):
    cell, feat = make(), torch.randn(3, 3)
    marked = dgl.graph(([2, 1], [0, 0]))
    marked.edata[CHILD_INDEX] = torch.tensor([0, 1])
    expected = cell(marked, feat, engine=engine)
    plain = dgl.graph(([2, 1], [0, 0]))
    message = (
        f"the graph has no edge data 'child_index': {name} takes the children of a node in the "
        "order in which their edges were added"
    )
    with pytest.warns(GraphsentWarning, match=re.escape(message)) as caught:
        h = cell(plain, feat, engine=engine)
    assert len(caught) == 1
    cell(plain, feat, engine=engine)  # once per graph
    torch.testing.assert_close(h, expected)
    turned = dgl.graph(([1, 2], [0, 0]))
    with pytest.warns(GraphsentWarning):
        assert not torch.allclose(cell(turned, feat, engine=engine), expected)


def test_the_warning_is_shown_once_by_default(recwarn):
    warnings.simplefilter("default")
    for _ in range(3):
        cells.NaryTreeLSTM(3, 4)(dgl.graph(([2, 1], [0, 0])), torch.randn(3, 3))
    assert [warning.category for warning in recwarn] == [GraphsentWarning]


@pytest.mark.parametrize("engine", ["levels", "dgl"])
def test_no_warning_if_the_order_does_not_matter(engine):
    chain = dgl.graph(([1, 2], [0, 1]), num_nodes=5)
    cells.NaryTreeLSTM(3, 4)(chain, torch.randn(5, 3), engine=engine)
    pair = dgl.graph(([2, 1], [0, 0]))
    cells.ChildSumTreeLSTM(3, 4)(pair, torch.randn(3, 3), engine=engine)
    cells.AttentiveTreeGRU(3, 4)(pair, torch.randn(3, 3), engine=engine)
