from __future__ import annotations

import pytest
from graph_checks import DIRECTIONS, assert_same_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import WORDS, dependency_trees, trees

from graphsent.graphs import constituency_batch, dependency_batch, table
from graphsent.graphs.table import TreeTable
from graphsent.propagation.schedule.schedule import schedule_of
from graphsent.trees import Tree

VOCAB = {word: number for number, word in enumerate(WORDS)}
KINDS = [(trees, constituency_batch), (dependency_trees, dependency_batch)]


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("some", "build"), KINDS, ids=["constituency", "dependency"])
@settings(max_examples=25)
@given(data=st.data())
def test_a_batch_by_index_is_the_batch_of_these_trees(some, build, direction, data):
    forest = data.draw(st.lists(some(), min_size=1, max_size=6))
    numbers = data.draw(st.lists(st.integers(0, len(forest) - 1), max_size=8))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(table, "_PIECE", 2)
        found = TreeTable(forest, VOCAB, direction).graph(numbers)
    expected = build([forest[number] for number in numbers], direction, VOCAB)
    assert_same_graph(found, expected)
    assert schedule_of(found).packed.tolist() == schedule_of(expected).packed.tolist()


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("_some", "build"), KINDS, ids=["constituency", "dependency"])
def test_a_table_without_trees(_some, build, direction):
    assert_same_graph(TreeTable([], VOCAB, direction).graph([]), build([], direction))


def test_labels_too_large_for_half_of_the_memory():
    label = 10**17
    large = [Tree.from_string(f"({label} (2 a) (3 film))"), Tree.from_string("(1 film)")]
    graph = TreeTable(large, {"a": 0, "film": 1}, "bottom_up").graph([1, 0])
    assert graph.ndata["label"].tolist() == [1, label, 2, 3]


def test_nothing_is_cached_on_the_trees():
    tree = Tree.from_string("(1 (2 a) (3 film))")
    TreeTable([tree], {"a": 0, "film": 1}, "bottom_up")
    assert not tree.derived
