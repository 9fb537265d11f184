from __future__ import annotations

import nltk
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import odd_trees, trees

from graphsent.errors import DataError
from graphsent.trees import Tree, TreeError, binarize, collapse_unary, debinarize

FLAT = "(VP (RB not) (RB ever) (VB see) (NP it) (RB again))"


@pytest.mark.parametrize(
    ("method", "after"),
    [
        ("left", "(VP (@VP (@VP (@VP (RB not) (RB ever)) (VB see)) (NP it)) (RB again))"),
        ("right", "(VP (RB not) (@VP (RB ever) (@VP (VB see) (@VP (NP it) (RB again)))))"),
        ("head", "(VP (RB not) (@VP (RB ever) (@VP (@VP (VB see) (NP it)) (RB again))))"),
    ],
)
def test_nodes_with_many_children_become_binary(method, after):
    assert str(binarize(Tree.from_string(FLAT), method)) == after


def test_inner_nodes_are_split_and_others_unchanged():
    tree = Tree.from_string("(A (B (C c)) (D (E e) (F f) (G g)))")
    assert str(binarize(tree, marker="X|")) == "(A (B (C c)) (D (X|D (E e) (F f)) (G g)))"


@given(odd_trees(), st.sampled_from(["left", "right", "head"]))
def test_binary_and_back(tree, method):
    binary = binarize(tree, method, marker="new:")
    assert binary.num_children.max() <= 2
    assert binary.words == tree.words
    assert debinarize(binary, marker="new:") == tree


@given(trees(), st.sampled_from(["left", "right", "head"]))
def test_collapsed_and_binarized_trees_are_strictly_binary(tree, method):
    binary = collapse_unary(binarize(tree, method))
    assert binary.num_nodes == 2 * len(tree.words) - 1


def test_trees_of_nltk_and_strings():
    text = "(A (B b) (C c) (D d))"
    for tree in (text, nltk.Tree.fromstring(text)):
        assert binarize(tree) == binarize(Tree.from_string(text))


def test_binarize_rejects():
    tree = Tree.from_string("(A (@B b))")
    with pytest.raises(DataError, match="unknown method 'up': expected one of left, right"):
        binarize(tree, "up")
    with pytest.raises(TreeError, match="label '@B' starts with '@', the marker of new nodes"):
        binarize(tree)
    with pytest.raises(TreeError, match="node 1 is marked by its label '@B'"):
        debinarize(tree)
    with pytest.raises(TreeError, match="node 0 is marked"):
        debinarize(Tree.from_string("(@A (B b))"))
