"""Filters over phrases that share words, against wide convolution of each phrase."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graphsent.layers import WideConv1d
from graphsent.models.padding import groups_by_length, padded
from graphsent.models.phrase_convolution import convolve_phrases, word_products


@st.composite
def ranges_of_words(draw: st.DrawFn) -> tuple[int, torch.Tensor]:
    """A number of words, and ranges of them that may be empty, equal, or overlap."""
    num_words = draw(st.integers(0, 9))
    bound = st.integers(0, num_words)
    pairs = draw(st.lists(st.tuples(bound, bound).map(sorted), max_size=6))
    return num_words, torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)


@settings(max_examples=40)
@given(ranges_of_words(), st.integers(1, 6))
def test_phrases_are_convolved_as_if_each_were_padded(drawn, width):
    num_words, ranges = drawn
    words = torch.randn(num_words, 3, dtype=torch.float64, requires_grad=True)
    convolution = WideConv1d(3, 2, width).double()
    found, lengths = convolve_phrases(word_products(convolution, words), ranges, width)
    expected, expected_lengths = convolution(*padded(words, ranges))
    assert lengths.tolist() == expected_lengths.tolist()
    expected = expected[:, :, : found.shape[2]]  # phrases without words alone have steps there
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    signal = torch.randn_like(expected)
    inputs = [words, convolution.weight]
    ours, theirs = (
        torch.autograd.grad((y * signal).sum(), inputs, allow_unused=True, materialize_grads=True)
        for y in (found, expected)
    )
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_result_has_the_type_of_the_words(dtype):
    convolution = WideConv1d(3, 2, 4).to(dtype)
    products = word_products(convolution, torch.randn(5, 3, dtype=dtype))
    assert products.shape == (5, 8)
    assert convolve_phrases(products, torch.tensor([[0, 5], [1, 1]]), 4)[0].dtype == dtype


@given(st.lists(st.integers(0, 900), max_size=40))
def test_groups_have_every_sequence_once_and_the_longest_first(lengths):
    groups = groups_by_length(torch.tensor(lengths, dtype=torch.int64))
    places = [place for group in groups for place in group.tolist()]
    assert sorted(places) == list(range(len(lengths)))
    assert [lengths[place] for place in places] == sorted(lengths, reverse=True)


def test_long_and_short_sequences_are_not_padded_together():
    groups = groups_by_length(torch.tensor([3, 300, 2] * 20))
    assert [len(group) for group in groups] == [20, 40]
    assert [len(group) for group in groups_by_length(torch.tensor([3, 30, 2] * 20))] == [60]
