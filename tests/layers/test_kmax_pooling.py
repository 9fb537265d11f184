"""k-max pooling against sorting, sentence by sentence."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sentence_batches import (
    LENGTHS,
    MARGINS,
    assert_holds,
    assert_same_gradients,
    batch_of,
    cut,
    sentences,
)
from sentence_references import dynamic_k as reference_k
from sentence_references import k_max

from graphsent.layers import DynamicKMaxPooling, KMaxPooling, LayerError, dynamic_k

LEVELS = st.sampled_from([None, 1, 2, 4])  # few different values make ties


def check(parts, k, result, width):
    y, new_lengths, positions = result
    expected = [k_max(part, n) for part, n in zip(parts, k, strict=True)]
    assert y.shape == positions.shape == (len(parts), len(parts[0]), width)
    assert new_lengths.tolist() == [min(n, p.shape[1]) for n, p in zip(k, parts, strict=True)]
    assert_holds(y, [values for values, _ in expected], atol=0)
    assert_holds(positions + 1, [where + 1 for _, where in expected], atol=0)
    values = [values for values, _ in expected]
    assert_same_gradients(cut(y, new_lengths), values, parts, atol=0)


@settings(max_examples=40)
@given(lengths=LENGTHS, margin=MARGINS, k=st.integers(1, 9), levels=LEVELS)
def test_k_max_against_sorting(lengths, margin, k, levels):
    parts = sentences(lengths, 3, levels=levels)
    result = KMaxPooling(k)(*batch_of(parts, margin), return_positions=True)
    check(parts, [k] * len(parts), result, k)


@settings(max_examples=40)
@given(
    lengths=LENGTHS,
    margin=MARGINS,
    k_top=st.integers(1, 5),
    layers=st.sampled_from([(1, 1), (1, 2), (2, 2), (1, 3), (2, 3)]),
    extra=st.integers(0, 4),
    levels=LEVELS,
)
def test_dynamic_k_max_against_sorting(lengths, margin, k_top, layers, extra, levels):
    num_words = [max(0, length - extra) for length in lengths]
    k = [reference_k(s, k_top, *layers) for s in num_words]
    parts = sentences(lengths, 2, levels=levels)
    x, given_lengths = batch_of(parts, margin)
    pooling = DynamicKMaxPooling(k_top, *layers)
    result = pooling(x, given_lengths, torch.tensor(num_words), return_positions=True)
    check(parts, k, result, k_top if layers[0] == layers[1] else max(k))


@given(st.integers(0, 300), st.integers(1, 9), st.integers(1, 5), st.integers(0, 4))
def test_k_is_computed_exactly(num_words, k_top, layer, later):
    found = dynamic_k(torch.tensor([num_words]), k_top, layer, layer + later)
    assert found.item() == reference_k(num_words, k_top, layer, layer + later)


@pytest.mark.parametrize(
    ("num_words", "k_top", "num_layers", "expected"),
    [(18, 3, 3, [12, 6, 3]), (7, 4, 2, [4, 4]), (9, 4, 2, [5, 4]), (1, 4, 2, [4, 4])],
)
def test_golden_k(num_words, k_top, num_layers, expected):
    s = torch.tensor([num_words])
    found = [dynamic_k(s, k_top, layer, num_layers) for layer in range(1, num_layers + 1)]
    assert torch.cat(found).tolist() == expected


@pytest.mark.parametrize(
    ("row", "k", "values", "positions"),
    [
        ([4, 1, 7, 2, 7, 3], 3, [4, 7, 7], [0, 2, 4]),
        ([5, 5, 5], 2, [5, 5], [0, 1]),
        ([-1, -2, -2, 2, 3], 3, [-1, 2, 3], [0, 3, 4]),
        ([-1, -2], 3, [-1, -2, 0], [0, 1, -1]),
        ([0.0, -0.0, 0.0], 2, [0, 0], [0, 1]),
        ([float("-inf"), 1, float("-inf")], 2, [float("-inf"), 1], [0, 1]),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_golden_rows(row, k, values, positions, dtype):
    x = torch.tensor([[[*row, 9.0]]], dtype=dtype)
    y, _, where = KMaxPooling(k)(x, torch.tensor([len(row)]), return_positions=True)
    assert y.flatten().tolist() == values
    assert where.flatten().tolist() == positions


def test_nan_counts_as_the_largest():
    x = torch.tensor([[[1.0, torch.nan, 3.0, 2.0]], [[1.0, 2.0, 3.0, 4.0]]])
    y, _ = KMaxPooling(2)(x, torch.tensor([4, 4]))
    assert y[0, 0].isnan().tolist() == [True, False]
    assert y[:, 0, 1].tolist() == [3.0, 4.0]


def test_long_rows_of_equal_values():
    # Torch sorts long rows by another algorithm than short ones.
    x = torch.zeros(1, 1, 5000)
    _, _, positions = KMaxPooling(100)(x, torch.tensor([5000]), return_positions=True)
    assert positions.flatten().tolist() == list(range(100))


def test_gradients_reach_only_what_was_selected():
    x = torch.randn(3, 4, 9, requires_grad=True)
    y, _, positions = KMaxPooling(2)(x, torch.tensor([9, 1, 0]), return_positions=True)
    y.sum().backward()
    selected = torch.zeros(3, 4, 10).scatter(2, positions % 10, 1.0)[..., :9]
    assert torch.equal(x.grad, selected)


def test_wrong_options_are_rejected():
    with pytest.raises(LayerError, match="expected k of at least 1, got 0"):
        KMaxPooling(0)
    for k in (2.5, True, "2", None):
        with pytest.raises(LayerError, match=f"expected k to be an integer, got {k!r}"):
            KMaxPooling(k)
    with pytest.raises(LayerError, match="expected k_top of at least 1, got 0"):
        DynamicKMaxPooling(0, 1, 2)
    with pytest.raises(LayerError, match="expected layer of at least 1, got 0"):
        DynamicKMaxPooling(4, 0, 2)
    with pytest.raises(LayerError, match="expected layer of at most num_layers = 2, got 3"):
        DynamicKMaxPooling(4, 3, 2)


def test_words_of_another_number_of_sentences_are_rejected():
    x, lengths = torch.zeros(2, 1, 3), torch.tensor([3, 3])
    pooling = DynamicKMaxPooling(4, 1, 2)
    with pytest.raises(LayerError, match=r"num_words of shape \(batch,\) = \(2,\), int64, got"):
        pooling(x, lengths, torch.tensor([3]))
    with pytest.raises(LayerError, match="expected num_words of at least 0, got -1 to 3"):
        pooling(x, lengths, torch.tensor([-1, 3]))
