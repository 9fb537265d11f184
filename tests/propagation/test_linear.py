"""The first outputs of a linear map: as torch has them."""

import pytest
import torch
from torch.nn import functional

from graphsent.propagation.linear import first_outputs


def tensors(dtype=torch.float64) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = ((5, 3), (7, 3), (7,))
    drawn = (torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes)
    return [tensor.to(dtype).requires_grad_() for tensor in drawn]


@pytest.mark.parametrize("count", [0, 1, 4, 7])
def test_values_and_gradients(count):
    def function(input, weight, bias):
        return first_outputs(input, weight, bias, count)

    given = tensors()
    input, weight, bias = given
    expected = functional.linear(input, weight[:count], bias[:count])
    outputs = function(*given)
    assert torch.equal(outputs, expected)
    sent = torch.rand_like(expected)
    for got, wanted in zip(
        torch.autograd.grad(outputs, given, sent),
        torch.autograd.grad(expected, given, sent),
        strict=True,
    ):
        torch.testing.assert_close(got, wanted)
    assert torch.autograd.gradcheck(function, given)


@pytest.mark.parametrize("wanted", range(3))
def test_gradient_of_one_of_them(wanted):
    given = [tensor.detach() for tensor in tensors(torch.float32)]
    given[wanted].requires_grad_()
    input, weight, bias = given
    expected = functional.linear(input, weight[:4], bias[:4]).cos().sum()
    (gradient,) = torch.autograd.grad(first_outputs(*given, 4).cos().sum(), given[wanted])
    torch.testing.assert_close(gradient, *torch.autograd.grad(expected, given[wanted]))


def test_gradients_of_gradients():
    assert torch.autograd.gradgradcheck(lambda *given: first_outputs(*given, 4), tensors())
