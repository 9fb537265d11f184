"""Masks: positions beyond a sentence are replaced, by both implementations."""

import pytest
import torch

from graphsent.layers import LayerError, SumPooling, lengths, time_mask, zero_beyond
from graphsent.layers.lengths import lowest_beyond


def test_lengths_in_a_list_are_refused():
    with pytest.raises(LayerError, match="expected lengths to be a tensor, got list"):
        SumPooling()(torch.zeros(1, 2, 3), [3])


def test_time_mask():
    assert time_mask(torch.tensor([0, 1, 3]), 2).tolist() == [[0, 0], [1, 0], [1, 1]]
    assert time_mask(torch.tensor([0, 1]), 0).shape == (2, 0)


@pytest.fixture(params=["few", "many"])
def ways(request, monkeypatch):
    if request.param == "many":
        monkeypatch.setattr(lengths, "_MANY_VALUES", 0)


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_padding_is_replaced_bit_for_bit(dtype):
    inf, nan = torch.inf, torch.nan
    x = torch.tensor([[[1.0, nan, -inf]], [[nan, -0.0, inf]], [[nan, 1.0, 2.0]]], dtype=dtype)
    limits = torch.tensor([1, 3, 0])
    for function, filler in ((zero_beyond, 0.0), (lowest_beyond, -inf)):
        y = function(x, limits)
        assert y.dtype == dtype
        assert y[0].flatten().tolist() == [1, filler, filler]
        assert y[1, 0, 0].isnan()
        assert y[1, 0, 1:].tolist() == [0, inf]
        assert y[2].flatten().tolist() == [filler] * 3
    assert torch.signbit(zero_beyond(x, limits)[1, 0, 1]) == 1


@pytest.mark.usefixtures("ways")
def test_gradients_are_masked():
    x = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    limits = torch.tensor([3, 0])
    for function in (zero_beyond, lambda *args: lowest_beyond(*args).clamp(min=-9)):
        assert torch.autograd.gradcheck(lambda x, f=function: f(x, limits), x)
    assert torch.autograd.gradgradcheck(lambda x: zero_beyond(x, limits).square(), x)
    turned = x.transpose(1, 2).contiguous().transpose(1, 2)
    assert torch.equal(zero_beyond(turned, limits), zero_beyond(x, limits))
    (gradient,) = torch.autograd.grad(zero_beyond(x, limits).sum(), x)  # all have the same length
    assert torch.equal(gradient, time_mask(limits, 4)[:, None].expand_as(x).double())
