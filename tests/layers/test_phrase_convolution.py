"""Convolution and pooling of concatenated phrases, against the layers for padded batches."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from graphsent.kernels.library import SWITCH
from graphsent.layers import KMaxPooling, WideConv1d
from graphsent.layers.phrase_convolution import (
    convolve,
    groups_by_length,
    keep_largest,
    padded,
    stacked,
    sum_windows,
    word_products,
)
from graphsent.propagation import kernels_in_use

# The fixture sets the environment once for all examples, as intended.
many = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(params=["compiled", "torch"])
def way(request, monkeypatch):
    """Parametrizes over both code paths."""
    if request.param == "torch":
        monkeypatch.setenv(SWITCH, "0")
    elif not kernels_in_use(torch.float64):
        pytest.skip("there is no C compiler")


@st.composite
def ranges_of_words(draw: st.DrawFn) -> tuple[int, Tensor]:
    """A number of words, and ranges of them that may be empty, equal, or overlap."""
    num_words = draw(st.integers(0, 9))
    bound = st.integers(0, num_words)
    pairs = draw(st.lists(st.tuples(bound, bound).map(sorted), max_size=6))
    return num_words, torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)


def random(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, dtype=dtype).requires_grad_()


def check(found: Tensor, ranges: Tensor, expected: Tensor, lengths: Tensor, inputs: list[Tensor]):
    """Values, lengths and gradients equal those of a padded batch (batch, channels, time)."""
    assert (ranges[:, 1] - ranges[:, 0]).tolist() == lengths.tolist()
    expected = expected[:, :, : int(lengths.max()) if len(lengths) else 0]
    values = stacked(found, ranges, expected.shape[2]).transpose(1, 2)
    torch.testing.assert_close(values, expected, rtol=0, atol=1e-12)
    signal = torch.randn_like(expected)
    ours, theirs = (
        torch.autograd.grad((y * signal).sum() + 0 * sum(each.sum() for each in inputs), inputs)
        for y in (values, expected)
    )
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


@many
@given(ranges_of_words(), st.integers(1, 6), st.sampled_from([1, 2, 21]))
def test_windows_are_summed_as_if_each_phrase_were_padded(way, drawn, width, size):
    num_words, ranges = drawn
    words = random(num_words, 3)
    convolution = WideConv1d(3, size, width).double()
    found = sum_windows(word_products(convolution, words), ranges, width)
    check(*found, *convolution(*padded(words, ranges)), [words, convolution.weight])


@many
@given(ranges_of_words(), st.integers(1, 4), st.data())
def test_words_may_share_a_row(way, drawn, width, data):
    num_words, ranges = drawn
    words = data.draw(st.lists(st.integers(0, 2), min_size=num_words, max_size=num_words))
    index, products = torch.tensor(words, dtype=torch.int64), random(3, width * 5)
    found, steps = sum_windows(products, ranges, width, index)
    expected, expected_steps = sum_windows(products[index], ranges, width)
    lengths = expected_steps[:, 1] - expected_steps[:, 0]
    longest = int(lengths.max()) if len(lengths) else 0
    whole = stacked(expected, expected_steps, longest).transpose(1, 2)
    check(found, steps, whole, lengths, [products])


@many
@given(
    ranges_of_words(),
    st.integers(1, 9),
    st.sampled_from([1, 2, 9, 20]),
    st.integers(1, 3),
    st.integers(1, 5),
)
def test_groups_are_convolved_as_if_each_phrase_were_padded(
    way, drawn, width, groups, inputs, outputs
):
    num_words, ranges = drawn
    words = random(num_words, groups * inputs)
    convolution = WideConv1d(groups * inputs, groups * outputs, width, rows=groups).double()
    found = convolve(words, ranges, *convolution.filters())
    check(*found, *convolution(*padded(words, ranges)), [words, convolution.weight])


def test_filters_of_rows_that_are_folded(way):
    words, ranges = random(9, 8), torch.tensor([[0, 4], [2, 9], [5, 5]])
    convolution = WideConv1d(8, 24, 3, rows=8, fold=True).double()
    found = convolve(words, ranges, *convolution.filters())
    check(*found, *convolution(*padded(words, ranges)), [words, convolution.weight])


@many
@given(ranges_of_words(), st.lists(st.integers(0, 12), min_size=6, max_size=6), st.data())
def test_selection_agrees_with_k_max_pooling(way, drawn, k, data):
    num_words, ranges = drawn
    size = data.draw(st.sampled_from([1, 3, 17]))
    some = st.sampled_from([0.0, -0.0, 1.0, 2.0, -1.0, torch.inf, -torch.inf])
    values = data.draw(st.lists(some, min_size=num_words * size, max_size=num_words * size))
    x = torch.tensor(values, dtype=torch.float64).reshape(num_words, size).requires_grad_()
    for number in range(max(k) + 1):
        every = torch.full_like(ranges[:, 0], number)
        kept, steps, positions = keep_largest(x, ranges, every)
        if not number or not len(ranges):
            assert not len(kept)
            continue
        y, lengths, places = KMaxPooling(number)(*padded(x, ranges), return_positions=True)
        check(kept.nan_to_num(), steps, y.nan_to_num(), lengths, [x])
        found = stacked(positions + 1, steps, number).transpose(1, 2) - 1
        assert torch.equal(found.long(), places)
    mixed = torch.tensor(k[: len(ranges)], dtype=torch.int64)
    kept, steps, _ = keep_largest(x, ranges, mixed)
    for row, number, (begin, end) in zip(ranges, mixed, steps.tolist(), strict=True):
        alone, _, _ = keep_largest(x, row[None], number[None])
        assert torch.equal(kept[begin:end], alone)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("num_steps", [3, 40, 400])
@pytest.mark.parametrize("num_values", [5, 10_000])
def test_maxima_of_long_sentences(way, dtype, num_steps, num_values):
    values = torch.randn(num_values, dtype=dtype)
    x = values[torch.randint(num_values, (num_steps, 33))].requires_grad_()
    with torch.no_grad():
        x[1, :20] = torch.nan  # counts as the largest
        x[2, 10:] = -torch.tensor(torch.nan)
    for k in {1, 2, num_steps // 2, num_steps - 1, num_steps}:
        kept, _, positions = keep_largest(x, torch.tensor([[0, num_steps]]), torch.tensor([k]))
        order = x.sort(dim=0, descending=True, stable=True).indices[:k].sort(dim=0).values
        assert torch.equal(positions.long(), order)
        assert torch.equal(kept.isnan(), x.gather(0, order).isnan())
        assert torch.equal(kept.nan_to_num(), x.gather(0, order).nan_to_num())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_results_have_the_type_of_the_words(way, dtype):
    words, ranges = random(5, 4, dtype=dtype), torch.tensor([[0, 5], [1, 1]])
    weight = random(8, 2, 3, dtype=dtype)
    y, steps = convolve(words, ranges, weight, 2)
    kept, _, _ = keep_largest(y, steps, torch.tensor([2, 2]))
    assert (y.dtype, kept.dtype) == (dtype, dtype)
    if dtype != torch.bfloat16:
        assert sum_windows(words, ranges, 2)[0].dtype == dtype


def test_products_under_autocast_are_those_of_torch(way):
    words, ranges, weight = random(9, 16), torch.tensor([[0, 9]]), random(16, 1, 3)
    words, weight = words.float(), weight.float()
    with torch.autocast("cpu", torch.bfloat16):
        rounded = convolve(words, ranges, weight, 16)[0]
    exact = convolve(words, ranges, weight, 16)[0]
    assert rounded.dtype == torch.bfloat16
    torch.testing.assert_close(rounded.float(), exact, rtol=0.1, atol=0.1)


Operation = Callable[[Tensor, Tensor], object]
OPERATIONS: list[Operation] = [
    lambda x, ranges: sum_windows(x, ranges, 2),
    lambda x, ranges: convolve(x, ranges, torch.ones(2, 1, 3), 2),
    lambda x, ranges: keep_largest(x, ranges, ranges[:, 1]),
]


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("wrong", [[[-1, 2]], [[0, 5]]])
def test_rows_out_of_range(operation, wrong):
    if not kernels_in_use():
        pytest.skip("there is no C compiler")
    with pytest.raises(IndexError, match="below 5"):
        operation(torch.ones(4, 2), torch.tensor(wrong))


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("first", [0.0, -0.0])
def test_zeros_of_either_sign_are_equal(way, first, dtype):
    x = torch.tensor([[first], [-first], [first]], dtype=dtype)
    _, _, positions = keep_largest(x, torch.tensor([[0, 3]]), torch.tensor([2]))
    assert positions.flatten().tolist() == [0, 1]


def results_of(operation: Callable[..., Tensor], inputs: list[Tensor]) -> list[Tensor]:
    """Values, and gradients of the inputs."""
    values = operation(*inputs)
    weights = torch.linspace(-1, 1, values.numel(), dtype=values.dtype).view_as(values)
    return [values, *torch.autograd.grad(values, inputs, weights)]


@pytest.mark.parametrize("size", [1, 9, 70])  # columns for one, some or all threads
def test_several_threads(size):
    words, weight = random(200, 3 * size), random(2 * size, 3, 4)
    ranges = torch.tensor([[0, 90], [50, 200], [7, 7], [130, 133]])
    counts = torch.tensor([40, 5, 0, 3])
    for operation, inputs in (
        (lambda x: sum_windows(x, ranges, 3)[0], [words]),
        (lambda x: keep_largest(x, ranges, counts)[0], [words]),
        (lambda x, weight: convolve(x, ranges, weight, size)[0], [words, weight]),
    ):
        alone = results_of(operation, inputs)
        torch.set_num_threads(3)
        try:
            found = results_of(operation, inputs)
        finally:
            torch.set_num_threads(1)
        for one, other in zip(found, alone, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-12)
