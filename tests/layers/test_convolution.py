"""Convolution against explicit sums, sentence by sentence."""

from contextlib import contextmanager, nullcontext
from unittest.mock import patch

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
from sentence_references import folding, narrow_convolution, wide_convolution

from graphsent.layers import Folding, LayerError, NarrowConv1d, WideConv1d, correlation

KINDS = [(WideConv1d, wide_convolution), (NarrowConv1d, narrow_convolution)]
METHODS = ["direct", "packed", "windows", "fft"]
FUNCTIONS = {"identity": lambda x: x, "tanh": torch.tanh, "relu": lambda x: x.clamp(min=0)}


# Limits under which small batches take the "direct" paths that are meant for large ones.
LIMITS = {
    "packed": {"_LEAST_PRODUCTS_TO_SAVE": 1, "_MOST_TO_KEEP": 1},
    "windows": {"_MOST_GROUPS_OF_TORCH": 0, "_MOST_STEPS_OF_TORCH": 0},
}


@contextmanager
def by(method):
    """Parametrizes over the layer's option ``method``, and sets limits."""
    limits = LIMITS.get(method)
    with patch.multiple(correlation, **limits) if limits else nullcontext():
        yield "direct" if method in LIMITS else method


# rows, maps of x, maps of y, width
SIZES = st.sampled_from([(1, 3, 2, 3), (1, 1, 1, 1), (2, 1, 3, 4), (4, 2, 1, 5), (2, 2, 2, 1)])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("kind", "reference"), KINDS)
@settings(max_examples=15)
@given(
    lengths=LENGTHS,
    margin=MARGINS,
    sizes=SIZES,
    bias=st.booleans(),
    activation=st.sampled_from(list(FUNCTIONS)),
)
def test_against_sums(kind, reference, method, lengths, margin, sizes, bias, activation):
    rows, maps_in, maps_out, width = sizes
    conv = kind(
        rows * maps_in,
        rows * maps_out,
        width,
        rows=rows,
        bias=bias,
        activation=activation,
    ).double()
    parts = sentences(lengths, rows * maps_in)
    x, given_lengths = batch_of(parts, margin)
    with by(method) as conv.method:
        y, new_lengths = conv(x, given_lengths)
    expected = []
    for part in parts:
        total = reference(part, conv.weight, rows)
        total = total if conv.bias is None else total + conv.bias[:, None]
        expected.append(FUNCTIONS[activation](total))
    assert new_lengths.tolist() == [part.shape[1] for part in expected]
    assert_holds(y, expected)
    inputs = [*parts, *conv.parameters()]
    assert_same_gradients(cut(y, new_lengths), expected, inputs)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=15)
@given(lengths=LENGTHS, maps=st.sampled_from([(1, 1), (1, 3), (2, 2)]))
def test_folded_is_convolution_then_folding(method, lengths, maps):
    maps_in, maps_out = maps
    conv = WideConv1d(4 * maps_in, 4 * maps_out, 3, rows=4, fold=True).double()
    plain = WideConv1d(4 * maps_in, 4 * maps_out, 3, rows=4).double()
    plain.load_state_dict(conv.state_dict())
    parts = sentences(lengths, 4 * maps_in)
    x, given_lengths = batch_of(parts)
    with by(method) as conv.method:
        y, new_lengths = conv(x, given_lengths)
    assert conv.out_channels == y.shape[1] == 2 * maps_out
    expected = [folding(wide_convolution(part, conv.weight, 4), maps_out) for part in parts]
    assert_holds(y, expected)
    assert_same_gradients(cut(y, new_lengths), expected, [*parts, conv.weight])
    unfolded, _ = plain(x, given_lengths)
    torch.testing.assert_close(Folding(maps_out)(unfolded), y, rtol=0, atol=1e-12)


def test_golden_numbers():
    x, lengths = torch.tensor([[[1.0, 2, 3]]]), torch.tensor([3])
    weights = {"weight": torch.tensor([[[1.0, 0, -1]]])}
    for kind, expected in ((WideConv1d, [-1.0, -2, -2, 2, 3]), (NarrowConv1d, [-2.0])):
        conv = kind(1, 1, 3)
        conv.load_state_dict(weights)
        assert conv(x, lengths)[0].flatten().tolist() == expected


def test_a_row_of_the_input_changes_only_its_row():
    first = WideConv1d(8, 8 * 3, 3, rows=8, fold=True)
    second = WideConv1d(4 * 3, 4 * 2, 3, rows=4, fold=True)
    lengths = torch.tensor([5])

    def run(x):
        y, new_lengths = first(x, lengths)
        return y, second(y, new_lengths)[0]

    x = torch.randn(1, 8, 5)
    changed = x.clone()
    changed[:, 1] += 1
    for one, other, maps in zip(run(x), run(changed), (3, 2), strict=True):
        differs = (one != other).flatten(2).any(2).squeeze(0).tolist()
        assert differs == [True] * maps + [False] * (len(differs) - maps)


def test_initial_values():
    conv = WideConv1d(6, 9, 4, rows=3, bias=True)
    bound = (2 * 4) ** -0.5
    assert 0 < conv.weight.abs().max() <= bound
    assert 0 < conv.bias.abs().max() <= bound


@pytest.mark.parametrize("kind", [WideConv1d, NarrowConv1d])
@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((0, 1, 2), {}, "expected in_channels of at least 1, got 0"),
        ((1, 1, 0), {}, "expected width of at least 1, got 0"),
        ((4, 3, 2), {"rows": 2}, "expected out_channels to be a multiple of rows = 2, got 3"),
        ((3, 3, 2), {"rows": 3, "fold": True}, "expected an even number of rows to fold, got 3"),
        ((1, 1, 2), {"activation": "tan"}, "unknown activation 'tan': expected one of identity, "),
        ((1, 1, 2), {"method": "slow"}, "unknown method 'slow': expected one of auto, direct, fft"),
    ],
)
def test_wrong_options_are_rejected(kind, arguments, options, message):
    with pytest.raises(LayerError, match=message):
        kind(*arguments, **options)


def test_another_number_of_channels_is_rejected():
    with pytest.raises(LayerError, match=r"shape \(batch, 3 channels, time\), got \(1, 2, 4\)"):
        WideConv1d(3, 3, 2)(torch.zeros(1, 2, 4), torch.tensor([4]))


def test_repr_names_options_that_are_not_the_default():
    assert repr(WideConv1d(2, 6, 3)) == "WideConv1d(2, 6, width=3)"
    conv = NarrowConv1d(2, 6, 3, rows=2, fold=True, bias=True, activation="relu", method="fft")
    options = "rows=2, fold=True, bias=True, activation='relu', method='fft'"
    assert repr(conv) == f"NarrowConv1d(2, 3, width=3, {options})"
