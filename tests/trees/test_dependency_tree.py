from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import dependency_trees

from graphsent.trees import DependencyTree, TreeError
from graphsent.trees.dependency import find_fault
from graphsent.trees.errors import (
    Cycle,
    EmptySentence,
    HeadOutOfRange,
    InvalidStructure,
    NoRoot,
    SeveralRoots,
)


@given(dependency_trees())
def test_derived_quantities(tree):
    heads = tree.heads.tolist()
    for word in range(tree.num_nodes):
        path = [word]
        while heads[path[-1]] >= 0:
            path.append(heads[path[-1]])
        assert tree.depths[word] == len(path) - 1
        dependents = [other for other in range(tree.num_nodes) if heads[other] == word]
        assert tree.num_children[word] == len(dependents)
        assert [tree.child_index[other] for other in dependents] == list(range(len(dependents)))
    root = heads.index(-1)
    assert tree.root == root
    assert tree.child_index[root] == 0
    assert tree.spans[root].tolist() == [0, tree.num_nodes]


def test_a_span_of_a_non_projective_tree_holds_words_of_others():
    tree = DependencyTree("abcd", [2, 3, -1, 2])
    assert tree.spans.tolist() == [[0, 1], [1, 2], [0, 4], [1, 4]]


@given(st.lists(st.integers(-2, 5), max_size=5))
def test_heads_are_rejected_unless_each_word_leads_to_the_root(heads):
    def leads_to_root(word: int) -> bool:
        for _ in heads:
            word = heads[word]
            if word == -1:
                return True
        return False

    in_range = all(-1 <= head < len(heads) for head in heads)
    is_tree = in_range and heads.count(-1) == 1 and all(map(leads_to_root, range(len(heads))))
    assert (find_fault(np.array(heads, np.int64)) is None) == is_tree


@pytest.mark.parametrize(
    ("heads", "error", "message", "word"),
    [
        ([], EmptySentence, "expected at least one word", 0),
        ([-1, 2], HeadOutOfRange, "word 2 has head 3: expected 0 to 2", 1),
        ([-2, -1], HeadOutOfRange, "word 1 has head -1: expected 0 to 2", 0),
        ([1, 0], NoRoot, "no word has head 0: expected one root", 0),
        ([1, -1, -1, -1], SeveralRoots, "words 2 and 3 both have head 0: expected one root", 2),
        ([-1, 2, 1], Cycle, "word 2 is below itself: expected heads without a cycle", 1),
        ([-1, 1], Cycle, "word 2 is below itself", 1),
    ],
)
def test_heads_that_are_not_a_tree(heads, error, message, word):
    with pytest.raises(error, match=message):
        DependencyTree(["w"] * len(heads), heads)
    assert find_fault(np.array(heads, np.int64)).word == word


@pytest.mark.parametrize(
    ("words", "heads", "columns", "message"),
    [
        ("ab", [-1], {}, "expected one of heads for each of 2 words, got 1"),
        ("ab", [-1, 0], {"upos": "X"}, "expected one of upos for each of 2 words, got 1"),
        ("ab", [-1, 0.0], {}, "integer heads, got float64"),
        ("ab", [[-1], [0]], {}, r"a row of integer heads, got int64 of shape \(2, 1\)"),
        ("ab", [-1, 0], {"labels": [3, 2]}, "expected labels to be strings"),
        ("a", [-1], {"metadata": {"sent_id": 3}}, "names and values of metadata to be strings"),
        ("a", [-1], {"other_lines": [(2, "1-2")]}, "to be strings after 0 to 1 words"),
        ("a", [-1], {"other_lines": [(0, None)]}, "to be strings after 0 to 1 words"),
        (["a", ""], [-1, 0], {}, "non-empty strings"),
        (["a", 3], [-1, 0], {}, "non-empty strings"),
    ],
)
def test_invalid_fields(words, heads, columns, message):
    with pytest.raises(InvalidStructure, match=message):
        DependencyTree(words, heads, **columns)


def test_unknown_values_are_empty_strings():
    tree = DependencyTree("_b", [-1, 0], labels="_3", lemmas="_b", upos=("", "_"))
    assert tree.words == ("_", "b")
    assert tree.labels == ("_", "3")
    assert tree.lemmas == ("", "b")
    assert tree.upos == tree.xpos == tree.relations == ("", "")
    assert tree.metadata == {}


@given(dependency_trees())
def test_copies_and_pickles_are_equal(tree):
    for same in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
        assert same == tree
        assert hash(same) == hash(tree)
        assert not same.heads.flags.writeable


def test_trees_differ_in_each_field():
    def build(**changed):
        fields = {"words": "ab", "heads": [-1, 0], "labels": "12", "metadata": {"a": "b"}}
        return DependencyTree(**{**fields, **changed})

    assert build() == build()
    for name, value in {
        "words": "ac",
        "heads": [1, -1],
        "labels": "13",
        "relations": "xy",
        "misc": "xy",
        "metadata": {},
        "other_lines": [(0, "")],
    }.items():
        assert build() != build(**{name: value})


def test_trees_are_immutable():
    heads = np.array([-1, 0])
    tree = DependencyTree(iter("ab"), heads)
    heads[1] = 9
    assert tree.heads.tolist() == [-1, 0]
    with pytest.raises(AttributeError, match="a DependencyTree is immutable"):
        tree.words = ()
    assert issubclass(Cycle, TreeError)


def test_repr_is_short():
    assert repr(DependencyTree("ab", [-1, 0])) == "DependencyTree('a b', num_nodes=2)"
    assert repr(DependencyTree("a" * 9, range(-1, 8))).endswith("a ...', num_nodes=9)")
