"""Attention over positions, as numbers, tables and pictures."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pictures import assert_no_overlap

from graphsent.errors import ModelError
from graphsent.models import (
    APDCNN,
    DCNN,
    SentenceAttention,
    attention_table,
    draw_attention,
    sentence_attention,
)
from graphsent.parsing import TreeSource
from graphsent.trees import Tree
from graphsent.vocabulary import Vocabulary

VOCABULARY = Vocabulary(["a", "b", "c"])
TREES = [Tree.from_string("(1 (0 a) (1 (0 b) (1 c)))"), Tree.from_string("(1 b)")]


def build(**options) -> APDCNN:
    model = APDCNN(VOCABULARY, 2, 4, 3, **options).double()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    return model


@pytest.mark.parametrize("options", [{}, {"pool": "none"}, {"widths": ((3,), (3, 2), (1, 2))}])
def test_weights_are_those_of_the_model(options):
    model = build(**options)
    found = sentence_attention(model, TREES)
    for each, tree, weights in zip(found, TREES, model.position_weights(TREES), strict=True):
        assert each.words == tuple(tree.words)
        for ours, theirs in zip(each.weights, weights, strict=True):
            np.testing.assert_array_equal(ours, theirs)
            np.testing.assert_allclose(ours.sum(), 1)


def test_a_model_in_half_precision():
    torch.manual_seed(0)
    model = build().bfloat16()
    ((weights,),) = model.position_weights(TREES[:1])
    assert weights.dtype == np.float32
    np.testing.assert_allclose(weights.sum(), 1, atol=0.01)


@pytest.mark.parametrize("given", ["a b c", TREES[0]])
def test_sentences_are_read_as_in_predictions(given):
    """Here by a model of left-branching trees, which is also a parser."""
    model = build()
    ((expected,),) = model.position_weights([Tree.from_string("(1 (1 (1 a) (1 b)) (1 c))")])
    model.tree_source = TreeSource("constituency", "shape:left", "1")
    (found,) = sentence_attention(model, [given])
    assert found.words == ("a", "b", "c")
    np.testing.assert_array_equal(found.weights[0], expected)


def test_words_are_known_without_pooling_in_between():
    (aligned,) = sentence_attention(build(pool="none", widths=((2, 2),)), TREES[:1])
    assert aligned.spans[0].tolist() == [[0, 1], [0, 2], [0, 3], [1, 3], [2, 3]]
    one, two = sentence_attention(build(widths=((3,), (2, 2))), TREES[:1])[0].spans
    assert one.tolist() == [[0, 1], [0, 2], [0, 3], [1, 3], [2, 3]]
    assert two is None


def test_positions_depend_on_the_words_that_they_cover():
    """Without pooling: a word changes the positions that cover it, before weighting."""
    model = build(pool="none", widths=((2, 3),))
    stack = model.encoder.stacks[0]
    vectors = torch.randn(6, 4, dtype=torch.float64)
    changed = vectors.clone()
    changed[3] += 1
    ranges = torch.tensor([[0, 6]])
    before, after = (stack.positions(rows, ranges)[0] for rows in (vectors, changed))
    differs = (before != after).any(1).tolist()
    tree = Tree.from_string("(1 (1 (1 (1 (1 (1 a) (1 a)) (1 a)) (1 a)) (1 a)) (1 a))")
    (spans,) = sentence_attention(model, [tree])[0].spans
    assert [begin <= 3 < end for begin, end in spans.tolist()] == differs


HALVES = SentenceAttention(
    ("a", "film"),
    (np.array([0.5, 0.25, 0.25]), np.array([0.5, 0.5])),
    (np.array([[0, 1], [0, 2], [1, 2]]), None),
)


def test_the_table():
    assert attention_table(HALVES).to_text().splitlines() == [
        "stack  position  weight  words",
        "    1         1   0.500  a",
        "    1         2   0.250  a film",
        "    1         3   0.250  film",
        "    2         1   0.500",
        "    2         2   0.500",
    ]


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_pictures(tmp_path, suffix):
    for name in ("one", "other"):
        figure = draw_attention(HALVES, title="A title", path=tmp_path / f"{name}{suffix}")
    one, other = ((tmp_path / f"{name}{suffix}").read_bytes() for name in ("one", "other"))
    assert one == other
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert {"A title", "stack 1", "stack 2", "film", "0.500"} <= set(texts)
    assert "3" not in texts  # only bars without words are numbered
    bars = figure.axes[0].collections[0].get_segments()
    heights = [float(end[1] - start[1]) for start, end in bars]
    np.testing.assert_allclose(heights[1] / heights[0], 0.5)
    assert_no_overlap(figure)


def test_bars_are_over_their_words_and_equal_weights_are_marked():
    alone = HALVES._replace(weights=HALVES.weights[:1], spans=HALVES.spans[:1])
    (axes,) = draw_attention(alone).axes
    *bars, ground, equal = axes.collections[0].get_segments()
    place = {text.get_text(): text.get_position()[0] for text in axes.texts}
    middle = (place["a"] + place["film"]) / 2
    x = [float(bar[0][0]) for bar in bars]
    assert x[0] < place["a"] < x[1] < place["film"] < x[2]
    np.testing.assert_allclose(x[1], middle)
    np.testing.assert_allclose(middle - x[0], x[2] - middle)
    heights = [float(bar[1][1] - bar[0][1]) for bar in bars]
    np.testing.assert_allclose(equal[:, 1] - ground[:, 1], np.mean(heights), rtol=1e-6)
    assert "stack 1" not in place  # there is no other


@pytest.mark.parametrize("options", [{}, {"pool": "none"}, {"widths": ((1,), (2, 2))}])
def test_a_single_word_is_drawn(options):
    draw_attention(*sentence_attention(build(**options), TREES[1:]))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (DCNN(VOCABULARY, 2, 4), "the model 'dcnn' has no attention over positions"),
        (APDCNN(VOCABULARY, 2, 4, 3, branches="tree"), "no attention: the model has branches="),
    ],
    ids=["dcnn", "apdcnn"],
)
def test_models_without_attention(model, message):
    with pytest.raises(ModelError, match=message):
        sentence_attention(model, TREES)


def test_sentences_without_trees_are_rejected():
    with pytest.raises(ModelError, match="expected a parse tree, got the sentence 'a b'"):
        sentence_attention(build(), ["a b"])
