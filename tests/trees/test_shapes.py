"""Balanced, left-branching, right-branching and random trees over the words of any sentence."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import random_dependency_tree, random_tree

from graphsent.errors import DataError
from graphsent.sentences import Sentence
from graphsent.trees import SHAPES, Tree, reshape, shaped_dependency_tree, shaped_tree

WORDS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=40)


@given(WORDS, st.sampled_from(SHAPES))
def test_binary_trees_over_the_words(words, shape):
    tree = shaped_tree(words, shape)
    assert tree.words == words
    assert set(tree.num_children.tolist()) <= {0, 2}
    assert tree.num_nodes == 2 * len(words) - 1
    assert shaped_tree(words, shape) == tree
    depth = int(tree.depths.max())
    if shape == "balanced":
        assert depth == int(np.ceil(np.log2(len(words))))
    if shape in ("left", "right"):
        assert depth == len(words) - 1


@given(WORDS, st.sampled_from(SHAPES))
def test_projective_dependency_trees_over_the_words(words, shape):
    tree = shaped_dependency_tree(words, shape)
    assert list(tree.words) == words
    sizes = [sum(begin <= place < end for place in range(len(words))) for begin, end in tree.spans]
    below = [1] * len(words)
    for node in np.argsort(-tree.depths, kind="stable").tolist():
        if tree.heads[node] >= 0:
            below[tree.heads[node]] += below[node]
    assert sizes == below  # no words between those of a subtree
    if shape == "balanced":
        assert int(tree.depths.max()) == int(np.log2(len(words)))
    if shape in ("left", "right"):
        assert int(tree.depths.max()) == len(words) - 1


def test_shapes_equal_those_drawn_by_hand():
    words = list("abcde")
    assert str(shaped_tree(words, "balanced")) == "( ( ( ( a) ( b)) ( c)) ( ( d) ( e)))"
    assert str(shaped_tree(words[:3], "left")) == "( ( ( a) ( b)) ( c))"
    assert str(shaped_tree(words[:3], "right")) == "( ( a) ( ( b) ( c)))"
    heads = {shape: shaped_dependency_tree(words, shape).heads.tolist() for shape in SHAPES}
    assert heads["left"] == [1, 2, 3, 4, -1]
    assert heads["right"] == [-1, 0, 1, 2, 3]
    assert heads["balanced"] == [1, 2, -1, 4, 2]


def test_random_trees_vary_with_the_words_and_cover_all_splits():
    firsts = set()
    for number in range(200):
        tree = shaped_tree(["a", "b", "c", str(number)], "random")
        firsts.add(int(tree.spans[1, 1]))
    assert firsts == {1, 2, 3}


@given(st.integers(0, 10**6), st.sampled_from(SHAPES))
def test_labels_stay_where_the_words_are_a_phrase_of_the_tree(seed, shape):
    rng = random.Random(seed)
    tree = random_tree(rng, rng.randint(1, 9), 3)
    labels = {}
    for span, label in zip(tree.spans.tolist(), tree.labels, strict=True):
        labels.setdefault(tuple(span), label)
    shaped = reshape(tree, shape)
    assert shaped.labels[0] == tree.labels[0]
    for span, label in zip(shaped.spans.tolist(), shaped.labels, strict=True):
        assert label == labels.get(tuple(span), "")
    words = reshape(tree, shape, "dependency")
    for span, label in zip(words.spans.tolist(), words.labels, strict=True):
        assert label == labels.get(tuple(span), "")
    assert reshape(shaped, shape) == shaped


def test_the_label_of_a_sentence_without_a_tree_and_of_a_dependency_tree():
    sentence = Sentence(["a", "b", "c"], "4")
    assert reshape(sentence, "left").labels == ("4", "", "", "", "")
    tree = random_dependency_tree(random.Random(0), 6)
    tree = tree.replace(labels=["x" if head < 0 else "y" for head in tree.heads.tolist()])
    for kind in ("constituency", "dependency"):
        shaped = reshape(tree, "right", kind)
        assert shaped.labels[int(np.argmin(shaped.depths))] == "x"


@pytest.mark.parametrize("shape", SHAPES)
def test_words_with_other_whitespace_than_that_of_ascii_stay_as_they_are(shape):
    words = ["\u00a0", "2\u00a01/2", "\u3000", "\x85"]
    tree = Tree.from_string("(S " + " ".join(f"(CD {word})" for word in words) + ")")
    assert reshape(tree, shape).words == tree.words == words
    assert shaped_tree(["New  York\n", "is"], shape).words == ["New_York", "is"]


def test_deep_chains():
    words = ["w"] * 5000
    assert int(shaped_tree(words, "left").depths.max()) == 4999
    assert int(shaped_dependency_tree(words, "right").depths.max()) == 4999


def test_rejected_arguments():
    with pytest.raises(DataError, match=r"unknown shape of trees 'ballanced'.*'balanced'"):
        shaped_tree(["a"], "ballanced")
    with pytest.raises(DataError, match="expected a sentence of at least one word"):
        reshape(Sentence([]), "left", "dependency")
    with pytest.raises(DataError, match=r"unknown kind of trees 'dependancy'.*'dependency'"):
        reshape(Sentence(["a"]), "left", "dependancy")
    with pytest.raises(DataError, match="expected a sequence of words, got the string 'a film'"):
        shaped_tree("a film", "left")
