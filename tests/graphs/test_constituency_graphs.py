from __future__ import annotations

from collections import defaultdict

import nltk
import numpy as np
import pytest
from graph_checks import (
    DIRECTIONS,
    assert_matches,
    assert_same_graph,
    constituency_nodes,
    with_token_nodes,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import WORDS, chain_tree, odd_trees, trees

from graphsent.errors import DataError
from graphsent.graphs import (
    batch,
    constituency_batch,
    constituency_graph,
    dependency_batch,
    fields,
)
from graphsent.trees import Tree, TreeError
from graphsent.vocabulary import Vocabulary

SENTENCE = "(3 (2 a) (3 (3 lovely) (2 film)))"
VOCAB = {word: number for number, word in enumerate(WORDS)}

every_direction = pytest.mark.parametrize("direction", DIRECTIONS)
few_examples = settings(max_examples=25)


def tree() -> Tree:
    return Tree("32332", [None, "a", None, "lovely", "film"], [-1, 0, 0, 2, 2])


def test_bottom_up_by_hand():
    graph = constituency_graph(tree(), vocab=VOCAB)
    assert [ends.tolist() for ends in graph.edges()] == [[1, 2, 3, 4], [0, 0, 2, 2]]
    assert graph.edata["child_index"].tolist() == [0, 1, 0, 1]
    assert graph.ndata["token"].tolist() == [-1, 0, -1, 1, 2]
    assert graph.ndata["label"].tolist() == [3, 2, 3, 3, 2]
    assert graph.ndata["position"].tolist() == [-1, 0, -1, 1, 2]
    assert graph.ndata["depth"].tolist() == [0, 1, 1, 2, 2]
    assert graph.ndata["span"].tolist() == [[0, 3], [0, 1], [1, 3], [1, 2], [2, 3]]
    assert graph.batch_size == 1


def test_sibling_by_hand():
    graph = constituency_graph(tree(), "sibling", VOCAB)
    # a -> (lovely film), lovely -> film; then the rightmost children and the words.
    assert [ends.tolist() for ends in graph.edges()] == [
        [1, 3, 2, 4, 5, 6, 7],
        [2, 4, 0, 2, 1, 3, 4],
    ]
    assert graph.edata["kind"].tolist() == [0, 0, 1, 1, 1, 1, 1]
    assert graph.edata["child_index"].tolist() == [0, 0, 1, 1, 0, 0, 0]
    assert graph.ndata["token"].tolist() == [-1, -1, -1, -1, -1, 0, 1, 2]
    assert graph.ndata["label"].tolist() == [3, 2, 3, 3, 2, -1, -1, -1]
    assert graph.ndata["depth"].tolist() == [0, 1, 1, 2, 2, 2, 3, 3]


@every_direction
@few_examples
@given(trees(max_leaves=8))
def test_a_graph_equals_that_of_the_slow_builder(direction, tree):
    nodes = constituency_nodes(tree)
    if direction == "sibling":
        nodes = with_token_nodes(nodes)
    assert_matches(constituency_graph(tree, direction, VOCAB), nodes, direction, VOCAB)


@every_direction
@few_examples
@given(st.lists(trees(), min_size=1, max_size=6))
def test_a_batch_is_the_batch_of_its_graphs(direction, forest):
    graphs = [constituency_graph(tree, direction, VOCAB) for tree in forest]
    assert_same_graph(constituency_batch(forest, direction, VOCAB), batch(graphs))


@given(odd_trees())
def test_words_and_labels_may_be_any_text(tree):
    vocab = {word: number for number, word in enumerate(set(tree.words))}
    graph = constituency_graph(tree, vocab=vocab)
    expected = [-1 if word is None else vocab[word] for word in tree.tokens]
    assert graph.ndata["token"].tolist() == expected


@every_direction
def test_no_trees_give_a_graph_without_nodes(direction):
    graph = constituency_batch([], direction)
    assert (graph.num_nodes(), graph.num_edges(), graph.batch_size) == (0, 0, 0)
    assert set(graph.ndata) == set(fields.NODE_FIELDS)
    assert graph.ndata["span"].shape == (0, 2)
    assert "child_index" in graph.edata
    assert ("kind" in graph.edata) == (direction == "sibling")


@pytest.mark.parametrize("index", [{}, {"a": 1}, Vocabulary(["a"])], ids=["none", "dict", "words"])
@pytest.mark.parametrize("make", [constituency_batch, dependency_batch])
def test_no_trees_need_no_numbers(make, index):
    graph = make([], vocab=index, label_index=index)
    assert (graph.batch_size, graph.num_nodes()) == (0, 0)
    assert set(graph.ndata) == set(make([]).ndata)


def test_every_kind_of_tree_is_accepted():
    expected = constituency_graph(tree())
    for same in (SENTENCE, nltk.Tree.fromstring(SENTENCE)):
        assert_same_graph(constituency_graph(same), expected)
    assert constituency_batch(iter([tree(), SENTENCE])).batch_size == 2
    with pytest.raises(TreeError, match=r"expected a Tree, an nltk\.Tree .* got int"):
        constituency_graph(3)


def test_without_a_vocabulary_there_are_no_tokens():
    assert constituency_graph(tree()).ndata["token"].tolist() == [-1] * 5


@pytest.mark.parametrize(
    ("label", "number"),
    [
        ("", -1),
        ("7", 7),
        ("12", 12),
        ("-3", -1),
        ("NP", -1),
        ("²", -1),
        ("1.0", -1),
        ("9" * 30, -1),
    ],
)
def test_labels_without_an_index_are_decimal_numbers(label, number):
    assert constituency_graph(Tree([label], ["a"], [-1])).ndata["label"].tolist() == [number]


def test_labels_by_an_index():
    graph = constituency_graph(tree(), label_index={"2": -1, "3": 1})
    assert graph.ndata["label"].tolist() == [1, -1, 1, 1, -1]
    some = defaultdict(lambda: -1, {"3": np.int64(1)})
    assert constituency_graph(tree(), label_index=some).ndata["label"].tolist() == [1, -1, 1, 1, -1]
    unlabelled = Tree([""], ["a"], [-1])
    assert constituency_graph(unlabelled, label_index={}).ndata["label"].tolist() == [-1]


def test_a_missing_word_or_label_is_named():
    with pytest.raises(DataError, match=r"^word 'lovely' is missing from the vocabulary$"):
        constituency_graph(tree(), vocab={"a": 0, "film": 1})
    with pytest.raises(DataError, match=r"^label '2' is missing from label_index$"):
        constituency_graph(tree(), label_index={"3": 0})
    with pytest.raises(DataError, match=r"^word 'a': expected an integer, got None$"):
        constituency_graph(tree(), vocab=defaultdict(lambda: None))


@pytest.mark.parametrize("one", [SENTENCE, Tree.from_string(SENTENCE), nltk.Tree("A", ["a"])])
def test_one_tree_is_not_several(one):
    with pytest.raises(TreeError, match="expected several trees, got one: put it in a list"):
        constituency_batch(one)


def test_a_misspelt_direction_lists_the_valid_ones():
    valid = "bottom_up, top_down, sibling"
    with pytest.raises(DataError, match=f"unknown direction 'up': expected one of {valid}"):
        constituency_graph(tree(), "up")


@every_direction
def test_very_deep_trees(direction):
    graph = constituency_batch([chain_tree(10_000), tree()], direction)
    assert graph.ndata["depth"].max() == 10_000 + (direction == "sibling")
    assert graph.batch_size == 2


@every_direction
def test_what_is_cached_on_a_tree_does_not_change(direction):
    kept = tree()
    first, second = Vocabulary(["film", "a"]), {"a": 5, "lovely": 6, "film": 7}
    for vocab in (first, second, first, Vocabulary(["lovely"]), None, second):
        for labels in (None, {"2": 7, "3": 8}):
            graph = constituency_batch([kept, kept], direction, vocab, labels)
            assert_same_graph(graph, constituency_batch([tree(), tree()], direction, vocab, labels))
            for data in (graph.ndata, graph.edata):
                for name in data:
                    data[name].add_(1)  # what was given away is not what is kept
    second["a"] = 9
    assert 9 in constituency_graph(kept, direction, second).ndata["token"].tolist()


def test_a_tree_has_graphs_in_every_direction():
    kept = tree()
    for direction in DIRECTIONS * 2:
        graph = constituency_graph(kept, direction)
        assert_same_graph(graph, constituency_graph(tree(), direction))
