"""Raw sentences for tree models: parsed by the saved parser, or by another."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
import torch
from toy_parsers import FLAT, HEADED, flat, headed
from toy_sentences import EMBEDDING_DIM, HIDDEN

from graphsent.errors import GraphsentWarning, ModelError
from graphsent.models import (
    APDCNN,
    ARNNRelatedness,
    BiTreeLSTMClassifier,
    KimCNN,
    TreeLSTMClassifier,
    load_pretrained,
)
from graphsent.parsing import TreeSource, load_parser, registry
from graphsent.sentences import Sentence
from graphsent.trees import DependencyTree, Tree
from graphsent.vocabulary import Vocabulary

VOCABULARY = Vocabulary(["a", "film", "good", "-LRB-", ")", r"and\/or"], lower_fallback=True)
SOURCE = load_parser("toy_parsers:flat").source


@pytest.fixture
def model() -> BiTreeLSTMClassifier:
    model = BiTreeLSTMClassifier(VOCABULARY, 3, EMBEDDING_DIM, HIDDEN, 4).eval()
    model.tree_source = SOURCE
    return model


def test_a_sentence_is_predicted_as_its_tree(model):
    model.parser = flat
    sentences = ["A good film", Sentence(["good", "film"]), "(S (W a) (W film))", "(good) film"]
    trees = [*flat(["A good film", "good film"]), Tree.from_string("(S (W a) (W film))")]
    trees += flat(["(good) film"])
    found = model.predict(sentences)
    for prediction, expected in zip(found, model.predict(trees), strict=True):
        np.testing.assert_array_equal(prediction.probabilities, expected.probabilities)
        assert prediction.tree == expected.tree
    np.testing.assert_array_equal(model.encode(sentences), model.encode(trees))
    assert model.predict(["-LRB-"])[0].tree.words == ["-LRB-"]


def test_a_text_in_brackets_is_no_tree(model):
    model.parser = flat
    texts = ["(not good)", "(awful film"]
    expected = [prediction.tree for prediction in model.predict(flat(texts))]
    assert [prediction.tree for prediction in model.predict(texts)] == expected
    words = KimCNN(VOCABULARY, 2, 4, maps=3, label_names=("neg", "pos")).eval()
    found = words.predict(["(not good)", "(pos good)", "(NN good)"])
    assert [prediction.tree.words for prediction in found] == [
        [*words.tokenize("(not good)")],
        ["good"],
        ["good"],
    ]


def test_trees_take_the_shape_that_the_model_learned_from(model):
    left = Tree.from_string("(S (X (X (W a) (W good)) (W film)) (W a))")
    right = Tree.from_string("(S (W a) (X (W good) (X (W film) (W a))))")
    assert not np.array_equal(model.encode([left]), model.encode([right]))
    model.tree_source = load_parser("shape:left", "constituency").source
    (expected,) = model.predict(["a good film a"])
    for tree in (left, right):
        (found,) = model.predict([tree])
        assert found.tree.parents.tolist() == expected.tree.parents.tolist()
        np.testing.assert_array_equal(found.probabilities, expected.probabilities)
    np.testing.assert_array_equal(model.encode([left]), model.encode([right]))


def test_the_parser_is_saved_by_name_and_found_again(model, tmp_path):
    model.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["trees"] == SOURCE._asdict()
    found = load_pretrained(tmp_path)
    assert found.tree_source == SOURCE
    with pytest.raises(ModelError, match="names the parser 'toy_parsers:flat', which may run"):
        found.predict(["a film"])
    for tree in flat(["a film"]):  # trees need no parser
        assert len(found.predict([tree, str(tree)])) == 2
    found.parser = "toy_parsers:flat"
    assert found.predict(["a film"])[0].tree.words == ["a", "film"]


def test_models_without_a_parser(tmp_path):
    model = BiTreeLSTMClassifier(VOCABULARY, 3, EMBEDDING_DIM, HIDDEN, 4)
    with pytest.raises(ModelError, match=r"input 1: .*'a film': set model.parser"):
        model.predict(["a film"])
    with pytest.raises(ModelError, match="has no parser"):
        model.parse(["a film"])
    assert model.parser is None
    model.parser = flat
    model.parser = None
    assert model.parser is None
    model.save_pretrained(tmp_path)
    assert load_pretrained(tmp_path).tree_source is None
    model.tree_source = TreeSource("constituency")
    assert model.parser is None


def test_words_are_escaped_if_only_their_escape_is_known():
    known = Vocabulary(["(", "-LRB-", "-RRB-", "film"])
    model = KimCNN(known, 2, 4, maps=3)
    assert model.tokenize("(film) and/or") == ["(", "film", "-RRB-", "and/or"]


@pytest.mark.parametrize(
    "trees",
    [
        3,
        {},
        {"kind": "words"},
        {"kind": 3},
        {"kind": "x", "other": ""},
        {"kind": "dependency", "parser": []},
    ],
)
def test_damaged_sources_are_rejected(model, tmp_path, trees):
    model.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "trees": trees}))
    with pytest.raises(ModelError, match="trees"):
        load_pretrained(tmp_path)


def test_the_other_kind_of_trees_is_rejected(model):
    with pytest.raises(ModelError, match="reads constituency trees: toy:headed returns dependency"):
        model.parser = HEADED
    with pytest.raises(ModelError, match="reads constituency trees: spacy:en returns dependency"):
        model.parser = "spacy:en"
    with pytest.raises(ModelError, match="unknown parser 'spaci'"):
        model.parser = "spaci"
    model.tree_source = SOURCE._replace(kind="dependency")
    with pytest.warns(GraphsentWarning):
        model.parser = HEADED
    assert isinstance(model.parse(["a film"])[0], DependencyTree)


def test_models_of_words_need_no_parser():
    model = KimCNN(VOCABULARY, 2, 4)
    with pytest.raises(ModelError, match="'kimcnn' reads words: it needs no parser"):
        model.parser = FLAT


def test_another_parser_version_is_reported(model):
    with pytest.warns(GraphsentWarning, match=r"trees by toy_parsers:flat .*; toy:flat \(1\) may"):
        model.parser = FLAT
    assert model.predict(["a film"])[0].tree.words == ["a", "film"]


def test_words_take_the_form_that_the_model_knows(model):
    model.parser = flat
    (tree,) = model.parse(["a ( film ) and/or x/y"])
    assert tree.words == ["a", "-LRB-", "film", "-RRB-", r"and\/or", "x/y"]
    model.tree_source = TreeSource("dependency")
    model.parser = headed
    (tree,) = model.parse(["a ( film ) and/or x/y"])
    assert tree.words == ("a", "-LRB-", "film", ")", r"and\/or", "x/y")


def test_sentences_without_a_tree_are_named(model):
    model.parser = flat
    with pytest.raises(ModelError, match="input 2: toy_parsers:flat has no tree for 'so bad'"):
        model.predict(["good", "so bad"])
    with pytest.raises(ModelError, match="input 1: an empty line"):
        model.predict([""])


def test_pairs_of_sentences():
    torch.manual_seed(0)
    model = ARNNRelatedness(VOCABULARY, 5, 4, 4, comparison=3)
    model.tree_source = TreeSource("dependency")
    model.parser = headed
    trees = headed(["a film", "good film"])
    assert model.predict([("a film", "good film")]) == model.predict([tuple(trees)])
    np.testing.assert_array_equal(model.encode(["a film"]), model.encode(trees[:1]))
    with pytest.raises(ModelError, match=r"pair 2: input 1: .*'bad'"):
        model.predict([("a", "film"), ("bad", "film")])


@pytest.mark.parametrize("parser", [flat, "shape:left"])
def test_models_with_a_parser_are_copied(model, parser):
    model.tree_source = None
    model.parser = parser
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert twin.predict(["a film"])[0].tree == model.predict(["a film"])[0].tree


def test_a_copy_of_a_parser_is_not_loaded_again():
    parser = load_parser("shape:left")
    registry._load.cache_clear()
    assert copy.deepcopy(parser) is parser


@pytest.mark.parametrize("cls", [TreeLSTMClassifier, APDCNN])
def test_other_models_of_trees(cls):
    model = cls(VOCABULARY, 2)
    parser = headed if model.tree_kind == "dependency" else flat
    model.parser = parser
    (prediction,) = model.predict(["a good film"])
    assert list(prediction.tree.words) == ["a", "good", "film"]
