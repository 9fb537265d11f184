"""The recursive network, node by node."""

from __future__ import annotations

import json

import numpy as np
import pytest
import sentence_model_references as reference
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import binary_trees, trees

from graphsent.errors import ModelError
from graphsent.models import RecNN, load_pretrained
from graphsent.trees import DependencyTree, Tree
from graphsent.vocabulary import Vocabulary

VOCABULARY = Vocabulary(["a", "lovely", "film", "not"])


def build() -> RecNN:
    model = RecNN(VOCABULARY, 5, 4, 3).double().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return model


def expected_logits(model: RecNN, tree: Tree) -> torch.Tensor:
    weight = model.embedding.weight

    def vector_of(token):
        return weight.new_zeros(4) if token is None else weight[VOCABULARY[token]]

    return model.output(torch.stack(reference.recursive(tree, model.encoder.cell, vector_of)))


@settings(max_examples=20)
@given(st.lists(binary_trees(max_leaves=8), min_size=1, max_size=4))
def test_values_and_gradients_are_those_of_the_equations(forest):
    model = build()
    found = model(model.collate(forest))
    expected = torch.cat([expected_logits(model, tree) for tree in forest])
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
    signal, parameters = torch.randn_like(expected), list(model.parameters())
    ours, theirs = (
        torch.autograd.grad((values * signal).sum(), parameters, materialize_grads=True)
        for values in (found, expected)
    )
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


@settings(max_examples=20)
@given(trees(max_leaves=8))
def test_a_tree_of_any_shape_is_read_as_a_binary_one(tree):
    model = build()
    (prediction,) = model.predict([tree])
    shaped = model.shape_tree(tree)
    expected = torch.softmax(expected_logits(model, shaped), 1).detach().numpy()
    np.testing.assert_allclose(prediction.probabilities[0], expected[0], atol=1e-6)
    assert prediction.probabilities.shape == (tree.num_nodes, 5)


def test_a_loaded_model_is_the_saved_one(tmp_path):
    model = build()
    model.save_pretrained(tmp_path / "model")
    loaded = load_pretrained(tmp_path / "model")
    assert loaded.config == json.loads(json.dumps(model.config))
    forest = [Tree.from_string("(2 (1 a) (0 (3 quite) (1 not)))"), Tree.from_string("(1 a)")]
    for ours, theirs in zip(model.predict(forest), loaded.predict(forest), strict=True):
        np.testing.assert_array_equal(ours.probabilities, theirs.probabilities)


def test_dependency_trees_are_rejected():
    with pytest.raises(ModelError, match="got a dependency tree"):
        build().predict([DependencyTree(["a"], [-1])])


def test_no_edge_weights():
    with pytest.raises(ModelError, match="this model has no edge weights"):
        build().edge_weights([Tree.from_string("(1 (2 a) (3 film))")])
