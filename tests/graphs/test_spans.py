from __future__ import annotations

import random

import pytest
import torch
from graph_checks import DIRECTIONS
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import dependency_trees, random_tree, trees

from graphsent._dgl import dgl
from graphsent.errors import DataError
from graphsent.graphs import (
    constituency_batch,
    dependency_batch,
    range_mean,
    reverse,
    span_mean,
    word_ranges,
)
from graphsent.graphs.spans import _mean_by_prefix_sums, _mean_of_rows

every_direction = pytest.mark.parametrize("direction", DIRECTIONS)
few_examples = settings(max_examples=25)
both_ways = pytest.mark.parametrize("mean", [_mean_of_rows, _mean_by_prefix_sums])


def slow_span_mean(graph, values):
    """Reference: node by node, sentence by sentence."""
    rows, first = [], 0
    for size in graph.batch_num_nodes().tolist():
        nodes = range(first, first + size)
        for node in nodes:
            begin, end = graph.ndata["span"][node].tolist()
            below = [other for other in nodes if begin <= graph.ndata["position"][other] < end]
            rows.append(torch.stack([values[other] for other in below]).mean(0))
        first += size
    return torch.stack(rows)


@every_direction
@few_examples
@given(st.lists(trees(max_leaves=8), min_size=1, max_size=4))
def test_span_mean_of_constituency_trees(direction, forest):
    graph = constituency_batch(forest, direction)
    values = torch.randn(graph.num_nodes(), 3, dtype=torch.float64)
    expected = slow_span_mean(graph, values)
    torch.testing.assert_close(span_mean(graph, values), expected)
    torch.testing.assert_close(span_mean(reverse(graph), values), expected)


@every_direction
@few_examples
@given(st.lists(dependency_trees(max_words=8), min_size=1, max_size=4))
def test_span_mean_of_dependency_trees(direction, forest):
    graph = dependency_batch(forest, direction)
    values = torch.randn(graph.num_nodes(), 3, dtype=torch.float64)
    torch.testing.assert_close(span_mean(graph, values), slow_span_mean(graph, values))


def small_batch():
    rng = random.Random(0)
    return constituency_batch([random_tree(rng, size, 4, unary=0.2) for size in (5, 1, 7)])


@both_ways
@pytest.mark.parametrize("ranges", [word_ranges(small_batch())[1], torch.tensor([[3, 5], [4, 6]])])
def test_gradients_of_means_pass_gradcheck(mean, ranges):
    rows = torch.randn(13, 2, dtype=torch.float64, requires_grad=True)

    def function(rows):
        return mean(rows, *ranges.unbind(1))

    assert torch.autograd.gradcheck(function, rows)
    assert torch.autograd.gradgradcheck(function, rows)


def test_rows_without_a_word_get_no_gradient():
    graph = small_batch()
    values = torch.randn(graph.num_nodes(), 2, requires_grad=True)
    span_mean(graph, values).sum().backward()
    has_word = graph.ndata["position"] >= 0
    assert values.grad[has_word].ne(0).all()
    assert values.grad[~has_word].eq(0).all()


@both_ways
def test_a_long_batch_loses_no_precision(mean):
    rows = torch.rand(300_000, 1) + 1000  # float32 sums of these keep no decimals
    begin = torch.arange(0, len(rows), 3)
    expected = rows.double().reshape(-1, 3).mean(1, keepdim=True)
    difference = mean(rows, begin, begin + 3).double() - expected
    assert difference.abs().max() < 2e-4  # float32 has steps of 6e-5 at 1000


def test_long_ranges_are_not_summed_one_by_one(monkeypatch):
    monkeypatch.setattr("graphsent.graphs.spans._mean_of_rows", None)
    rows = torch.randn(500, 2)
    ranges = torch.tensor([[0, 500], [250, 500]])
    expected = torch.stack((rows.mean(0), rows[250:].mean(0)))
    torch.testing.assert_close(range_mean(rows, ranges), expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@both_ways
def test_means_keep_the_dtype_and_are_exact(dtype, mean):
    rows = torch.full((1000, 1), 1000, dtype=dtype)  # whose sum float16 cannot represent
    means = mean(rows, torch.tensor([0, 5, 5]), torch.tensor([1000, 6, 5]))
    assert means.dtype == dtype
    assert means.tolist() == [[1000], [1000], [0]]


@pytest.mark.parametrize("shape", [(), (2, 3), (0,)])
def test_any_trailing_shape(shape):
    graph = small_batch()
    values = torch.randn(graph.num_nodes(), *shape)
    assert span_mean(graph, values).shape == values.shape


def test_an_empty_batch():
    assert span_mean(constituency_batch([]), torch.zeros(0, 4)).shape == (0, 4)


def test_words_are_listed_sentence_by_sentence():
    words, ranges = word_ranges(constituency_batch([random_tree(random.Random(1), 3)] * 2))
    assert words.tolist() == sorted(words.tolist())
    assert ranges[0].tolist() == [0, 3]
    assert ranges[5].tolist() == [3, 6]


def test_wrong_rows_and_missing_words_are_rejected():
    graph = small_batch()
    with pytest.raises(DataError, match=f"with {graph.num_nodes()} rows, one per node, got 2 rows"):
        span_mean(graph, torch.zeros(2, 1))
    part = dgl.node_subgraph(graph, torch.nonzero(graph.ndata["position"] != 2).squeeze(1))
    with pytest.raises(DataError, match=r"are not 0, 1, 2, .* in each sentence"):
        span_mean(part, torch.zeros(part.num_nodes(), 1))
    first = dgl.unbatch(graph)[0]
    part = dgl.batch([dgl.remove_nodes(first, first.ndata["position"].argmax()), graph])
    with pytest.raises(DataError, match="reach beyond the words of their sentence"):
        span_mean(part, torch.zeros(part.num_nodes(), 1))
    part = dgl.batch([graph, dgl.remove_nodes(constituency_batch(["(2 (1 a))"]), 1)])
    with pytest.raises(DataError, match="reach beyond the words of their sentence"):
        word_ranges(part)
    with pytest.raises(DataError, match="no node data 'position'"):
        word_ranges(dgl.graph(([0], [1])))


@pytest.mark.parametrize("depth", [50, 300])
@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_one_value_that_is_not_finite_reaches_only_spans_around_it(value, depth):
    graph = constituency_batch(["(3 (2 w) " * depth + "(2 a)" + ")" * depth])
    rows = torch.ones(graph.num_nodes(), 1)
    rows[graph.ndata["position"] == 0] = value
    means = span_mean(graph, rows)
    assert (means[graph.ndata["span"][:, 0] > 0] == 1).all()
    assert not means[0].isfinite()
