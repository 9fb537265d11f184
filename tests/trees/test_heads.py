from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from strategies import trees

from graphsent.trees import Tree, head_children, head_words, to_dependency_tree
from graphsent.trees.head_rules import COLLINS, LEFT, HeadRule, Search, by_priority


def head_of(text: str, rules=COLLINS) -> str:
    tree = Tree.from_string(text)
    return tree.words[head_words(tree, rules)[0]]


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("(NP (DT the) (JJ new) (NN film))", "film"),
        ("(NP (NP (NN plot)) (PP (IN of) (NP (NN film))))", "plot"),
        ("(NP (NP (DT the) (NN film)) (POS 's))", "'s"),
        ("(NP (QP (CD ten)) (CD 3))", "3"),
        ("(NP (DT the) (JJ poor))", "poor"),
        ("(NP (DT this))", "this"),
        ("(NP-SBJ-1 (NN cat) (CC and) (NN dog))", "cat"),
        ("(NP (NN cat) (, ,) (NN dog) (, ,) (CC and) (NN cow))", "dog"),
        ("(VP (MD will) (VP (VB see)))", "will"),
        ("(VP (TO to) (VP (VB see)))", "to"),
        ("(S (NP (NN film)) (VP (VBZ works)) (. .))", "works"),
        ("(PP (IN of) (NP (NN film)))", "of"),
        ("(SBAR (IN that) (S (VP (VBZ works))))", "that"),
        ("(ADVP (RB very) (RB well))", "well"),
        ("(X (A a) (B b) (. .))", "b"),
        ("(PRN (: :) (A a) (B b))", "a"),
        ("(2 (1 a) (3 b))", "b"),
        ("(X (. .) (: :))", ":"),
        ("(NP (-NONE- *))", "*"),
        ("(S (-NONE- *) (NP (NN film)))", "film"),
    ],
)
def test_heads_of_collins(text, head):
    assert head_of(text) == head


def test_other_rules():
    text = "(A (B b) (C c) (D d))"
    assert head_of(text, {"A": by_priority(LEFT)}) == "b"
    assert head_of(text, {"A": by_priority(LEFT, "D C")}) == "d"
    assert head_of(text, {"A": HeadRule(LEFT, (Search(LEFT, frozenset("CD")),))}) == "c"
    assert head_of(text, {}) == "d"


@given(trees(max_leaves=8))
def test_head_words_follow_head_children(tree):
    children = head_children(tree)
    words = head_words(tree)
    for node in range(tree.num_nodes):
        leaf = node
        while tree.tokens[leaf] is None:
            assert tree.parents[children[leaf]] == leaf
            leaf = children[leaf]
        assert children[leaf] == -1
        assert tree.spans[leaf, 0] == words[node]
    assert words.dtype == children.dtype == np.int64


def test_dependencies():
    tree = Tree.from_string(
        "(S (NP-SBJ (DT the) (NN film)) (VP (VBZ is) (ADJP (RB quite) (JJ good))) (. .))"
    )
    found = to_dependency_tree(tree)
    assert found.words == ("the", "film", "is", "quite", "good", ".")
    assert found.heads.tolist() == [1, 2, -1, 4, 2, 2]
    assert found.xpos == ("DT", "NN", "VBZ", "RB", "JJ", ".")


@given(trees())
def test_dependencies_are_a_projective_tree(tree):
    found = to_dependency_tree(tree)
    assert found.words == tuple(tree.words)
    sizes = found.spans[:, 1] - found.spans[:, 0]
    below = np.ones(found.num_nodes, np.int64)
    for word in sorted(range(found.num_nodes), key=lambda word: -found.depths[word]):
        if found.heads[word] >= 0:
            below[found.heads[word]] += below[word]
    np.testing.assert_array_equal(sizes, below)
