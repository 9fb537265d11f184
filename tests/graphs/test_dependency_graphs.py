from __future__ import annotations

import pytest
from graph_checks import (
    DIRECTIONS,
    assert_matches,
    assert_same_graph,
    dependency_nodes,
    with_head_nodes,
    with_token_nodes,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import WORDS, dependency_trees

from graphsent.errors import DataError
from graphsent.graphs import batch, dependency_batch, dependency_graph, fields
from graphsent.trees import DependencyTree

VOCAB = {word: number for number, word in enumerate(WORDS)}

every_direction = pytest.mark.parametrize("direction", DIRECTIONS)
few_examples = settings(max_examples=25)


def tree() -> DependencyTree:
    return DependencyTree(["a", "lovely", "film"], [2, 2, -1], labels=["2", "4", "3"])


def test_bottom_up_by_hand():
    graph = dependency_graph(tree(), vocab=VOCAB)
    assert [ends.tolist() for ends in graph.edges()] == [[0, 1], [2, 2]]
    assert graph.edata["child_index"].tolist() == [0, 1]
    assert graph.ndata["token"].tolist() == [0, 1, 2]
    assert graph.ndata["label"].tolist() == [2, 4, 3]
    assert graph.ndata["span"].tolist() == [[0, 1], [1, 2], [0, 3]]


def test_sibling_by_hand():
    graph = dependency_graph(tree(), "sibling", VOCAB)
    # words 0 to 2, the node for "film" itself 3, tokens 4 to 6
    edges = list(zip(*(ends.tolist() for ends in graph.edges()), strict=True))
    assert edges == [(0, 1), (1, 3), (3, 2), (4, 0), (5, 1), (6, 3)]
    assert graph.edata["kind"].tolist() == [0, 0, 1, 1, 1, 1]
    assert graph.edata["child_index"].tolist() == [0, 1, 2, 0, 0, 0]
    assert graph.ndata["token"].tolist() == [-1, -1, -1, -1, 0, 1, 2]
    assert graph.ndata["label"].tolist() == [2, 4, 3, -1, -1, -1, -1]
    assert graph.ndata["depth"].tolist() == [1, 1, 0, 1, 2, 2, 2]
    assert graph.ndata["span"].tolist() == [[0, 1], [1, 2], [0, 3], [2, 3], [0, 1], [1, 2], [2, 3]]


@every_direction
@few_examples
@given(dependency_trees(max_words=9))
def test_a_graph_equals_that_of_the_slow_builder(direction, tree):
    nodes = dependency_nodes(tree)
    if direction == "sibling":
        nodes = with_token_nodes(with_head_nodes(nodes))
    assert_matches(dependency_graph(tree, direction, VOCAB), nodes, direction, VOCAB)


@every_direction
@few_examples
@given(st.lists(dependency_trees(), min_size=1, max_size=6))
def test_a_batch_is_the_batch_of_its_graphs(direction, forest):
    graphs = [dependency_graph(tree, direction, VOCAB) for tree in forest]
    assert_same_graph(dependency_batch(forest, direction, VOCAB), batch(graphs))


@every_direction
def test_no_trees_give_a_graph_without_nodes(direction):
    graph = dependency_batch([], direction)
    assert (graph.num_nodes(), graph.num_edges(), graph.batch_size) == (0, 0, 0)
    assert set(graph.ndata) == set(fields.NODE_FIELDS)


def test_trees_may_come_from_an_iterator():
    assert dependency_batch(iter([tree(), tree()])).batch_size == 2


def test_wrong_trees_directions_and_vocabularies_are_rejected():
    with pytest.raises(DataError, match="expected a DependencyTree, got str"):
        dependency_graph("(3 (2 a) (3 film))")
    with pytest.raises(DataError, match="expected several trees, got one: put it in a list"):
        dependency_batch(tree())
    with pytest.raises(DataError, match="unknown direction 'down'"):
        dependency_graph(tree(), "down")
    with pytest.raises(DataError, match="word 'film' is missing"):
        dependency_graph(tree(), vocab={"a": 0, "lovely": 1})
