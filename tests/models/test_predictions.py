"""Predictions as text, HTML and pictures; sentence vectors and their similarity."""

from __future__ import annotations

import json

import networkx
import numpy as np
import pytest
import torch

from graphsent.drawing.palette import class_colors
from graphsent.errors import DataError, ModelError
from graphsent.models import (
    NBoW,
    Prediction,
    SequenceRelatedness,
    TreeLSTMClassifier,
    load_pretrained,
)
from graphsent.trees import Tree, parse_conllu
from graphsent.vocabulary import Vocabulary

VOCAB = Vocabulary(("a", "film", "good", "not"))
NAMES = ("<bad>", "good & fine")
TREE = Tree.from_string("(x (x a) (x (x good) (x film)))")


@pytest.fixture(scope="module")
def words() -> NBoW:
    return NBoW(VOCAB, 2, 4, label_names=NAMES)


@pytest.fixture(scope="module")
def phrases() -> Prediction:
    """Of a tree."""
    return TreeLSTMClassifier(VOCAB, 2, 3, 4, label_names=NAMES).predict([TREE])[0]


def test_nodes_have_words_names_and_probabilities(phrases):
    assert [node.words for node in phrases.nodes] == [
        ("a", "good", "film"),
        ("a",),
        ("good", "film"),
        ("good",),
        ("film",),
    ]
    assert [node.parent for node in phrases.nodes] == TREE.parents.tolist()
    for node, row in zip(phrases.nodes, phrases.probabilities, strict=True):
        assert node.probabilities == dict(zip(NAMES, row.tolist(), strict=True))
        assert node.name == NAMES[node.label] == max(NAMES, key=node.probabilities.get)
    root = phrases.nodes[phrases.root]
    assert root.probabilities[phrases.root_name] == phrases.root_probability


@pytest.mark.parametrize("ordered", [True, False])
def test_pictures_of_a_saved_model_have_the_colours_of_its_classes(ordered, tmp_path):
    given = {"label_names": ("a", "b", "c"), "ordered_classes": ordered}
    TreeLSTMClassifier(VOCAB, 3, 3, 4, **given).save_pretrained(tmp_path / "model")
    prediction = load_pretrained(tmp_path / "model").predict([TREE])[0]
    assert prediction.ordered_classes is ordered
    prediction.draw(tmp_path / "tree.svg")
    text = (tmp_path / "tree.svg").read_text(encoding="utf-8")
    for each in class_colors(given["label_names"], [], ordered_classes=ordered):
        assert each.fill in text  # of the legend


def test_json_is_that_of_the_dictionary(phrases):
    assert json.loads(phrases.to_json()) == phrases.to_dict()
    assert "\n  " in phrases.to_json(indent=2)
    pair = SequenceRelatedness(VOCAB, 2, 3, 4, goal="classification").predict([("a", "film")])[0]
    assert json.loads(pair.to_json()) == pair.to_dict()
    assert repr(pair).startswith(f"PairPrediction({pair.name!r}, 0.")
    best, *others = pair.ranked
    assert best == (pair.name, pair.probabilities.max())
    assert [name for name, _ in others] == [each for each in pair.label_names if each != pair.name]


def test_a_networkx_graph_has_the_predictions(phrases):
    digraph = phrases.to_networkx()
    assert networkx.is_arborescence(digraph)
    for number, node in enumerate(phrases.nodes):
        data = digraph.nodes[number]
        assert (data["label"], data["name"]) == (str(node.label), node.name)
        assert data["probabilities"] == node.probabilities


def test_predictions_of_dependency_trees():
    (tree,) = parse_conllu("1\ta\t_\t_\t_\t_\t2\tdet\t_\t_\n2\tfilm\t_\t_\t_\t_\t0\troot\t_\t_\n")
    model = TreeLSTMClassifier(VOCAB, 2, 3, 4, cell="childsum", label_names=NAMES)
    (found,) = model.predict([tree])
    assert [node.parent for node in found.nodes] == [1, -1]
    assert found.to_networkx().nodes[0]["relation"] == "det"
    assert "<svg" in found._repr_html_()


def test_a_picture_is_written(phrases, tmp_path):
    for suffix in ("svg", "png"):
        phrases.draw(tmp_path / f"tree.{suffix}", probabilities=True, title="all of it")
        assert (tmp_path / f"tree.{suffix}").stat().st_size > 1000
    assert "all of it" in (tmp_path / "tree.svg").read_text()
    with pytest.raises(DataError, match=r"\.png or \.svg"):
        phrases.draw(tmp_path / "tree.pdf")


