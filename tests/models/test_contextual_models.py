"""Encoder features besides word vectors or instead of them, in every model."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
import torch
from toy_encoder import toy_encoder
from toy_sentences import NUM_CLASSES, VOCABULARY, pairs, sentences, small

from graphsent.contextual import WordSpan
from graphsent.errors import ModelError
from graphsent.models import (
    MODELS,
    Contextual,
    Inputs,
    Sentence,
    TreePair,
    feature_graph,
    filter_ngrams,
    model_class,
)
from graphsent.trees import DependencyTree
from graphsent.vocabulary import Vocabulary

WORD, FEATURE, READ = 4, 3, 5
SMALL = {
    "dcnn": {"widths": (2,), "maps": (2,), "k_top": 2},
    "kimcnn": {"maps": 3},
    "apdcnn": {"widths": ((2,),)},
}
INPUTS = [
    {"word_dim": WORD},
    {"word_dim": 0},
    {"word_dim": WORD, "projected": True},
    {"word_dim": 0, "projected": True},
]
# Models of trees and of pairs; the reranker has its own tests.
NAMES = [name for name in sorted(MODELS) if model_class(name).examples != "lists"]


def examples(name: str, number: int = 5):
    cls = model_class(name)
    if cls.examples == "pairs":
        return pairs(number)
    return sentences("dependency" if cls.tree_kind == "dependency" else "constituency", number)


def plain(name: str, dim: int, vocab=VOCABULARY, **options):
    cls = model_class(name)
    classes = 5 if cls.examples == "pairs" else NUM_CLASSES
    torch.manual_seed(0)
    options = {**small(cls), **SMALL.get(name, {}), **options}
    return cls(vocab, classes, embedding_dim=dim, **options).eval()


def contextual(name: str, *, tuned: bool = False, word_dim=WORD, projected=False, **options):
    encoder = toy_encoder(FEATURE)
    model = plain(name, READ if projected else word_dim + FEATURE, **options)
    described = Contextual.of(encoder, tuned=tuned)
    model.set_inputs(Inputs(word_dim, projected, described), encoder)
    if word_dim:
        torch.nn.init.normal_(model.embedding.weight)
    return model.eval()


def numbered(tree, words: list[str]):
    """The tree with other words."""
    if isinstance(tree, DependencyTree):
        return DependencyTree(words, tree.heads, labels=tree.labels)
    in_order = iter(words)
    tokens = [None if token is None else next(in_order) for token in tree.tokens]
    return type(tree)(tree.labels, tokens, tree.parents)


def told_apart(given):
    """Examples whose words are all distinct, and their trees by words."""
    trees = [
        tree for each in given for tree in (each[:2] if isinstance(each, TreePair) else [each])
    ]
    sources = [
        (f"{number}-{place}", tree, place)
        for number, tree in enumerate(trees)
        for place in range(len(tree.words))
    ]
    new = [
        numbered(tree, [f"{number}-{place}" for place in range(len(tree.words))])
        for number, tree in enumerate(trees)
    ]
    if isinstance(given[0], TreePair):
        new = [
            TreePair(*new[2 * number : 2 * number + 2], each.score)
            for number, each in enumerate(given)
        ]
    return new, sources


@pytest.mark.parametrize("tuned", [False, True])
@pytest.mark.parametrize("inputs", INPUTS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_a_model_reads_a_vector_of_each_word_in_its_sentence(name, inputs, tuned):
    model, given = contextual(name, tuned=tuned, **inputs), examples(name)
    new, sources = told_apart(given)
    vocab = Vocabulary([word for word, _, _ in sources])
    rows = [torch.zeros(model.embedding.embedding_dim)]
    encoder = toy_encoder(FEATURE)
    for _, tree, place in sources:
        span = WordSpan(tuple(tree.words), place, place + 1)
        row = encoder.encode(encoder.read([span]))[0]
        if inputs["word_dim"]:
            row = torch.cat((model.embedding.weight[VOCABULARY[tree.words[place]]], row))
        rows.append(model.embedding.projection(row).detach())
    oracle = plain(name, model.embedding.embedding_dim, vocab)
    rest = {
        key: value for key, value in model.state_dict().items() if not key.startswith("embedding.")
    }
    oracle.load_state_dict({**rest, "embedding.weight": torch.stack(rows)})
    batch = model.collate(given)
    torch.testing.assert_close(model(batch), oracle(oracle.collate(new)))

    found, wanted = model.predict(given, batch_size=2), oracle.predict(new)
    for one, other in zip(found, wanted, strict=True):
        one, other = (getattr(each, "probabilities", each) for each in (one, other))
        torch.testing.assert_close(torch.as_tensor(one), torch.as_tensor(other))
    trees = [each.first for each in given] if isinstance(given[0], TreePair) else given
    assert model.encode(trees).shape[0] == len(trees)


@pytest.mark.parametrize("name", NAMES)
def test_a_tuned_encoder_learns_and_a_frozen_one_does_not(name):
    for tuned in (False, True):
        model = contextual(name, tuned=tuned, embedding_dropout=0.5).train()
        batch = model.collate(examples(name))
        model.loss(model(batch), batch).backward()
        encoder = model.embedding.contextual.encoder.model
        gradient = encoder.pieces.weight.grad
        assert encoder.training == tuned
        assert gradient.abs().sum() > 0 if tuned else gradient is None
        assert any("pieces" in key for key in model.state_dict()) == tuned


def test_dropout_is_on_features_too():
    model = contextual("nbow", word_dim=0, embedding_dropout=0.5).train()
    batch = model.collate([Sentence(["a"] * 50)])
    assert 0.3 < (model.embedding(batch.tokens, batch.context) == 0).float().mean() < 0.7
    still = model.eval().embedding(batch.tokens, batch.context)
    assert (still != 0).all()


def test_nothing_is_dropped_in_a_tuned_encoder_at_inference():
    model = contextual("nbow", tuned=True)
    network = model.embedding.contextual.network
    network.pieces = torch.nn.Sequential(network.pieces, torch.nn.Dropout(0.5))
    sentence = [Sentence(["good", "film"])]
    expected = model.encode(sentence)
    assert (model.train().encode(sentence) == expected).all()


@pytest.mark.parametrize("tuned", [False, True])
def test_an_encoder_is_in_training_if_it_is_tuned_and_the_model_is(tuned):
    encoder = toy_encoder(FEATURE)
    for training in (True, False):
        model = plain("nbow", FEATURE).train(training)
        encoder.model.train(not training)
        model.set_inputs(Inputs(0, contextual=Contextual.of(encoder, tuned=tuned)), encoder)
        assert encoder.model.training == (tuned and training)
        assert model.embedding.training == training


@pytest.mark.parametrize("tuned", [False, True])
def test_features_of_a_frozen_encoder_are_kept(tuned, tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHSENT_CACHE", str(tmp_path))
    model, given, reports = contextual("nbow", tuned=tuned), examples("nbow"), []
    expected = model.encode(given)
    model.keep_features(given, reports.append)
    network = model.embedding.contextual.encoder.model
    calls = network.calls
    assert (model.encode(given) == expected).all()
    assert network.calls == calls
    assert reports == ([] if tuned else [len({tuple(tree.words) for tree in given})])


def test_a_model_of_another_precision_than_that_of_its_features():
    model, given = contextual("nbow", word_dim=0, projected=True), examples("nbow")
    expected = model.predict(given)[0].probabilities
    twin = plain("nbow", READ).double()
    twin.set_inputs(model.inputs, toy_encoder(FEATURE))
    twin.load_state_dict(model.state_dict())
    for each in (model.double(), twin):
        assert each.predict(given)[0].probabilities == pytest.approx(expected, abs=1e-6)
    tuned = plain("nbow", READ).double()
    described = Contextual.of(toy_encoder(FEATURE), tuned=True)
    tuned.set_inputs(Inputs(WORD, True, described), toy_encoder(FEATURE))
    assert {parameter.dtype for parameter in tuned.parameters()} == {torch.float64}


def test_the_table_beside_an_encoder_has_the_options_of_the_model():
    model = contextual("nbow", projected=True, embedding_dropout=0.5, sparse_embedding=True)
    table, weight = model.embedding.table, model.embedding.projection.weight
    assert (table.dropout.p, table.sparse) == (0.5, True)
    default, glorot = (WORD + FEATURE) ** -0.5, (6 / (WORD + FEATURE + READ)) ** 0.5
    assert default < weight.abs().max() <= glorot


def test_inputs_as_json_values():
    for described in (None, Contextual("toy", "0" * 64, FEATURE, "first", True)):
        inputs = Inputs(WORD, True, described)
        assert Inputs.from_dict(json.loads(json.dumps(inputs.to_dict()))) == inputs


@pytest.mark.parametrize("name", ["kimcnn", "sequence"])
def test_phrases_have_the_features_of_their_sentence(name):
    model = contextual(name)
    trees = examples(name)
    seen = 0
    for tree, prediction in zip(trees, model.predict(trees), strict=True):
        phrases = model.training_examples([tree])
        if name == "sequence":  # which reads phrases from the tree itself
            assert phrases == [tree]
            continue
        for phrase, found in zip(phrases, model.predict(phrases), strict=True):
            begin = phrase.begin
            span = [begin, begin + len(phrase.words)]
            node = next(i for i, each in enumerate(tree.spans.tolist()) if each == span)
            expected = prediction.probabilities[node]
            assert found.probabilities[0] == pytest.approx(expected, abs=1e-6)
            seen += len(phrase.words) < len(tree.words)
    assert seen or name == "sequence"


def test_equal_phrases_are_one_example_in_the_first_sentence():
    tree = sentences("constituency", 1)[0]
    found = contextual("dcnn").training_examples([tree, tree])
    assert len({(tuple(each.words), each.label) for each in found}) == len(found)
    assert {each.sentence for each in found} == {tuple(tree.words)}


def test_lowercased_words_are_read_lowercased():
    vocab = Vocabulary(["good"], lower=True)
    model = plain("nbow", FEATURE, vocab)
    encoder = toy_encoder(FEATURE)
    model.set_inputs(Inputs(0, contextual=Contextual.of(encoder, tuned=False)), encoder)
    upper, lower = model.encode(["GOOD Film", "good film"])
    assert upper == pytest.approx(lower)


def test_copies_and_pickles_have_their_encoder():
    for tuned in (False, True):
        model = contextual("treelstm", tuned=tuned)
        batch = model.collate(examples("treelstm"))
        for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert torch.equal(twin(batch), model(batch))
            assert torch.equal(twin(twin.collate(examples("treelstm"))), model(batch))


def test_incompatible_options():
    encoder = toy_encoder(FEATURE)
    described = Contextual.of(encoder, tuned=False)
    with pytest.raises(ModelError, match="expected word inputs of size 5, got 7"):
        plain("nbow", READ).set_inputs(Inputs(WORD, contextual=described))
    with pytest.raises(ModelError, match="word_dim: expected at least 1, got 0"):
        Inputs(0)
    with pytest.raises(ModelError, match="word_dim: expected at least 1, got -1"):
        Inputs(-1, contextual=described)
    for variant in ("static", "multichannel"):
        with pytest.raises(ModelError, match=f"variant='{variant}' needs a table of word vectors"):
            contextual("kimcnn", word_dim=0, variant=variant)
    with pytest.raises(ModelError, match="has no contextual features"):
        plain("nbow", READ).attach_encoder(encoder)
    model = plain("nbow", FEATURE)
    model.set_inputs(Inputs(0, contextual=described))
    with pytest.raises(ModelError, match="no encoder is attached: expected that of toy"):
        model.collate([Sentence(["a"])])
    with pytest.raises(ModelError, match="there is no table for word vectors"):
        model.init_embeddings(torch.zeros(len(VOCABULARY), 0))
    with pytest.raises(ModelError, match="expected a context, got words only"):
        contextual("kimcnn").word_vectors(torch.tensor([1]))
    with pytest.raises(ModelError, match="unknown pooling 'max'"):
        Contextual("toy", "0", 3, "max")


def test_both_channels_have_the_features_once():
    model = contextual("kimcnn", variant="multichannel")
    batch = model.collate([Sentence(["good", "film"])])
    rows = model.word_vectors(batch.tokens, batch.context)
    once = model.embedding(batch.tokens, batch.context)
    torch.testing.assert_close(rows[:, WORD:], once[:, WORD:])
    fixed = model.fixed_vectors[batch.tokens]
    torch.testing.assert_close(rows[:, :WORD], once[:, :WORD] + fixed)


def test_a_look_inside():
    """A feature graph reads words in their sentence; the n-grams of filters have none."""
    model = contextual("dcnn")
    sentence = Sentence(VOCABULARY.words[1:7])
    graph = feature_graph(model, sentence)
    (prediction,) = model.predict([sentence])
    assert graph.label == prediction.root_name
    score = graph.value[graph.root]
    with torch.no_grad():
        logits = model(model.collate([sentence]))[0]
    assert score == pytest.approx(float(logits.max()), abs=1e-5)
    with pytest.raises(ModelError, match="an n-gram alone has no response"):
        filter_ngrams(model, [sentence])
