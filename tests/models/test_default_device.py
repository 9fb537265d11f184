"""Models, batches and layers on the CPU, under another default device of torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from toy_encoder import toy_encoder
from toy_sentences import EMBEDDING_DIM, NUM_CLASSES, VOCABULARY, pairs, sentences, small

from graphsent.contextual import Features, FeatureStore, WordSpan
from graphsent.layers import GRU, LSTM, NarrowConv1d, WideConv1d
from graphsent.models import MODELS, Model, ParseReranker, load_pretrained, model_class
from graphsent.trees import Candidate, ParseList

LENGTHS = [5, 1, 30]


@contextmanager
def another_default_device() -> Iterator[None]:
    """Operations on tensors that the package puts there by mistake fail."""
    torch.set_default_device("meta")
    try:
        yield
    finally:
        torch.set_default_device(None)


def build(name: str) -> tuple[Model, list]:
    """A model, and examples for it."""
    cls = model_class(name)
    sizes = {"embedding_dim": EMBEDDING_DIM, **small(cls)}
    kind = "constituency" if cls.tree_kind == "words" else cls.tree_kind
    if cls.examples == "pairs":
        return cls(VOCABULARY, **sizes), pairs(6)
    trees = sentences(kind, 6)
    if cls is not ParseReranker:
        return cls(VOCABULARY, NUM_CLASSES, dropout=0.0, **sizes), trees
    lists = [ParseList((Candidate(tree, 1.0),), tree, str(n)) for n, tree in enumerate(trees)]
    return ParseReranker(VOCABULARY, ParseReranker.labels_of(lists), **sizes), lists


def figures_of(model: Model, data: list) -> np.ndarray:
    """All predictions of the model in one array."""
    predicted = model.predict(data)
    if isinstance(predicted, np.ndarray):
        return predicted
    name = "scores" if isinstance(model, ParseReranker) else "probabilities"
    return np.concatenate([getattr(each, name) for each in predicted])


@pytest.mark.parametrize("name", MODELS)
def test_models_do_not_depend_on_it(name):
    model, data = build(name)
    model.eval()
    batch = model.collate(data)
    expected = model(batch)
    loss = model.loss(expected, batch)
    figures = figures_of(model, data)
    with another_default_device():
        batch = model.collate(data)
        found = model(batch)
        model.loss(found, batch).backward()
        again = figures_of(model, data)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(model.loss(found, batch), loss)
    np.testing.assert_array_equal(again, figures)


def test_models_are_loaded_on_the_cpu(tmp_path):
    model, data = build("treelstm")
    model.save_pretrained(tmp_path / "model")
    with another_default_device():
        found = load_pretrained(tmp_path / "model")
    np.testing.assert_array_equal(figures_of(found, data), figures_of(model, data))


def test_features_of_a_frozen_encoder_do_not_depend_on_it(tmp_path):
    spans = [WordSpan(("a", "film"), 0, 2), WordSpan(("good",), 0, 1)]
    features = Features(toy_encoder())
    expected = features.of(spans)
    with another_default_device():
        features.keep([span.sentence for span in spans], FeatureStore(tmp_path, 3))
        found, none = features.of(spans), features.of([])
    assert torch.equal(found, expected)
    assert none.is_cpu


@pytest.mark.parametrize("name", ["apdcnn", "nbow", "arnn", "treenet"])
def test_regression_does_not_depend_on_it(name):
    cls = model_class(name)
    model = cls(VOCABULARY, 1, embedding_dim=EMBEDDING_DIM, dropout=0.0, **small(cls))
    data = sentences("dependency" if name == "arnn" else "constituency", 6)
    batch = model.collate(data)
    loss = model.loss(model(batch), batch)
    with another_default_device():
        batch = model.collate(data)
        torch.testing.assert_close(model.loss(model(batch), batch), loss)


@pytest.mark.parametrize("cls", [LSTM, GRU])
@pytest.mark.parametrize("lengths", [LENGTHS, torch.tensor(LENGTHS)])
def test_recurrent_layers_do_not_depend_on_it(cls, lengths):
    layer, x = cls(4, 3, batch_first=True), torch.randn(3, 30, 4)
    expected = layer(x, lengths=lengths)[0]
    with another_default_device():
        found = layer(x, lengths=lengths)[0]
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("cls", [WideConv1d, NarrowConv1d])
def test_convolutions_do_not_depend_on_it(cls):
    layer, x, lengths = cls(4, 6, 3), torch.randn(3, 4, 30), torch.tensor(LENGTHS)
    expected = layer(x, lengths)[0]
    with another_default_device():
        found = layer(x, lengths)[0]
    torch.testing.assert_close(found, expected)


def test_similarities_are_where_the_vectors_are():
    vectors = np.eye(3, dtype=np.float32)
    with another_default_device():
        found = Model.similarity(vectors, torch.from_numpy(vectors))
    assert found.tolist() == vectors.tolist()
