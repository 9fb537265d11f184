"""A learned projection of word vectors before any model."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from toy_sentences import NUM_CLASSES, VOCABULARY, pairs, sentences, small

from graphsent.errors import ModelError
from graphsent.models import MODELS, Inputs, KimCNN, load_pretrained, model_class
from graphsent.models.embeddings.inputs import WordInputs
from graphsent.models.embeddings.table import WordEmbedding

READ, OWN = 6, 9  # dimensions of the model's input and of a word's own vector
SMALL = {
    "dcnn": {"widths": (2,), "maps": (2,), "k_top": 2},
    "kimcnn": {"maps": 3},
    "apdcnn": {"widths": ((2,),)},
}
# Models of trees and of pairs; the reranker has its own tests.
NAMES = [name for name in sorted(MODELS) if model_class(name).examples != "lists"]


def build(name: str, **options):
    cls = model_class(name)
    classes = 5 if cls.examples == "pairs" else NUM_CLASSES
    torch.manual_seed(0)
    options = {"embedding_dim": READ, **small(cls), **SMALL.get(name, {}), **options}
    return cls(VOCABULARY, classes, **options).eval()


def examples(name: str):
    cls = model_class(name)
    if cls.examples == "pairs":
        return pairs(4)
    return sentences("dependency" if cls.tree_kind == "dependency" else "constituency", 5)


def projected(name: str, **options):
    model = build(name, **options)
    model.set_inputs(Inputs(OWN, projected=True))
    torch.nn.init.normal_(model.embedding.weight)
    return model.eval()


@pytest.mark.parametrize("name", NAMES)
def test_a_projected_model_equals_one_with_projected_vectors(name, tmp_path):
    model = projected(name)
    table = model.embedding.weight @ model.embedding.projection.weight.T
    plain = build(name)
    rest = {
        key: value
        for key, value in model.state_dict().items()
        if not key.startswith("embedding.") and key != "fixed_vectors"
    }
    plain.load_state_dict({**plain.state_dict(), **rest, "embedding.weight": table})
    batch = model.collate(examples(name))
    torch.testing.assert_close(model(batch), plain(batch))

    model.save_pretrained(tmp_path / "model")
    loaded = load_pretrained(tmp_path / "model")
    assert loaded.inputs == Inputs(OWN, projected=True)
    assert torch.equal(loaded(batch), model(batch))
    assert isinstance(plain.embedding, WordEmbedding)


@pytest.mark.parametrize("name", NAMES)
def test_vectors_and_projection_are_learned(name):
    model = projected(name, embedding_dropout=0.5).train()
    batch = model.collate(examples(name))
    model.loss(model(batch), batch).backward()
    for weight in (model.embedding.weight, model.embedding.projection.weight):
        assert weight.grad.to_dense().abs().sum() > 0


def test_words_are_projected_once_without_separate_dropout():
    mapped = []
    for rate in (0.0, 0.5):
        model = projected("treelstm", embedding_dropout=rate).train()
        model.embedding.projection.register_forward_hook(
            lambda _, inputs, __: mapped.append(len(inputs[0]))
        )
        batch = model.collate(sentences("constituency", 20))
        model(batch)
    tokens = batch.graph.ndata["token"]
    assert mapped == [len(tokens.unique()) - 1, int((tokens >= 0).sum())]


def test_both_channels_are_projected():
    model = projected("kimcnn", variant="multichannel")
    model.init_embeddings(np.ones((len(VOCABULARY), OWN), np.float32))
    with torch.no_grad():
        model.embedding.weight.fill_(2.0)
    expected = 3 * model.embedding.projection.weight.sum(1)
    torch.testing.assert_close(model.word_vectors(torch.tensor([1])), expected[None])


def test_static_vectors_stay_static():
    model = build("kimcnn", variant="static")
    model.set_inputs(Inputs(OWN, projected=True))
    assert not model.embedding.weight.requires_grad
    assert model.embedding.projection.weight.requires_grad


def test_inputs_of_another_length_need_a_projection():
    assert isinstance(KimCNN(VOCABULARY, 2, READ).embedding, WordEmbedding)
    model = build("nbow")
    with pytest.raises(ModelError, match="inputs of size 6, got 9: they need a proj"):
        model.set_inputs(Inputs(OWN))
    model.set_inputs(Inputs(READ))
    assert isinstance(model.embedding, WordInputs)
    with pytest.raises(ModelError, match="has its inputs already"):
        model.set_inputs(Inputs(READ))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"word_dim": 0}, "word_dim: expected at least 1, got 0"),
        ({"word_dim": "9"}, "word_dim: expected an integer"),
        ({"word_dim": 9, "projected": 1}, "projected: expected true or false"),
        ({"word_dim": 9, "colour": 1}, "unexpected keyword argument 'colour'"),
        ({}, "missing 1 required positional argument: 'word_dim'"),
        ({"word_dim": 8, "projected": True}, "has shape"),
        ([], "expected an object as 'inputs'"),
    ],
)
def test_damaged_inputs(inputs, message, tmp_path):
    projected("nbow").save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "inputs": inputs}))
    with pytest.raises(ModelError, match=message):
        load_pretrained(tmp_path)
