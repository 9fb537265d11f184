from __future__ import annotations

import networkx
import pytest
import torch
from graph_checks import DIRECTIONS
from hypothesis import given, settings
from strategies import WORDS, chain_tree, dependency_trees, trees

from graphsent._dgl import dgl
from graphsent.errors import DataError
from graphsent.graphs import (
    constituency_batch,
    constituency_graph,
    dependency_graph,
    reverse,
    to_networkx,
)
from graphsent.graphs.convert import tree_parents
from graphsent.trees import DependencyTree, Tree
from graphsent.vocabulary import Vocabulary

VOCAB = {word: number for number, word in enumerate(WORDS)}
every_direction = pytest.mark.parametrize("direction", DIRECTIONS)
few_examples = settings(max_examples=25)


def tree() -> Tree:
    return Tree(["3", "2", "", "3", "2"], [None, "a", None, "lovely", "film"], [-1, 0, 0, 2, 2])


@given(trees())
def test_a_tree_becomes_an_arborescence(tree):
    digraph = to_networkx(tree)
    assert networkx.is_arborescence(digraph)
    assert list(digraph) == list(range(tree.num_nodes))
    assert [word for _, word in digraph.nodes(data="word")] == list(tree.tokens)
    depths = networkx.single_source_shortest_path_length(digraph, 0)
    assert dict(digraph.nodes(data="depth")) == depths


def test_attributes():
    digraph = to_networkx(tree())
    assert digraph.nodes[3] == {
        "word": "lovely",
        "label": "3",
        "parent": 2,
        "position": 1,
        "depth": 2,
        "span": (1, 2),
    }
    root = digraph.nodes[0]
    assert (root["word"], root["parent"], root["position"]) == (None, None, None)
    assert digraph.edges[2, 4] == {"id": 3, "child_index": 1}


def test_dependency_trees_have_relations():
    tree = DependencyTree(["a", "film"], [1, -1], relations=["det", "root"])
    digraph = to_networkx(tree)
    assert list(digraph.edges) == [(1, 0)]
    assert [relation for _, relation in digraph.nodes(data="relation")] == ["det", "root"]


@every_direction
@few_examples
@given(trees(max_leaves=8))
def test_a_graph_keeps_its_edges(direction, tree):
    graph = constituency_graph(tree, direction, VOCAB)
    digraph = to_networkx(graph, vocab=VOCAB)
    edges = {ends: number for *ends, number in digraph.edges(data="id") for ends in [tuple(ends)]}
    source, target = (ends.tolist() for ends in graph.edges(order="eid"))
    assert edges == {ends: edge for edge, ends in enumerate(zip(source, target, strict=True))}
    by_position = sorted(
        (data["position"], data["word"])
        for _, data in digraph.nodes(data=True)
        if data["word"] is not None
    )
    assert [word for _, word in by_position] == tree.words


@every_direction
@few_examples
@given(trees(max_leaves=8))
def test_parents_are_found_in_every_direction(direction, tree):
    graph = constituency_graph(tree, direction)
    for same in (graph, reverse(graph)):
        assert tree_parents(same)[: tree.num_nodes].tolist() == tree.parents.tolist()


@every_direction
@few_examples
@given(dependency_trees())
def test_parents_of_dependency_trees(direction, tree):
    graph = dependency_graph(tree, direction)
    for same in (graph, reverse(graph)):
        assert tree_parents(same)[: tree.num_nodes].tolist() == tree.heads.tolist()


def test_edge_data_of_the_user_are_no_attributes():
    graph = constituency_graph(tree())
    expected = list(to_networkx(graph).edges(data=True))
    graph.edata["id"], graph.edata["weight"] = torch.arange(4) + 7, torch.rand(4)
    assert list(to_networkx(graph).edges(data=True)) == expected


def test_words_of_a_graph():
    graph = constituency_graph(tree(), vocab=Vocabulary(["film"]))

    def words(**names):
        digraph = to_networkx(graph, **names)
        return [word for _, word in digraph.nodes(data="word") if word is not None]

    assert words() == ["word 0", "word 1", "word 2"]
    assert words(words=["a", "lovely", "film"]) == ["a", "lovely", "film"]
    assert words(vocab=Vocabulary(["film"])) == ["<unk>", "<unk>", "film"]
    with pytest.raises(DataError, match="the tree has 3 words, got 2"):
        words(words=["a", "b"])
    with pytest.raises(DataError, match="word 2 of the graph has token 1, not in vocab"):
        words(vocab={"a": 0})


def test_one_tree_of_a_batch():
    graph = constituency_batch([tree(), Tree(["1"], ["no"], [-1])])
    assert len(to_networkx(graph)) == 5
    assert to_networkx(graph, index=1).nodes[0]["label"] == "1"
    for index in (2, -1):
        with pytest.raises(DataError, match=rf"no tree {index} in a batch of 2"):
            to_networkx(graph, index=index)


def test_graphs_that_are_not_trees():
    graph = dgl.graph(([1, 2, 2], [0, 0, 1]))
    with pytest.raises(DataError, match="no node data 'token'"):
        to_networkx(graph)
    graph.ndata["depth"] = torch.tensor([0, 1, 2])
    with pytest.raises(DataError, match="no edge data 'child_index'"):
        tree_parents(graph)
    for source, target, depth in [
        ([1, 2, 2], [0, 0, 1], [0, 1, 2]),
        ([1, 1], [0, 2], [0, 1, 0]),  # two parents
        ([1], [0], [0, 1, 0]),  # two roots
        ([1, 2], [0, 1], [0, 1, 1]),  # a wrong depth
    ]:
        graph = dgl.graph((source, target), num_nodes=3)
        graph.ndata["depth"] = torch.tensor(depth)
        graph.edata["child_index"] = torch.zeros(len(source), dtype=torch.int64)
        with pytest.raises(DataError, match="the graph is not a tree"):
            tree_parents(graph)


def test_very_deep_trees():
    assert to_networkx(chain_tree(10_000)).number_of_edges() == 10_000
