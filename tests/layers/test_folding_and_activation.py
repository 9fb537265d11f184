"""Folding, and bias with activation, against the equations."""

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
from sentence_references import folding

from graphsent.layers import BiasActivation, Folding, LayerError

FUNCTIONS = {
    "identity": lambda x: x,
    "relu": lambda x: x.clamp(min=0),
    "tanh": lambda x: 1 - 2 / (torch.exp(2 * x) + 1),
}


@settings(max_examples=20)
@given(rows=st.sampled_from([2, 4, 6]), maps=st.integers(1, 3), length=st.integers(0, 4))
def test_folding_adds_neighbours(rows, maps, length):
    parts = sentences([length, length], rows * maps)
    y = Folding(maps)(torch.stack(parts))
    expected = [folding(part, maps) for part in parts]
    assert_holds(y, expected, atol=0)
    assert_same_gradients([*y], expected, parts, atol=0)


def test_golden_folding():
    x = torch.arange(1.0, 5).reshape(1, 4, 1)
    assert Folding()(x).flatten().tolist() == [3, 7]  # rows 1 + 2, 3 + 4
    assert Folding(2)(x).flatten().tolist() == [4, 6]  # two maps: rows (1, 2) + (3, 4)


@pytest.mark.parametrize("shape", [(2, 6, 3), (2, 4)])
def test_a_row_without_a_neighbour_is_rejected(shape):
    with pytest.raises(LayerError, match="an even number of rows of 2 channels each, got"):
        Folding(2)(torch.zeros(shape))
    with pytest.raises(LayerError, match="expected num_maps of at least 1, got 0"):
        Folding(0)


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=10)
@given(lengths=LENGTHS, margin=MARGINS)
def test_activation_against_equations(name, lengths, margin):
    layer = BiasActivation(3, name).double()
    torch.nn.init.normal_(layer.bias)
    parts = sentences(lengths, 3)
    x, given_lengths = batch_of(parts, margin)
    y = layer(x, given_lengths)
    expected = [FUNCTIONS[name](part + layer.bias[:, None]) for part in parts]
    assert_holds(y, expected)
    assert_same_gradients(cut(y, given_lengths), expected, [*parts, layer.bias])


def test_no_bias_beyond_a_sentence():
    layer = BiasActivation(1)
    torch.nn.init.ones_(layer.bias)
    y = layer(torch.zeros(2, 1, 2), torch.tensor([1, 0]))
    assert (y != 0).flatten(1).tolist() == [[True, False], [False, False]]


def test_wrong_options_are_rejected():
    with pytest.raises(LayerError, match="expected one of identity, relu, tanh"):
        BiasActivation(3, "tan")
    with pytest.raises(LayerError, match="expected num_channels of at least 1, got 0"):
        BiasActivation(0)
    with pytest.raises(LayerError, match=r"3 channels, time\), got \(1, 2, 2\)"):
        BiasActivation(3)(torch.zeros(1, 2, 2), torch.tensor([2]))


def test_repr():
    assert repr(Folding(6)) == "Folding(num_maps=6)"
    assert repr(BiasActivation(3)) == "BiasActivation(3, activation='tanh')"
