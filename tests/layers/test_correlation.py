"""The correlation methods agree, and the rule chooses between them as documented."""

from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sentence_batches import assert_same_gradients, batch_of, sentences
from torch.func import functional_call, grad
from torch.nn.functional import conv1d

from graphsent.layers import KMaxPooling, WideConv1d, correlation, zero_beyond
from graphsent.layers.correlation import (
    correlate,
    correlate_in_a_row,
    correlate_windows,
    faster_method,
    kept_columns,
)

# Lengths with little padding, and with much.
SOME_LENGTHS = st.sampled_from([[4, 4], [5, 0, 1], [1, 9, 2, 0], [0, 3], [7]])


@settings(max_examples=40)
@given(
    lengths=SOME_LENGTHS,
    sizes=st.sampled_from([(1, 2, 3), (3, 1, 1), (8, 2, 2)]),
    width=st.integers(1, 3),
    wide=st.booleans(),
)
def test_all_methods_agree(lengths, sizes, width, wide):
    groups, inputs, outputs = sizes
    margin = width - 1 if wide else 0
    lengths = torch.tensor(lengths)
    shape = (len(lengths), groups * inputs, max(3, int(lengths.max())))
    raw = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(groups * outputs, inputs, width, dtype=torch.float64, requires_grad=True)
    # The part that the layers keep, the only one in which windows do not reach a neighbour.
    kept = torch.where(lengths > 0, (lengths + 2 * margin - width + 1).clamp(min=1), 0)

    def run(way, **options):
        return zero_beyond(way(zero_beyond(raw, lengths), **options), kept)

    def by_torch(x):
        return conv1d(x, weight, groups=groups, padding=margin)

    ways = [partial(correlate, lengths=lengths, method="fft")]
    for columns in (None, kept_columns(lengths, shape[2], width, margin)):
        for way in (correlate_windows, correlation._correlate_row):
            ways.append(partial(correlate_in_a_row, columns=columns, correlate=way))
    expected = run(by_torch)
    for way in ways:
        y = run(way, weight=weight, groups=groups, margin=margin)
        torch.testing.assert_close(y, expected, rtol=0, atol=1e-12)
        assert_same_gradients([y], [run(by_torch)], [raw, weight])


@pytest.mark.parametrize("packed", [False, True])
def test_windows_are_differentiable_twice(packed):
    lengths = torch.tensor([1, 3, 0])
    x = torch.randn(3, 4, 3, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(2, 2, 2, dtype=torch.float64, requires_grad=True)
    columns = kept_columns(lengths, 3, 2, 1) if packed else None
    run = partial(
        correlate_in_a_row, groups=2, margin=1, columns=columns, correlate=correlate_windows
    )

    def squares(x, weight):
        return run(zero_beyond(x, lengths), weight).square()

    assert torch.autograd.gradcheck(squares, (x, weight))
    assert torch.autograd.gradgradcheck(squares, (x, weight))


def layer_and_batch(rows=8):
    conv = WideConv1d(rows, 3 * rows, 3, rows=rows)
    return conv, torch.randn(4, rows, 40), torch.tensor([40, 9, 0, 3])


def spy(monkeypatch, name):
    """The number of calls of a function of the module, in a list."""
    calls, function = [0], getattr(correlation, name)

    def counted(*args, **options):
        calls[0] += 1
        return function(*args, **options)

    monkeypatch.setattr(correlation, name, counted)
    return calls


def test_windows_are_used_for_many_rows(monkeypatch):
    calls = spy(monkeypatch, "correlate_windows")
    conv, x, lengths = layer_and_batch()
    conv(x, lengths)
    assert calls == [1]
    conv(x[:2], lengths[:2])  # not for a few steps
    WideConv1d(8, 8, 3)(x, lengths)  # nor for a few groups
    monkeypatch.setattr(correlation, "_MOST_BYTES_OF_WINDOWS", 4 * 8 * 160 * 3 - 1)
    conv(x, lengths)  # nor for too many windows
    assert calls == [1]


def test_padding_is_skipped_if_that_saves_work(monkeypatch):
    calls = spy(monkeypatch, "_correlate_row")
    conv, x = WideConv1d(8, 8, 3), torch.randn(4, 8, 40)
    saved = (4 * 42 - (42 + 11 + 3 + 5)) * 8 * 8 * 3
    for least in (saved, saved + 1):
        monkeypatch.setattr(correlation, "_LEAST_PRODUCTS_TO_SAVE", least)
        conv(x, torch.tensor([40, 9, 0, 3]))
        assert calls == [1]
    monkeypatch.setattr(correlation, "_LEAST_PRODUCTS_TO_SAVE", 0)
    conv(x, torch.tensor([40, 40, 40, 20]))  # only a fifth of the columns is worth it
    assert calls == [1]


def test_autocast():
    conv, x, lengths = layer_and_batch()
    expected = torch.autograd.grad(conv(x, lengths)[0].square().sum(), conv.weight)[0]
    with torch.autocast("cpu", torch.bfloat16):
        y, _ = conv(x, lengths)
    assert y.dtype == torch.bfloat16
    found = torch.autograd.grad(y.float().square().sum(), conv.weight)[0]
    torch.testing.assert_close(found, expected, rtol=0.05, atol=0.05 * float(expected.abs().max()))


def test_transforms_of_functions():
    conv, x, lengths = layer_and_batch()
    pool = KMaxPooling(4)

    def loss(parameters):
        y, new_lengths = functional_call(conv, parameters, (x, lengths))
        return pool(y, new_lengths)[0].square().sum()

    parameters = dict(conv.named_parameters())
    expected = torch.autograd.grad(loss(parameters), list(parameters.values()))
    torch.testing.assert_close(list(grad(loss)(parameters).values()), list(expected))


@pytest.mark.parametrize(
    ("batch", "groups", "width", "dtype", "expected"),
    [
        (50, 1, 15, torch.float32, "direct"),
        (50, 1, 16, torch.float32, "fft"),
        (50, 8, 23, torch.float64, "direct"),
        (50, 8, 24, torch.float64, "fft"),
        (10, 1, 23, torch.float32, "direct"),
        (10, 1, 24, torch.float32, "fft"),
        (50, 1, 40, torch.bfloat16, "direct"),
        (1, 1, 14, torch.float32, "direct"),
    ],
)
def test_rule_that_chooses_the_method(batch, groups, width, dtype, expected):
    x = torch.zeros(batch, 16, 30, dtype=dtype)
    weight = torch.zeros(16 * groups, 16 // groups, width, dtype=dtype)
    assert faster_method(x, weight, groups, width - 1) == expected


def test_little_work_uses_the_direct_method():
    x, weight = torch.zeros(50, 1, 30), torch.zeros(1, 1, 16)
    assert faster_method(x, weight, 1, 15) == "direct"


@pytest.mark.parametrize("method", ["auto", "direct", "fft"])
def test_filters_longer_than_any_sentence(method):
    conv = WideConv1d(16, 16, 40, method=method).double()
    parts = sentences([3, 0, 8] * 9, 16)
    y, new_lengths = conv(*batch_of(parts))
    assert new_lengths.tolist() == [42, 0, 47] * 9
    expected = conv1d(parts[2][None], conv.weight, padding=39)[0]
    torch.testing.assert_close(y[2], expected, rtol=0, atol=1e-12)
