"""Dropout from few random bits: like torch's, except for the draws."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx

from graphsent.layers import Dropout


@pytest.mark.parametrize("p", [0.5, 0.1, 0.3, 0.99])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_expected_share_is_dropped_and_the_rest_scaled(p, dtype):
    x = torch.ones(400, 251, dtype=dtype)
    y = Dropout(p)(x)
    assert y.dtype == dtype
    assert y.unique().tolist() == pytest.approx([0, 1 / (1 - p)], rel=1e-3)
    spread = 5 * math.sqrt(p * (1 - p) / x.numel())
    assert abs(float((y == 0).double().mean()) - p) < spread


def test_elements_are_dropped_independently_of_their_neighbours():
    """Four elements share a draw of the generator."""
    dropped = (Dropout(0.5)(torch.ones(200_000, 4)) == 0).double()
    assert (dropped.mean(0) - 0.5).abs().max() < 0.01
    assert (torch.corrcoef(dropped.T) - torch.eye(4)).abs().max() < 0.02


def test_the_gradient_has_the_same_mask():
    x = torch.randn(7, 5, requires_grad=True)
    y = Dropout(0.5)(x)
    y.sum().backward()
    torch.testing.assert_close(y, x.detach() * x.grad)
    assert set(x.grad.unique().tolist()) == {0.0, 2.0}


def test_the_seed_decides():
    x = torch.ones(50, 3)
    torch.manual_seed(1)
    first, second = Dropout(0.5)(x), Dropout(0.5)(x)
    torch.manual_seed(1)
    torch.testing.assert_close(Dropout(0.5)(x), first)
    assert not torch.equal(first, second)


@pytest.mark.parametrize("shape", [(0,), (1,), (3,), (2, 3, 5), ()])
def test_shapes_and_strides(shape):
    x = torch.randn(shape)
    assert Dropout(0.25)(x).shape == shape
    assert Dropout(0.25)(x.expand(2, *shape)).shape == (2, *shape)


@pytest.mark.parametrize("p", [0.0, 1e-9, 1 - 1e-9, 1.0])
def test_probabilities_0_and_1_are_as_in_torch(p):
    x = torch.randn(50, 3)
    torch.testing.assert_close(Dropout(p)(x), x if p < 0.5 else torch.zeros(50, 3))


def test_vmap_draws_a_mask_for_each_example():
    drop = torch.func.vmap(Dropout(0.5), randomness="different")
    first, second = drop(torch.ones(2, 100))
    assert set(first.tolist()) == {0.0, 2.0}
    assert not torch.equal(first, second)


@pytest.mark.filterwarnings("ignore:Guards may run slower:RuntimeWarning")  # on Python 3.13.0
@pytest.mark.parametrize(
    "record",
    [
        lambda drop, x: make_fx(drop)(x),
        lambda drop, x: torch.export.export(drop, (x,)).module(),
        lambda drop, x: torch.compile(drop, fullgraph=True, backend="eager"),
    ],
    ids=["make_fx", "export", "compile"],
)
def test_what_is_recorded_draws_new_masks(record):
    x = torch.ones(100)
    recorded = record(nn.Sequential(Dropout(0.5)), x)
    first, second = recorded(x), recorded(x)
    assert set(first.tolist()) == {0.0, 2.0}
    assert not torch.equal(first, second)


def test_masks_are_drawn_on_the_device_of_the_input():
    with torch.device("meta"):
        assert Dropout(0.5)(torch.ones(9, device="cpu")).is_cpu


def test_nothing_is_dropped_in_evaluation():
    x = torch.randn(5, 3)
    assert Dropout(0.5).eval()(x) is x
    assert isinstance(Dropout(0.5), nn.Dropout)