def test_a_sentence_is_drawn_under_one_root(words):
    (found,) = words.predict(["a good film"])
    assert len(found.nodes) == 1
    digraph = found.to_networkx()
    assert [digraph.nodes[node]["word"] for node in digraph] == [None, "a", "good", "film"]
    assert digraph.nodes[0]["name"] == found.root_name
    figure = found.draw(probabilities=True)
    assert any(f"{found.root_probability:.2f}" in text.get_text() for text in figure.axes[0].texts)


def test_a_sentence_without_words_has_no_tree(words):
    (found,) = words.predict([[]])
    for convert in (found.draw, found.to_networkx):
        with pytest.raises(DataError, match="the sentence has no words"):
            convert()


def test_notebooks_show_markup_and_nothing_in_it_is_taken_for_such(words):
    (found,) = words.predict([["<script>alert(1)</script>", "film"]])
    markup = found._repr_html_()
    assert "<script>" not in markup
    assert "&lt;bad&gt;" in markup
    assert "good &amp; fine" in markup
    assert "<svg" in markup
    assert repr(found).endswith("'<script>alert(1)</script> film')")


def test_characters_without_a_glyph_are_logged_in_notebooks_too(words, caplog):
    """matplotlib warns of each, which is an error in these tests."""
    (found,) = words.predict([["\N{OSMANYA LETTER JA}", "film"]])
    assert "<svg" in found._repr_html_()
    assert "has no glyph for \N{OSMANYA LETTER JA}: " in caplog.text


def test_without_matplotlib_notebooks_show_text(words, monkeypatch):
    def fail(*_arguments, **_options) -> None:
        raise ImportError("drawing needs matplotlib", name="matplotlib")

    monkeypatch.setattr("graphsent.models.base.prediction.draw_tree", fail)
    for given in (["a", "<b>", "film"], []):
        (found,) = words.predict([given])
        assert found._repr_svg_() is None
        assert "<svg" not in found._repr_html_()
    assert "a &lt;b&gt; film" in words.predict([["a", "<b>", "film"]])[0]._repr_html_()


def test_encode_takes_the_arguments_of_sentence_transformers(words, capsys):
    texts = ["a good film", "film", "not a film"]
    vectors = words.encode(texts, batch_size=2, show_progress_bar=True, convert_to_tensor=False)
    assert "0/3" in capsys.readouterr().err
    assert vectors.dtype == np.float32
    tensor = words.encode(texts, convert_to_tensor=True)
    assert isinstance(tensor, torch.Tensor)
    np.testing.assert_array_equal(tensor.numpy(), vectors)
    np.testing.assert_array_equal(words.encode("film"), vectors[1])
    assert capsys.readouterr().err == ""
    with pytest.raises(ModelError, match="batch_size: expected at least 1"):
        words.encode(texts, batch_size=0)


def test_similarity_is_the_cosine(words):
    one = np.array([[3.0, 4.0], [0.0, 0.0]])
    other = torch.tensor([[4.0, 3.0], [-3.0, -4.0], [0.0, 2.0]])
    expected = torch.tensor([[0.96, -1.0, 0.8], [0.0, 0.0, 0.0]])
    torch.testing.assert_close(words.similarity(one, other), expected)
    assert words.similarity(one[0], other[1]).shape == (1, 1)


def test_the_root_of_a_dependency_tree_need_not_be_its_first_word():
    lines = ["1\ta\t_\t_\t_\t_\t2\tdet\t_\t_", "2\tfilm\t_\t_\t_\t_\t0\troot\t_\t_", ""]
    (tree,) = parse_conllu("\n".join([*lines, ""]))
    found = Prediction(tree, np.array([[0.9, 0.1], [0.2, 0.8]], np.float32), NAMES)
    assert (found.root, found.root_name) == (1, "good & fine")
    assert found.to_dict()["probabilities"] == [0.2, 0.8]


def test_notebooks_show_names_and_words_as_text(words):
    shown = words.predict([["<img>", "film"]])[0]._repr_html_()
    assert "&lt;bad&gt;" in shown
    assert "<bad>" not in shown
    assert "<img>" not in shown
