"""TreeNetClassifier: how trees are prepared, which nodes are classified."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import dependency_trees, trees
from toy_sentences import VOCABULARY, sentences

from graphsent.graphs import constituency_graph, dependency_graph
from graphsent.models import TreeNetClassifier
from graphsent.trees import Tree

MODEL = TreeNetClassifier(VOCABULARY, 5, 4, 3).double().eval()


@pytest.mark.parametrize(
    ("given", "prepared"),
    [
        ("(ROOT (S (NP (N film)) (VP (V is))))", "(ROOT (NP film) (VP is))"),
        ("(ROOT (S (VP (V go))))", "(ROOT go)"),
        ("(S (A a) (B b) (C (D (E c) (F d))))", "(S (A a) (B b) (C (E c) (F d)))"),
        ("(N film)", "(N film)"),
    ],
)
def test_only_children_replace_their_parents(given, prepared):
    assert str(MODEL.shape_tree(Tree.from_string(given))) == prepared


@settings(max_examples=25)
@given(trees())
def test_prepared_trees_have_no_only_children_and_the_same_words(tree):
    prepared = MODEL.shape_tree(tree)
    assert prepared.words == tree.words
    assert not (prepared.num_children == 1).any()
    assert set(map(tuple, prepared.spans)) == set(map(tuple, tree.spans))


@settings(max_examples=25)
@given(trees())
def test_unary_nodes_change_nothing(tree):
    prepared = MODEL.shape_tree(tree)
    (of_tree,), (of_prepared,) = MODEL.predict([tree]), MODEL.predict([prepared])
    np.testing.assert_allclose(
        of_tree.probabilities[of_tree.root], of_prepared.probabilities[of_prepared.root]
    )


@settings(max_examples=25)
@given(st.lists(trees(max_leaves=5), min_size=1, max_size=4))
def test_units_are_the_nodes_of_the_prepared_trees(forest):
    batch = MODEL.collate(forest)
    prepared = [MODEL.shape_tree(tree) for tree in forest]
    labels = [int(label) for tree in prepared for label in tree.labels]
    assert batch.gold.tolist() == labels
    starts = np.cumsum([0, *(tree.num_nodes for tree in prepared[:-1])])
    assert batch.roots.tolist() == starts.tolist()
    expected = []
    for tree in prepared:
        graph = constituency_graph(tree, "sibling", VOCABULARY)
        h = MODEL.encoder.cell(graph, MODEL.embedding(graph.ndata["token"]))
        expected.append(MODEL.output(h[: tree.num_nodes]))
    torch.testing.assert_close(MODEL(batch), torch.cat(expected), rtol=0, atol=1e-12)


@settings(max_examples=25)
@given(st.lists(dependency_trees(max_words=5), min_size=1, max_size=4))
def test_units_of_dependency_trees_are_their_words(forest):
    batch = MODEL.collate(forest)
    assert batch.gold.tolist() == [int(label) for tree in forest for label in tree.labels]
    starts = np.cumsum([0, *(tree.num_nodes for tree in forest[:-1])])
    roots = [tree.root for tree in forest]
    assert batch.roots.tolist() == (starts + roots).tolist()
    expected = []
    for tree in forest:
        graph = dependency_graph(tree, "sibling", VOCABULARY)
        h = MODEL.encoder.cell(graph, MODEL.embedding(graph.ndata["token"]))
        expected.append(MODEL.output(h[: tree.num_nodes]))
    torch.testing.assert_close(MODEL(batch), torch.cat(expected), rtol=0, atol=1e-12)


def test_the_order_of_children_matters():
    one, other = MODEL.predict(["(S (A good) (B film) (C dull))", "(S (C dull) (B film) (A good))"])
    assert not np.allclose(one.probabilities[0], other.probabilities[0], atol=1e-9)


@pytest.mark.parametrize(
    ("sizes", "expected"), [((300, 100), 150_802), ((100, 50), 30_300 + 102)], ids=str
)
def test_parameter_counts(sizes, expected):
    model = TreeNetClassifier(VOCABULARY, 2, *sizes)
    words = model.embedding.weight.numel()
    assert sum(parameter.numel() for parameter in model.parameters()) - words == expected


def test_root_loss_covers_only_sentences():
    batch = MODEL.collate(sentences("constituency", 6))
    logits = MODEL(batch)
    expected = torch.nn.functional.cross_entropy(logits[batch.roots], batch.gold[batch.roots])
    torch.testing.assert_close(MODEL.loss(logits, batch, "root"), expected)
