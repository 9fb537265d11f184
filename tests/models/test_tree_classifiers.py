"""Tree classifiers: what they compute, what they accept, and whether they learn."""

from __future__ import annotations

import random

import nltk
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from strategies import random_tree, trees
from toy_sentences import HIDDEN

from graphsent.errors import ModelError
from graphsent.models import NBoW, TreeLSTMClassifier
from graphsent.trees import DependencyTree, Tree
from graphsent.vocabulary import Vocabulary

VOCAB = Vocabulary(["good", "bad", "not", "film"])
WORDS = VOCAB.words[1:]


def labelled(seed: int, num_leaves: int = 6) -> Tree:
    """A random binary tree; a node is 1 if its last word is 'good' or 'film'."""
    tree = random_tree(random.Random(seed), num_leaves, 2, words=WORDS)
    labels = [str(int(tree.words[end - 1] in ("good", "film"))) for _, end in tree.spans.tolist()]
    return Tree(labels, tree.tokens, tree.parents)


@pytest.mark.parametrize("pooling", ["sum", "mean"])
def test_the_bag_of_words_is_the_squashed_sum_or_the_mean_below_each_node(pooling):
    model = NBoW(VOCAB, 2, 5, pooling=pooling).double()
    tree = labelled(0)
    states = model.node_states(model.collate([labelled(1), tree]))[-tree.num_nodes :]
    for node, (begin, end) in enumerate(tree.spans.tolist()):
        rows = [model.embedding.weight[VOCAB[word]] for word in tree.words[begin:end]]
        expected = torch.tanh(sum(rows)) if pooling == "sum" else sum(rows) / len(rows)
        torch.testing.assert_close(states[node], expected)


def test_an_unknown_pooling_is_refused():
    with pytest.raises(ModelError, match="unknown pooling 'max': expected one of"):
        NBoW(VOCAB, 2, 5, pooling="max")


@settings(max_examples=20)
@given(trees())
def test_a_tree_of_any_shape_gets_a_prediction_for_each_of_its_nodes(tree):
    for cell in ("nary", "childsum"):
        model = TreeLSTMClassifier(VOCAB, 3, 4, 4, cell=cell)
        prediction = model.predict([tree])[0]
        assert prediction.probabilities.shape == (tree.num_nodes, 3)
        np.testing.assert_allclose(prediction.probabilities.sum(1), 1, rtol=1e-5)
        assert prediction.to_tree().words == tree.words


def test_a_result_does_not_depend_on_batches_or_their_order():
    model = TreeLSTMClassifier(VOCAB, 3, 4, 4).double()
    inputs = [labelled(seed, 1 + seed) for seed in range(7)]
    together = model.predict(inputs, batch_size=3)
    for tree, prediction in zip(inputs, together, strict=True):
        alone = model.predict([tree])[0]
        np.testing.assert_allclose(prediction.probabilities, alone.probabilities, rtol=1e-6)
    encoded = model.encode(inputs)
    assert encoded.shape == (7, 4)
    np.testing.assert_allclose(encoded[5], model.encode(inputs[5:6])[0], rtol=1e-6)


def test_every_form_of_a_tree_is_accepted():
    model = TreeLSTMClassifier(VOCAB, 2, 4, 4)
    text = "(S (NP (DT good) (NN film)) (VP (RB not) (JJ bad)))"
    forms = [text, Tree.from_string(text), nltk.Tree.fromstring(text)]
    rows = [prediction.probabilities for prediction in model.predict(forms)]
    np.testing.assert_allclose(rows[0], rows[1])
    np.testing.assert_allclose(rows[0], rows[2])
    assert model.predict([" ((good) (film))"])[0].tree.words == ["good", "film"]
    assert model.training


def test_dependency_trees_are_for_the_child_sum_cell():
    tree = DependencyTree(["good", "film"], [1, -1])
    model = TreeLSTMClassifier(VOCAB, 2, 4, 4, cell="childsum")
    assert model.predict([tree])[0].probabilities.shape == (2, 2)
    with pytest.raises(ModelError, match="a child-sum model reads dependency trees"):
        TreeLSTMClassifier(VOCAB, 2, 4, 4).predict([tree])


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (["a good film"], "input 1: expected a parse tree, got the sentence 'a good film'"),
        (["a film " * 9_000], "got the sentence '(a film ){8}a...': set model.parser"),
        (["(1 (1 good) (0 bad))", "(1 (1 good)"], "input 2: "),
        ([3], "input 1: "),
        ("(1 good)", r"expected a list of trees, got one str: put it in \[\]"),
    ],
)
def test_inputs_that_are_not_trees_are_explained(inputs, message):
    with pytest.raises(ModelError, match=message):
        TreeLSTMClassifier(VOCAB, 2, 4, 4).predict(inputs)


def test_labels_beyond_the_classes_are_explained():
    with pytest.raises(ModelError, match="2 classes, 0 to 1, but a node has the label 3"):
        TreeLSTMClassifier(VOCAB, 2, 4, 4).collate(["(3 good)"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cell": "binary"}, "cell"),
        ({"hidden": 0}, "expected at least 1, got 0"),
        ({"label_names": ["one"]}, "label_names: expected 2"),
    ],
)
def test_wrong_options_are_explained(options, message):
    with pytest.raises(ModelError, match=message):
        TreeLSTMClassifier(VOCAB, 2, **options)


def test_word_vectors_of_another_size_are_rejected():
    with pytest.raises(ModelError, match=r"expected shape \(5, 4\), one row per word"):
        TreeLSTMClassifier(VOCAB, 2, 4, 4).init_embeddings(np.zeros((5, 3)))


@pytest.mark.parametrize("sparse", [False, True])
def test_only_words_in_use_get_a_gradient(sparse):
    model = TreeLSTMClassifier(VOCAB, 2, 4, 4, sparse_embedding=sparse)
    batch = model.collate(["(1 (1 good) (0 bad))"])
    model(batch).sum().backward()
    gradient = model.embedding.weight.grad
    assert gradient.is_sparse == sparse
    used = gradient.to_dense().abs().sum(1) > 0
    assert used.tolist() == [False, True, True, False, False]


@pytest.mark.parametrize("cell", ["nary", "childsum"])
def test_it_memorizes_twenty_sentences(cell):
    data = [labelled(seed) for seed in range(20)]
    model = TreeLSTMClassifier(VOCAB, 2, 12, HIDDEN, cell=cell, dropout=0.0)
    batch = model.collate(data)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    losses = []
    for _ in range(120):
        loss = torch.nn.functional.cross_entropy(model(batch), batch.gold)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[9] < losses[0]
    right = model(batch).argmax(1) == batch.gold
    # The child-sum cell ignores word order, which decides the label.
    assert right.double().mean() > (0.95 if cell == "nary" else 0.7)


def test_predictions_as_json_and_as_a_tree():
    model = TreeLSTMClassifier(VOCAB, 2, 4, 4, label_names=["down", "up"])
    prediction = model.predict(["(0 (1 good) (0 film))"])[0]
    content = prediction.to_dict()
    assert content["text"] == "good film"
    assert [(n["parent"], n["begin"], n["end"]) for n in content["nodes"]] == [
        (-1, 0, 2),
        (0, 0, 1),
        (0, 1, 2),
    ]
    assert content["name"] == prediction.root_name == ("down", "up")[prediction.root_label]
    assert prediction.to_tree().labels == tuple(map(str, prediction.labels))
