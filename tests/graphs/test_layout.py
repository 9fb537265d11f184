from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import chain_tree, dependency_trees, trees

from graphsent.graphs.layout import GAP, Layout, tree_layout
from graphsent.trees import DependencyTree, Tree

widths = st.floats(1, 120)


def lay_out(
    tree: Tree | DependencyTree, box_widths, word_widths, on_word_line=False, **options
) -> Layout:
    if isinstance(tree, Tree):
        parents = tree.parents
        positions = np.where(tree.num_children > 0, -1, tree.spans[:, 0])
    else:
        parents, positions = tree.heads, np.arange(tree.num_nodes)
    return tree_layout(
        parents,
        tree.depths,
        positions,
        tree.spans,
        np.array(box_widths),
        np.array(word_widths),
        np.broadcast_to(on_word_line, tree.num_nodes),
        **options,
    )


def assert_apart(centers: np.ndarray, sizes: np.ndarray) -> None:
    """Intervals do not overlap."""
    order = np.argsort(centers)
    ends = (centers + sizes / 2)[order]
    starts = (centers - sizes / 2)[order]
    assert np.all(starts[1:] - ends[:-1] > GAP - 1e-6)


@given(st.data(), trees() | dependency_trees())
def test_nothing_overlaps_and_words_stay_in_order(data, tree):
    num_words = len(tree.words)
    boxes = np.array(data.draw(st.lists(widths, min_size=tree.num_nodes, max_size=tree.num_nodes)))
    words = np.array(data.draw(st.lists(widths, min_size=num_words, max_size=num_words)))
    layout = lay_out(tree, boxes, words, least_width=data.draw(st.sampled_from([0.0, 300.0])))

    assert np.all(np.diff(layout.word_x) > 0)
    assert_apart(layout.word_x, words)
    for depth in np.unique(tree.depths):
        row = tree.depths == depth
        assert len(set(layout.y[row])) == 1
        assert_apart(layout.x[row], boxes[row])
    assert np.all(layout.y > layout.word_y)
    assert np.all(layout.x - boxes / 2 >= 0)
    assert np.all(layout.x + boxes / 2 <= layout.width)


@given(trees())
def test_parents_are_above_the_middle_of_their_children(tree):
    layout = lay_out(tree, np.full(tree.num_nodes, 17.0), np.full(len(tree.words), 30.0))
    for node in range(tree.num_nodes):
        children = np.flatnonzero(tree.parents == node)
        if len(children):
            middle = (layout.x[children].min() + layout.x[children].max()) / 2
            np.testing.assert_allclose(layout.x[node], middle)
            assert layout.y[node] > layout.y[children].max()


def flat_tree() -> Tree:
    return Tree(["2"] * 4, [None, "a", "film", "."], [-1, 0, 0, 0])


def test_a_box_stays_above_its_words_though_its_children_are_at_one_side():
    for text in ("(2 (2 (2 (2 a) (2 b)) (2 c)) (2 d))", "(2 (2 a) (2 (2 b) (2 (2 c) (2 d))))"):
        layout = lay_out(Tree.from_string(text), [200.0, *[17.0] * 6], [20.0] * 4)
        assert 100 <= layout.x[0] <= layout.width - 100


def test_a_short_sentence_is_stretched_a_little():
    widths = [
        lay_out(flat_tree(), [17.0] * 4, [30.0] * 3, least_width=least).width
        for least in (0.0, 150.0, 1000.0)
    ]
    assert widths[:2] == [120, 150]
    assert 150 < widths[2] < 300


def test_narrow_words_have_room():
    layout = lay_out(flat_tree(), [1.0] * 4, [1.0] * 3)
    assert np.all(np.diff(layout.word_x) > 2 * GAP)


def test_rows_are_higher_where_there_is_room():
    def height(width: float, on_word_line=False) -> float:
        return -lay_out(flat_tree(), [17.0] * 4, [width] * 3, on_word_line).word_y

    assert height(30.0) < height(60.0) < height(1000.0) == height(2000.0)
    leaves = np.array([False, True, True, True])
    assert height(30.0, leaves) < height(30.0)  # only the root has a row


def test_gaps_between_words_are_even():
    words = np.array([20.0, 50.0, 30.0])
    layout = lay_out(flat_tree(), [17.0] * 4, words)
    gaps = np.diff(layout.word_x) - (words[1:] + words[:-1]) / 2
    np.testing.assert_allclose(gaps, GAP)


def test_unary_chains_are_vertical_and_deep_ones_are_fine():
    layout = lay_out(chain_tree(10_000), np.full(10_001, 17.0), [10.0])
    assert len(set(layout.x)) == 1
    assert np.all(np.diff(layout.y) < 0)
