"""Trees of any shape in a binary model: binarization, and mapping results back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import binary_trees, trees

from graphsent.errors import ModelError
from graphsent.models import TreeLSTMClassifier
from graphsent.models.batches.shape import is_binary, nodes_of_same_span, to_binary, without_chains
from graphsent.trees import DependencyTree, Tree
from graphsent.vocabulary import Vocabulary

VOCAB = Vocabulary(["a", "lovely", "film", "not", "quite"])


@given(trees())
def test_binary_means_two_children_or_a_word(tree):
    assert is_binary(tree) == (set(tree.num_children.tolist()) <= {0, 2})


@given(binary_trees())
def test_binary_trees_are_unchanged(tree):
    assert to_binary(tree) is tree


@given(trees())
def test_every_original_node_has_a_new_one_over_the_same_words(tree):
    binary = to_binary(tree)
    assert is_binary(binary)
    assert binary.words == tree.words
    nodes = nodes_of_same_span(tree, binary)
    np.testing.assert_array_equal(binary.spans[nodes], tree.spans)
    # The label of a chain is that of its top, which comes first; new nodes have no class.
    classes: dict[tuple[int, ...], str] = {}
    for span, label in zip(tree.spans.tolist(), tree.labels, strict=True):
        classes.setdefault(tuple(span), label)
    for span, label in zip(binary.spans.tolist(), binary.labels, strict=True):
        assert classes.get(tuple(span), label) == label
        assert label.isdigit() == (tuple(span) in classes)


@settings(max_examples=20)
@given(trees())
def test_predictions_are_those_of_the_binary_tree(tree):
    model = TreeLSTMClassifier(VOCAB, 5, 4, 4)
    binary = to_binary(tree)
    given_tree, read = model.predict([tree, binary])
    rows = nodes_of_same_span(tree, binary)
    np.testing.assert_allclose(given_tree.probabilities, read.probabilities[rows], rtol=1e-5)
    assert model.collate([tree]).graph.num_nodes() == binary.num_nodes


def test_labels_that_look_marked_do_no_harm():
    tree = Tree.from_string("(S (@S (DT a) (JJ lovely) (NN film)) (@ (X quite)))")
    model = TreeLSTMClassifier(VOCAB, 3, 4, 4)
    assert model.predict([tree])[0].probabilities.shape == (tree.num_nodes, 3)
    assert model.collate([tree]).gold.tolist() == [-1] * 7


def test_dependency_trees_have_no_binary_form():
    with pytest.raises(ModelError, match="binary constituency trees, got a dependency tree"):
        to_binary(DependencyTree(["a"], [-1]))


@given(trees())
def test_shapes_are_cached_on_the_tree(tree):
    for shape in (to_binary, without_chains):
        assert shape(tree) is shape(tree)
    if not (tree.num_children == 1).any():
        assert without_chains(tree) is tree
