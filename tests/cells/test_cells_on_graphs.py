"""The cells run over the graphs that this package builds, in every direction."""

import random

import pytest
import torch
from strategies import random_dependency_tree, random_tree

from graphsent import cells
from graphsent.graphs import (
    constituency_batch,
    constituency_graph,
    dependency_batch,
    reverse,
    root_nodes,
)


@pytest.fixture
def trees():
    rng = random.Random(0)
    return [random_tree(rng, num_leaves) for num_leaves in (1, 2, 7, 12)]


@pytest.mark.parametrize(
    ("kind", "direction"),
    [
        (cells.NaryTreeLSTM, "bottom_up"),
        (cells.LexicalizedTreeLSTM, "bottom_up"),
        (cells.BiTreeLSTM, "bottom_up"),
        (cells.TopDownTreeLSTM, "top_down"),
        (cells.TreeNet, "sibling"),
    ],
)
def test_batches_of_constituency_trees(kind, direction, trees):
    graph = constituency_batch(trees, direction)
    cell, feat = kind(3, 4), torch.randn(graph.num_nodes(), 3)
    h = cell(graph, feat)
    first = 0
    for tree in trees:
        alone = constituency_graph(tree, direction)
        rows = slice(first, first + alone.num_nodes())
        torch.testing.assert_close(h[rows], cell(alone, feat[rows]))
        first = rows.stop
    assert h[root_nodes(graph)].shape == (len(trees), cell.out_feats)


@pytest.mark.parametrize("kind", [cells.ChildSumTreeLSTM, cells.AttentiveTreeLSTM])
def test_batches_of_dependency_trees(kind):
    rng = random.Random(0)
    trees = [random_dependency_tree(rng, num_words) for num_words in (1, 2, 9, 14)]
    graph = dependency_batch(trees)
    feat = torch.randn(graph.num_nodes(), 3, requires_grad=True)
    kind(3, 4)(graph, feat)[root_nodes(graph)].sum().backward()
    assert feat.grad.ne(0).any(1).all()


def test_reversed_graphs_are_top_down(trees):
    cell, graph = cells.TopDownTreeLSTM(3, 4), constituency_batch(trees, "bottom_up")
    feat = torch.randn(graph.num_nodes(), 3)
    expected = cell(constituency_batch(trees, "top_down"), feat)
    torch.testing.assert_close(cell(reverse(graph), feat), expected)
