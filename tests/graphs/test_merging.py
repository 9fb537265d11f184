"""Graphs in which every distinct subtree occurs once."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import WORDS, trees

from graphsent import cells
from graphsent._dgl import dgl
from graphsent.errors import DataError
from graphsent.graphs import constituency_batch, merge_equal_subtrees
from graphsent.trees import Tree

VOCAB = {word: number for number, word in enumerate(WORDS)}


def written_out(graph: dgl.DGLGraph) -> list[str]:
    """What is below each node, in brackets."""
    below: list[list[int]] = [[] for _ in range(graph.num_nodes())]
    for child, node in zip(*(ends.tolist() for ends in graph.edges(order="eid")), strict=True):
        below[node].append(child)
    tokens = graph.ndata["token"].tolist()
    texts: dict[int, str] = {}
    for nodes in dgl.topological_nodes_generator(graph):
        for node in nodes.tolist():
            texts[node] = f"({tokens[node]} {' '.join(texts[child] for child in below[node])})"
    return [texts[node] for node in range(graph.num_nodes())]


@given(st.lists(trees(), min_size=1, max_size=4))
def test_each_distinct_subtree_is_one_node(some):
    graph = constituency_batch([*some, *some[:2]], vocab=VOCAB)
    merged = merge_equal_subtrees(graph)
    ours, theirs = written_out(merged.graph), written_out(graph)
    assert [ours[node] for node in merged.index.tolist()] == theirs
    assert ours == list(dict.fromkeys(theirs))  # each once, in the order of first occurrences
    assert [theirs[node] for node in merged.first.tolist()] == ours


@pytest.mark.parametrize("name", ["ChildSumTreeLSTM", "NaryTreeLSTM", "AttentiveTreeGRU"])
def test_states_and_gradients_are_those_of_the_graph(name):
    torch.manual_seed(0)
    texts = ["(0 (0 a) (0 (0 b) (0 a)))", "(0 (0 (0 b) (0 a)) (0 (0 b) (0 a)))", "(0 b)"]
    graph = constituency_batch(list(map(Tree.from_string, texts)), vocab={"a": 0, "b": 1})
    table = torch.randn(3, 4, dtype=torch.float64)
    cell = getattr(cells, name)(4, 3).double()

    def run(graph, index):
        rows = table.clone().requires_grad_()
        h = cell(graph, rows[graph.ndata["token"]])[index]
        gradients = torch.autograd.grad(h.cos().sum(), [rows, *cell.parameters()])
        return [h, *gradients]

    merged = merge_equal_subtrees(graph)
    assert merged.graph.num_nodes() == 5  # a, b, (b a) and the two roots
    whole = run(graph, torch.arange(graph.num_nodes()))
    for ours, theirs in zip(run(merged.graph, merged.index), whole, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


def test_order_and_data_of_edges_tell_nodes_apart():
    graph = dgl.graph(([2, 3, 3, 2, 2, 3], [0, 0, 1, 1, 4, 4]))
    graph.ndata["token"] = torch.tensor([5, 5, 6, 7, 5])
    assert merge_equal_subtrees(graph).index.tolist() == [0, 1, 2, 3, 0]
    graph.edata["child_index"] = torch.tensor([0, 1, 0, 1, 1, 0])
    merged = merge_equal_subtrees(graph)
    assert merged.index.tolist() == [0, 1, 2, 3, 4]
    assert merged.graph.edata["child_index"].tolist() == [0, 1, 0, 1, 1, 0]
    assert merge_equal_subtrees(graph, edge_fields=()).index.tolist() == [0, 1, 2, 3, 0]


def test_nodes_of_a_graph_may_have_several_successors():
    graph = dgl.graph(([0, 0, 1, 2], [1, 2, 3, 3]))
    graph.ndata["token"] = torch.tensor([0, 1, 1, 2])
    graph.ndata["pair"] = torch.tensor([[0, 0], [0, 1], [0, 2], [0, 0]])
    merged = merge_equal_subtrees(graph)
    assert merged.index.tolist() == [0, 1, 1, 2]
    assert [ends.tolist() for ends in merged.graph.edges()] == [[0, 1, 1], [1, 2, 2]]
    assert merge_equal_subtrees(graph, ("token", "pair")).index.tolist() == [0, 1, 2, 3]


def test_graphs_of_short_numbers():
    graph = dgl.graph(([0, 1], [2, 2]), idtype=torch.int32)
    graph.ndata["token"] = torch.tensor([0, 0, 1])
    merged = merge_equal_subtrees(graph).graph
    assert merged.idtype == torch.int32
    assert [ends.tolist() for ends in merged.edges()] == [[0, 0], [1, 1]]


@pytest.mark.parametrize("num_nodes", [0, 1])
def test_graphs_without_edges(num_nodes):
    graph = dgl.graph(([], []), num_nodes=num_nodes)
    graph.ndata["token"] = torch.zeros(num_nodes, dtype=torch.int64)
    merged = merge_equal_subtrees(graph)
    assert merged.graph.num_nodes() == len(merged.index) == len(merged.first) == num_nodes


def test_cycles_and_unusable_fields_are_refused():
    graph = dgl.graph(([0, 1], [1, 0]))
    graph.ndata["token"], graph.ndata["x"] = torch.zeros(2).long(), torch.zeros(2)
    with pytest.raises(DataError, match="a cycle among its 2 nodes"):
        merge_equal_subtrees(graph)
    with pytest.raises(DataError, match=r"node data 'x' of integers, got torch\.float32"):
        merge_equal_subtrees(graph, ["x"])
    with pytest.raises(DataError, match=r"expected node data 'y', got \['token', 'x'\]"):
        merge_equal_subtrees(graph, ["y"])
    with pytest.raises(DataError, match="tells nodes apart, got none"):
        merge_equal_subtrees(graph, ())
    with pytest.raises(DataError, match=r"all sparse formats, got one with \['csc'\] alone: graph"):
        merge_equal_subtrees(graph.formats("csc"))
    with pytest.raises(DataError, match="expected a DGLGraph, got tuple"):
        merge_equal_subtrees(([0], [1]))
