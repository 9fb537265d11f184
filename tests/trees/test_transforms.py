from __future__ import annotations

import nltk
import pytest
from hypothesis import given
from strategies import odd_trees, trees

from graphsent.errors import DataError
from graphsent.trees import (
    Tree,
    TreeError,
    bracket_counts,
    bracketed,
    collapse_unary,
    debinarize,
    drop_words,
    escape,
    expand_unary,
    head_children,
    head_words,
    map_tokens,
    relabel,
    reshape,
    strip_function_tags,
    strip_traces,
    to_dependency_tree,
    unescape,
)

# collapse_unary


@pytest.mark.parametrize(
    ("before", "options", "after"),
    [
        ("(S (VP (VB go)))", {}, "(S go)"),
        ("(S (VP (VB go)))", {"keep": "join"}, "(S+VP+VB go)"),
        ("(S (VP (VB go)))", {"keep_tags": True}, "(S (VB go))"),
        ("(S (VP (VB go)))", {"keep": "join", "keep_tags": True}, "(S+VP (VB go))"),
        ("(S (VP (VB go)))", {"keep": "join", "separator": "_"}, "(S_VP_VB go)"),
        ("(R (S (A a) (X (Y (B b) (C (D d))))))", {}, "(R (A a) (X (B b) (C d)))"),
        ("(A a)", {"keep": "join", "keep_tags": True}, "(A a)"),
    ],
)
def test_collapse_unary(before, options, after):
    assert str(collapse_unary(Tree.from_string(before), **options)) == after


@given(odd_trees())
def test_no_chain_is_left(tree):
    collapsed = collapse_unary(tree)
    assert 1 not in collapsed.num_children
    assert collapsed.words == tree.words
    kept = collapse_unary(tree, keep_tags=True)
    assert [kept.num_children[kept.parents[n]] for n in range(1, kept.num_nodes)].count(1) == sum(
        n > 0 and kept.num_children[kept.parents[n]] == 1 and kept.tokens[n] is not None
        for n in range(kept.num_nodes)
    )


@given(odd_trees())
def test_joined_chains_expand_again(tree):
    for keep_tags in (False, True):
        joined = collapse_unary(tree, "join", keep_tags=keep_tags, separator="→")
        assert expand_unary(joined, "→") == tree


def test_labels_are_not_split_at_nothing():
    with pytest.raises(DataError, match="expected a separator of labels, got an empty one"):
        expand_unary("(A+B a)", "")


def test_collapse_rejects():
    tree = Tree.from_string("(A+B a)")
    with pytest.raises(DataError, match="unknown keep 'bottom': expected one of top, join"):
        collapse_unary(tree, "bottom")
    with pytest.raises(TreeError, match=r"label 'A\+B' contains the separator '\+'"):
        collapse_unary(tree, "join")
    for separator in ("++", ""):  # of A+++B, the parts could also be A and +B
        with pytest.raises(TreeError, match="expected another separator"):
            collapse_unary("(A+ (B a))", "join", separator=separator)
    assert collapse_unary(tree) == tree


# traces and function tags


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("(S (NP-SBJ (-NONE- *)) (VP (VB go)))", "(S (VP (VB go)))"),
        ("(S (A (B (-NONE- *) (-NONE- 0)) (C c)) (-NONE- *))", "(S (A (C c)))"),
        ("(S (A a))", "(S (A a))"),
        ("(S (-NONE- *) (-LRB- -LRB-))", "(S (-LRB- -LRB-))"),
    ],
)
def test_strip_traces(before, after):
    assert str(strip_traces(Tree.from_string(before))) == after


def test_a_tree_of_traces():
    with pytest.raises(TreeError, match=r"nothing is left of Tree.*: all of its words are dropped"):
        strip_traces(Tree.from_string("(S (NP (-NONE- *)))"))


def test_strip_function_tags():
    before = "(S-TPC-1 (NP=2 (PRP$ a)) (ADVP|PRT-LOC (-LRB- b-c)) (-NONE- *-1) (- d) (= e))"
    after = "(S (NP (PRP$ a)) (ADVP|PRT (-LRB- b-c)) (-NONE- *-1) (- d) (= e))"
    assert str(strip_function_tags(Tree.from_string(before))) == after
    unlabelled = Tree(["", "NP-SBJ"], [None, "a"], [-1, 0])
    assert strip_function_tags(unlabelled).labels == ("", "NP")


# relabel, map_tokens


def test_relabel_maps_labels_by_dict_or_function():
    tree = Tree.from_string("(3 (2 a) (4 b))")
    names = {"2": "neutral", "3": "good", "4": "great"}
    assert str(relabel(tree, names)) == "(good (neutral a) (great b))"
    assert str(relabel(tree, lambda label: "")) == "( ( a) ( b))"
    with pytest.raises(DataError, match="label '3' is not in the mapping"):
        relabel(tree, {"2": "neutral", "4": "great"})
    with pytest.raises(TreeError, match="expected a str as the label, got 3"):
        relabel(tree, int)


@given(trees())
def test_map_tokens(tree):
    assert map_tokens(tree, str) == tree
    assert map_tokens(tree, str.upper).words == [word.upper() for word in tree.words]
    with pytest.raises(TreeError, match="expected a token, got ''"):
        map_tokens(tree, lambda word: "")


# escapes


@pytest.mark.parametrize(
    ("escaped", "plain"),
    [
        ("-LRB-", "("),
        ("-RRB-", ")"),
        ("-LSB-", "["),
        ("-RCB-", "}"),
        ("1\\/2", "1/2"),
        ("\\*\\*", "**"),
        (":--RRB-", ":-)"),
        ("``", "``"),
        ("lrb-", "lrb-"),
        ("film", "film"),
    ],
)
def test_escapes_are_inverse_to_each_other(escaped, plain):
    assert unescape(escaped) == plain
    assert escape(plain) == escaped


@pytest.mark.parametrize(
    "function",
    [
        *(collapse_unary, expand_unary, debinarize, strip_function_tags, strip_traces, bracketed),
        *(head_children, head_words, to_dependency_tree),
        lambda tree: map_tokens(tree, str.lower),
        lambda tree: relabel(tree, str.lower),
        lambda tree: reshape(tree, "left"),
        lambda tree: bracket_counts(tree, tree),
    ],
)
def test_strings_and_nltk_trees_are_converted(function):
    text = "(S (NP (DT The) (NN film)) (VP (VBZ is) (ADJP (JJ good))))"
    expected = function(Tree.from_string(text))
    for tree in (text, nltk.Tree.fromstring(text)):
        assert str(function(tree)) == str(expected)
    with pytest.raises(TreeError, match=r"expected a Tree, an nltk\.Tree or a bracketed string"):
        function(5)


def test_words_are_dropped_with_what_they_leave_empty():
    tree = "(S (NP (DT The) (NN film)) (PRN (: -) (: -)) (VP (VBZ works)) (. .))"
    found = drop_words(tree, lambda label, token: label in (".", ":"))
    assert str(found) == "(S (NP (DT The) (NN film)) (VP (VBZ works)))"
    assert str(drop_words(tree, lambda label, token: token != "film")) == "(S (NP (NN film)))"
    assert drop_words(found, lambda label, token: False) is found
    with pytest.raises(TreeError, match="all of its words are dropped"):
        drop_words(tree, lambda label, token: True)
