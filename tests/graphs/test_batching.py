from __future__ import annotations

import pytest
import torch
from graph_checks import DIRECTIONS, assert_same_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import WORDS, dependency_trees, trees

from graphsent._dgl import dgl
from graphsent.errors import DataError
from graphsent.graphs import (
    batch,
    constituency_batch,
    constituency_graph,
    dependency_batch,
    reverse,
    root_nodes,
    span_mean,
    to_networkx,
    unbatch,
)

VOCAB = {word: number for number, word in enumerate(WORDS)}
forests = st.lists(trees(), min_size=1, max_size=5)
every_direction = pytest.mark.parametrize("direction", DIRECTIONS)
few_examples = settings(max_examples=25)


@every_direction
@few_examples
@given(forests)
def test_unbatch_gives_the_graphs_back(direction, forest):
    parts = unbatch(constituency_batch(forest, direction, VOCAB))
    assert len(parts) == len(forest)
    for part, tree in zip(parts, forest, strict=True):
        assert_same_graph(part, constituency_graph(tree, direction, VOCAB))


def test_the_empty_batch_unbatches_to_nothing():
    assert unbatch(constituency_batch([])) == []


@few_examples
@given(forests)
def test_reverse_turns_bottom_up_into_top_down_and_back(forest):
    up, down = (constituency_batch(forest, direction) for direction in ("bottom_up", "top_down"))
    assert_same_graph(reverse(up), down)
    assert_same_graph(reverse(down), up)


def test_batch_of_graphs_of_int32():
    graphs = [constituency_graph("(1 (1 a) (1 b))"), constituency_batch(["(1 c)", "(1 d)"])]
    batched = batch([graph.int() for graph in graphs])
    assert batched.idtype == torch.int32
    assert_same_graph(batched.long(), batch(graphs))


def test_reverse_of_graphs_of_int32():
    graph = constituency_batch(["(1 (1 a) (1 b))", "(1 c)"])
    turned = reverse(graph.int())
    assert turned.idtype == torch.int32
    assert turned.batch_num_nodes().tolist() == [3, 1]
    assert_same_graph(turned.long(), reverse(graph))


def test_reverse_keeps_data_of_the_user():
    graph = constituency_graph("(3 (2 a) (3 film))")
    graph.ndata["h"] = torch.randn(3, 4)
    graph.edata["w"] = torch.randn(2)
    turned = reverse(graph)
    assert torch.equal(turned.ndata["h"], graph.ndata["h"])
    assert torch.equal(turned.edata["w"], graph.edata["w"])
    turned.ndata["more"] = torch.zeros(3)
    assert "more" not in graph.ndata
    bare = reverse(graph, copy_data=False)
    assert not bare.ndata
    assert not bare.edata


@every_direction
@few_examples
@given(forests)
def test_the_roots_are_one_per_sentence(direction, forest):
    graph = constituency_batch(forest, direction)
    starts = torch.cumsum(graph.batch_num_nodes(), 0) - graph.batch_num_nodes()
    assert torch.equal(root_nodes(graph), starts)
    assert torch.equal(root_nodes(reverse(graph)), starts)


@every_direction
@few_examples
@given(st.lists(dependency_trees(), min_size=1, max_size=5))
def test_the_roots_of_dependency_trees(direction, forest):
    graph = dependency_batch(forest, direction)
    starts = torch.cumsum(graph.batch_num_nodes(), 0) - graph.batch_num_nodes()
    roots = torch.tensor([tree.root for tree in forest])
    assert torch.equal(root_nodes(graph), starts + roots)


def test_no_graphs_and_mixed_graphs_are_rejected():
    with pytest.raises(DataError, match="at least one graph, got none"):
        batch([])
    tree = "(3 (2 a) (3 film))"
    mixed = [constituency_graph(tree), constituency_graph(tree, "sibling")]
    with pytest.raises(DataError, match="sibling graphs together with"):
        batch(mixed)
    with pytest.raises(DataError, match="the graph has no node data 'depth'"):
        root_nodes(dgl.graph(([0], [1])))


def test_heterographs_are_rejected():
    edges = {("a", "r", "b"): ([0], [1]), ("a", "s", "b"): ([0], [0])}
    functions = (root_nodes, reverse, to_networkx, lambda graph: span_mean(graph, torch.ones(3)))
    for function in functions:
        message = r"expected a homogeneous graph, got node types .*: convert it with dgl\.to_homog"
        with pytest.raises(DataError, match=message):
            function(dgl.heterograph(edges))
