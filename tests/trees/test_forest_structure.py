from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import dependency_trees, trees

from graphsent.trees import structure


def forest(parts):
    """Parents of several trees, numbered over all of them."""
    sizes = [len(parents) for parents in parts]
    starts = np.cumsum([0, *sizes])
    shifted = [np.where(p < 0, -1, p + start) for p, start in zip(parts, starts, strict=False)]
    return np.concatenate([np.zeros(0, np.int64), *shifted]), starts


@given(st.lists(trees(max_leaves=6), max_size=4))
def test_a_forest_has_the_quantities_of_its_trees(some_trees):
    parents, starts = forest([tree.parents for tree in some_trees])
    for name in ("depths", "child_index", "num_children"):
        expected = [value for tree in some_trees for value in getattr(tree, name)]
        assert getattr(structure, name)(parents).tolist() == expected
    ends = [
        start + end
        for tree, start in zip(some_trees, starts, strict=False)
        for end in structure.subtree_ends(tree.parents)
    ]
    assert structure.subtree_ends(parents).tolist() == ends
    np.testing.assert_array_equal(structure.parents_from_depths(structure.depths(parents)), parents)


@given(trees())
def test_subtree_ends_and_closing_brackets(tree):
    parents = tree.parents.tolist()
    for node, end in enumerate(structure.subtree_ends(tree.parents).tolist()):
        below = {node}
        for other in range(node + 1, tree.num_nodes):
            if parents[other] in below:
                below.add(other)
        assert below == set(range(node, end))
    assert structure.num_closed(tree.depths).sum() == tree.num_nodes


@given(st.lists(trees(max_leaves=6) | dependency_trees(max_words=6), max_size=4))
def test_heights_are_the_longest_paths_to_a_leaf(some_trees):
    parents, _ = forest(
        [tree.heads if hasattr(tree, "heads") else tree.parents for tree in some_trees]
    )
    expected = [0] * len(parents)
    for node in np.argsort(-structure.depths(parents)).tolist():
        if parents[node] >= 0:
            expected[parents[node]] = max(expected[parents[node]], expected[node] + 1)
    assert structure.heights(parents).tolist() == expected


@given(st.lists(dependency_trees(max_words=6), max_size=4))
def test_spans_of_words_in_any_order(some_trees):
    parents, _ = forest([tree.heads for tree in some_trees])
    positions = [i for tree in some_trees for i in range(tree.num_nodes)]
    spans = structure.word_spans(parents, np.array(positions, np.int64))
    for node in range(len(parents)):
        below = {node}
        while more := {c for c in range(len(parents)) if parents[c] in below} - below:
            below |= more
        words = [positions[i] for i in below]
        assert spans[node].tolist() == [min(words), max(words) + 1]


@given(trees(), st.data())
def test_without_some_nodes(tree, data):
    keep = np.array([data.draw(st.booleans()) for _ in range(tree.num_nodes)])
    rows = np.flatnonzero(keep).tolist()
    for new_row, parent in enumerate(structure.without(tree.parents, keep).tolist()):
        ancestor = tree.parents[rows[new_row]]
        while ancestor >= 0 and not keep[ancestor]:
            ancestor = tree.parents[ancestor]
        assert parent == (rows.index(ancestor) if ancestor >= 0 else -1)


def test_has_words_tells_which_subtrees_hold_a_word():
    #        0
    #     1     3
    #     2   4   5
    parents = np.array([-1, 0, 1, 0, 3, 3])
    is_word = np.array([False, False, False, False, False, True])
    found = structure.has_words(parents, is_word)
    assert found.tolist() == [True, False, False, True, False, True]


@pytest.mark.parametrize(
    ("heads", "node"),
    [([-1, 0, 1], None), ([1, 0], 0), ([-1, 1], 1), ([-1, 2, 3, 1, 3], 1), ([], None)],
)
def test_node_on_cycle(heads, node):
    assert structure.node_on_cycle(np.array(heads, np.int64)) == node


def test_a_forest_without_nodes_gives_empty_arrays():
    nothing = np.zeros(0, np.int64)
    for name in ("depths", "child_index", "num_children", "subtree_ends", "parents_from_depths"):
        found = getattr(structure, name)(nothing)
        assert found.shape == (0,)
        assert found.dtype == np.int64
