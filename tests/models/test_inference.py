"""predict and encode: order, batches, modes, and the contents of a prediction."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError

import nltk
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import random_tree

from graphsent.errors import ModelError
from graphsent.models import NBoW, Prediction, RecNN, SequenceRelatedness, TreeLSTMClassifier
from graphsent.models.base.inference import evaluating, map_batches
from graphsent.trees import DependencyTree, Tree
from graphsent.vocabulary import Vocabulary

VOCAB = Vocabulary(["good", "bad", "film"])
TREES = [
    random_tree(random.Random(seed), 1 + seed, labels=("0", "1"), words=VOCAB.words[1:])
    for seed in range(6)
]


@given(st.lists(st.integers(1, 50)), st.integers(1, 9))
def test_batches_hold_items_of_similar_size_and_results_keep_the_order(sizes, batch_size):
    batches = []

    def compute(items):
        batches.append([size for _, size in items])
        return [(number, size) for number, size in items]

    items = list(enumerate(sizes))
    assert map_batches(items, sizes, batch_size, compute) == items
    assert [size for batch in batches for size in batch] == sorted(sizes, reverse=True)
    assert all(len(batch) == batch_size for batch in batches[:-1])


def test_every_submodule_keeps_its_own_mode():
    model = TreeLSTMClassifier(VOCAB, 2, 4, 4)
    model.embedding.eval()
    with evaluating(model) as still:
        assert not any(module.training for module in still.modules())
        assert not torch.is_grad_enabled()
        assert model.training
        names = [name for name, _ in model.named_modules()]
        assert [name for name, _ in still.named_modules()] == names
        for ours, theirs in zip(model.parameters(), still.parameters(), strict=True):
            assert ours is theirs
    assert model.training
    assert model.encoder.cell.training
    assert not model.embedding.training
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("training", [True, False])
def test_threads_that_predict_at_once(training, monkeypatch):
    model = TreeLSTMClassifier(VOCAB, 2, 8, 4, dropout=0.9, embedding_dropout=0.9).train(training)
    model.embedding.eval()
    modes = [module.training for module in model.modules()]
    expected = [each.probabilities for each in model.predict(TREES)]
    inside = threading.Barrier(8)
    shape_tree = type(model).shape_tree

    def meet(self, tree):  # all reach their first batch before any continues, and leave one by one
        if not hasattr(here, "met"):
            here.met = inside.wait(60)
        time.sleep(0.01 * here.met)
        return shape_tree(self, tree)

    here = threading.local()
    monkeypatch.setattr(type(model), "shape_tree", meet)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: model.predict(TREES, batch_size=2), range(8)))
    for predictions in found:
        for prediction, probabilities in zip(predictions, expected, strict=True):
            np.testing.assert_allclose(prediction.probabilities, probabilities, atol=1e-6)
    assert [module.training for module in model.modules()] == modes


def test_a_shared_module_stays_shared():
    model = NBoW(VOCAB, 2, 4)
    model.again = model.embedding
    with evaluating(model) as still:
        assert still.again is still.embedding
        assert still.again is not model.again


def test_modes_stay_after_an_error():
    model = TreeLSTMClassifier(VOCAB, 2, 4, 4)
    with pytest.raises(ModelError, match="input 1"):
        model.predict(["(0 good"])
    model.output = torch.nn.Linear(5, 2)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        model.predict(TREES)
    assert model.training
    assert torch.is_grad_enabled()


def test_nothing_is_dropped_at_inference():
    model = TreeLSTMClassifier(VOCAB, 2, 4, 4, dropout=0.9, embedding_dropout=0.9)
    once, again = model.encode(TREES), model.encode(TREES)
    np.testing.assert_array_equal(once, again)
    assert once.dtype == np.float32
    batch = model.collate(TREES)
    assert not torch.equal(model(batch), model(batch))  # but in training it is


def test_no_trees_and_no_batch():
    model = NBoW(VOCAB, 2, 4)
    assert model.predict([]) == []
    assert model.encode([]).shape == (0, 4)
    with pytest.raises(ModelError, match="batch_size: expected at least 1, got 0"):
        model.predict(TREES, batch_size=0)


def test_kinds_of_trees_do_not_mix():
    with pytest.raises(ModelError, match="constituency and dependency trees cannot be mixed"):
        RecNN(VOCAB, 2, 4).predict([TREES[0], DependencyTree(["good"], [-1])])


def test_a_tree_outside_a_list_is_explained():
    with pytest.raises(ModelError, match=r"expected a list of trees, got one Tree: put it in \[\]"):
        RecNN(VOCAB, 2, 4).encode(TREES[0])


class DataFrame:
    """Iterates over the names of its columns, as that of pandas does."""

    columns = ("text",)

    def __iter__(self):
        return iter(self.columns)


@pytest.mark.parametrize("table", [{"text": ["good"]}, DataFrame()])
def test_a_table_is_not_read_as_the_names_of_its_columns(table):
    with pytest.raises(ModelError, match=r"of sentences, got a .*: choose one of its columns"):
        NBoW(VOCAB, 2, 4).predict(table)
    with pytest.raises(ModelError, match=r"of trees, got a .*: choose one of its columns"):
        RecNN(VOCAB, 2, 4).encode(table)
    of_pairs = SequenceRelatedness(VOCAB, 5, 4, 3, 6)
    for use in (of_pairs.predict, of_pairs.encode):
        with pytest.raises(ModelError, match=r"got a .*: choose one of its columns"):
            use(table)


def test_unlabelled_brackets_are_read():
    predictions = NBoW(VOCAB, 2, 4).predict(["((good) (film))", "(0 (1 good) (1 film))"])
    first, second = (prediction.probabilities for prediction in predictions)
    np.testing.assert_array_equal(first, second)


def test_half_precision_models_predict():
    model = NBoW(VOCAB, 2, 4).bfloat16()
    assert model.encode(TREES).dtype == np.float32
    assert model.predict(TREES)[0].probabilities.dtype == np.float32


def test_a_prediction_of_a_constituency_tree():
    tree = Tree.from_string("(9 (9 good) (9 film))")
    probabilities = np.array([[0.3, 0.7], [0.25, 0.75], [1, 0]], np.float32)
    prediction = Prediction(tree, probabilities, ("down", "up"))
    assert prediction.labels.tolist() == [1, 1, 0]
    assert prediction.names == ["up", "up", "down"]
    assert (prediction.root, prediction.root_label, prediction.root_name) == (0, 1, "up")
    assert str(prediction.to_tree()) == "(1 (1 good) (0 film))"
    assert str(prediction.to_tree(names=True)) == "(up (up good) (down film))"
    content = json.loads(json.dumps(prediction.to_dict()))
    assert content["probabilities"] == [0.3, 0.7]
    assert content["nodes"][2] == {
        "parent": 0,
        "begin": 1,
        "end": 2,
        "label": 0,
        "name": "down",
        "probabilities": [1.0, 0.0],
    }
    with pytest.raises(FrozenInstanceError):
        prediction.tree = None


def test_a_prediction_of_a_dependency_tree():
    tree = DependencyTree(
        ["a", "good", "film"],
        [2, 2, -1],
        relations=["det", "amod", "root"],
        metadata={"id": "1", "label": "0"},
    )
    probabilities = np.array([[1, 0], [0, 1], [0.4, 0.6]], np.float32)
    prediction = Prediction(tree, probabilities, ("down", "up"))
    assert (prediction.root, prediction.root_name) == (2, "up")
    predicted = prediction.to_tree()
    assert predicted.labels == ("0", "1", "1")
    assert (predicted.relations, predicted.metadata) == (tree.relations, {"id": "1"})
    content = prediction.to_dict()
    assert content["probabilities"] == [0.4, 0.6]
    assert [node["parent"] for node in content["nodes"]] == [2, 2, -1]


@pytest.mark.parametrize("batch_size", [0, -1, 1.5, "3", None])
def test_batch_sizes_are_checked(batch_size):
    model = NBoW(VOCAB, 2, 3)
    for use in (model.predict, model.encode):
        with pytest.raises(ModelError, match="batch_size: expected "):
            use(["good film"], batch_size)


@pytest.mark.parametrize("inputs", [None, 3])
def test_arguments_that_are_not_lists_are_named(inputs):
    for model in (NBoW(VOCAB, 2, 3), RecNN(VOCAB, 2, 3), SequenceRelatedness(VOCAB, 5, 4, 3, 6)):
        for use in (model.predict, model.encode):
            with pytest.raises(ModelError, match=rf"expected a list of .*{type(inputs).__name__}"):
                use(inputs)


def test_models_of_words_ask_for_sentences():
    with pytest.raises(ModelError, match=r"^input 2: expected a sentence.* got int$"):
        NBoW(VOCAB, 2, 3).predict(["good film", 3])


def test_models_of_words_read_those_of_trees_of_nltk():
    model = NBoW(VOCAB, 2, 3)
    tree = nltk.Tree.fromstring("(S (A good) (B film))")
    np.testing.assert_array_equal(model.encode([tree]), model.encode(["good film"]))


def test_results_must_be_finite():
    model = NBoW(VOCAB, 2, 3)
    with torch.no_grad():
        model.embedding.weight[VOCAB["good"]] = float("nan")
    assert len(model.predict(["film"])) == 1
    with pytest.raises(ModelError, match="output of the model is NaN or infinite"):
        model.predict(["film", "good"])


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        (np.ones((2, 3)), np.ones((2, 4)), "of equal size, got 3 and 4"),
        (np.ones((2, 3, 2)), np.ones((2, 2)), "two dimensions, got 3"),
        ("a film", "a film", "expected vectors"),
    ],
)
def test_incomparable_inputs_are_named(one, other, reason):
    with pytest.raises(ModelError, match=reason):
        NBoW.similarity(one, other)


def test_lists_of_vectors_are_compared_as_arrays():
    vectors = NBoW(VOCAB, 2, 3).encode(["good film", "bad film"])
    expected = NBoW.similarity(vectors, vectors)
    assert torch.equal(NBoW.similarity(list(vectors), vectors.tolist()), expected)


FORKED = """
import os, signal, sys, torch, graphsent
torch.set_num_threads(2)
model = graphsent.load()
sentences = 500 * ["A film of great charm, and a moving one."]
expected = model.predict(sentences)[0].root_probability
worker = os.fork()
if worker == 0:
    signal.alarm(60)
    torch.set_num_threads(1)
    found = model.predict(sentences)[0].root_probability
    os._exit(int(abs(found - expected) > 1e-5))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads and forks of Linux")
def test_a_forked_worker_predicts_in_one_thread():
    subprocess.run([sys.executable, "-c", FORKED], check=True, timeout=120)
