"""Functions of torch that are composed of others in generated code give torch's numbers."""

import math
from functools import partial

import generated_cases
import numpy as np
import pytest
import torch
from generated_cases import HAS_COMPILER, assert_same, shared, tree
from torch import nn
from torch.nn import functional

from graphsent._dgl import dgl
from graphsent.cells import SlottedCell, TreeCell
from graphsent.kernels.library import SWITCH

SIZE, NUM_SLOTS = 11, 3


class _Applied:
    """A function of the predecessors' states, and of the input."""

    state_names = ("h",)

    def __init__(self, function, *sizes):
        super().__init__(*sizes)
        self.function, size = function, sizes[1]
        self.p, self.V = nn.Parameter(torch.randn(size)), nn.Linear(size, size)
        self.norm, self.dropout = nn.LayerNorm(size), nn.Dropout()
        self.slope, self.lstm = nn.Parameter(torch.tensor([0.3])), nn.LSTMCell(size, size)
        self.rnn = nn.RNNCell(size, size, nonlinearity="relu")
        self.pairs = nn.Bilinear(size, size, size)
        self.register_buffer("mask", torch.arange(size) % 3 > 0)
        with torch.no_grad():
            for part in self.norm.parameters():
                part.uniform_(-1, 1)
        self.eval()

    def project(self, feat):
        return feat

    def start(self, x):
        return (x,)

    def combine(self, children, x):
        h = self.V(children[0]) + x.unsqueeze(1)
        return (torch.tanh(self.function(self, h).sum(1)),)


class OfAnyChildren(_Applied, TreeCell):
    """Predecessors without order."""


class OfSlots(_Applied, SlottedCell):
    """Predecessors in slots."""


POINTWISE = {
    "abs": lambda cell, h: abs(h) + h.abs() * torch.abs(cell.p),
    "differences": lambda cell, h: (
        torch.rsub(h, 2.0) + torch.sub(h, cell.p, alpha=3).add(h, alpha=0.5)
    ),
    "square root": lambda cell, h: h.abs().sqrt(),
    "reciprocals": lambda cell, h: torch.reciprocal(h) + h.abs().rsqrt(),
    "powers": lambda cell, h: h**3 - h.pow(1) / 2 + h.abs().pow(0.5) * h**-1,
    "another root": lambda cell, h: h.abs() ** -0.5,
    "other powers": lambda cell, h: (
        (h**4 * 0.1 + h.abs() ** 1.7 - h.abs().pow(0.7) * h**0 + (1 + h * h) ** -1.5)
        + ((1 + h * h) ** (cell.p - 1) + h.abs() ** torch.sigmoid(h) - 2 ** torch.tanh(h))
    ),
    "sine, cosine, inverse hyperbolic tangent": lambda cell, h: (
        torch.sin(h) * h
        + torch.cos(3 * h) * cell.p.sin()
        + torch.atanh(h * torch.rsqrt(1 + h * h) * 0.9)
    ),
    "log": lambda cell, h: torch.log(h.abs()) * h,
    "log1p, expm1": lambda cell, h: torch.log1p(h.abs()) * torch.expm1(h.clamp(max=0.0)),
    "interpolation": lambda cell, h: torch.lerp(h, h * 2, torch.sigmoid(h)) + h.lerp(1 + h, 0.7),
    "interpolation by a parameter": lambda cell, h: torch.lerp(h, h * 2, cell.p),
    "clamp": lambda cell, h: (
        h.clamp(-0.5, 0.25) + torch.clip(h, max=0.1) * h.clamp_min(-0.1).clamp_max(2)
    ),
    "SiLU": lambda cell, h: functional.silu(h),
    "leaky ReLU": lambda cell, h: functional.leaky_relu(h) - functional.leaky_relu(-h, 0.3),
    "ELU": lambda cell, h: functional.elu(h) + functional.elu(h, alpha=0.3),
    "SELU": lambda cell, h: functional.selu(h),
    "softsign": lambda cell, h: functional.softsign(h),
    "Mish": lambda cell, h: functional.mish(h),
    "approximate GELU": lambda cell, h: functional.gelu(h, approximate="tanh"),
    "error function": lambda cell, h: torch.erf(h) + h.erf() - torch.special.erf(h * 2),
    "hard tanh": lambda cell, h: functional.hardtanh(h) + functional.hardtanh(h, -0.5, 0.25),
    "ReLU6": lambda cell, h: functional.relu6(h),
    "parametric ReLU": lambda cell, h: functional.prelu(h, cell.slope),
    "softplus": lambda cell, h: functional.softplus(h) + functional.softplus(h, 3, 1.5),
    "log-sigmoid": lambda cell, h: functional.logsigmoid(h),
    "quotients": lambda cell, h: torch.addcdiv(h, h, 1 + h.abs(), value=2),
    "products": lambda cell, h: torch.addcmul(h, h, cell.p, value=0.5).addcmul(h, h),
    "products of parameters": lambda cell, h: (
        torch.addcmul(h, cell.p, cell.p) * torch.addcdiv(h, cell.p, cell.slope.exp())
    ),
    "without gradient": lambda cell, h: h * h.detach(),
    "dropout": lambda cell, h: cell.dropout(h) + functional.dropout(h, 0.0),
}
OTHERS = {
    "maximum": lambda cell, h: torch.maximum(h, cell.p) + torch.max(h * 2, h),
    "the first of the largest": lambda cell, h: (
        torch.stack([cell.p.expand_as(h), h, cell.slope.expand_as(h)], -1).max(-1).values * h
    ),
    "minimum": lambda cell, h: torch.minimum(cell.p, h) + h.min(h * h),
    "product": lambda cell, h: (1 + h).prod(1, keepdim=True) - torch.relu(h).prod(1, True),
    "product of columns": lambda cell, h: (
        h[..., :5].prod(-1, True) * h.unflatten(-1, (1, -1)).prod(-2)
    ),
    "smallest": lambda cell, h: h.amin(1, keepdim=True) + h.min(1, keepdim=True).values,
    "smallest column": lambda cell, h: h.amin(-1, True) * h + h.min(-1, keepdim=True)[0],
    "log-sum-exp": lambda cell, h: torch.logsumexp(h, 1, keepdim=True),
    "log-sum-exp of columns": lambda cell, h: h.logsumexp(-1).unsqueeze(-1) * h,
    "over several dimensions": lambda cell, h: (
        h.unflatten(-1, (1, -1)).sum((-1, -2)).unsqueeze(-1) * h
        + h.mean((1, 2), keepdim=True)
        + h.logsumexp([1, 2], True)
    ),
    "log of a sum of exponentials": lambda cell, h: torch.logaddexp(h, h * 2) + h.logaddexp(cell.p),
    "cosine similarity": lambda cell, h: (
        functional.cosine_similarity(h, h.amax(1, True), -1).unsqueeze(-1) * h
        + torch.cosine_similarity(h * 0, h.sum(1, True), 2).unsqueeze(-1)
    ),
    "cosine similarity to a number": lambda cell, h: (
        torch.cosine_similarity(h, h[..., :1], -1, eps=0.5).unsqueeze(-1) * h
    ),
    "softmin": lambda cell, h: functional.softmin(h, 1) * h,
    "functions of torch.special": lambda cell, h: (
        torch.special.softmax(h, 1) * torch.special.expm1(torch.special.log_softmax(h, -1))
    ),
    "some columns of a product": lambda cell, h: (
        cell.V(h)[..., 1:3].sum(-1, True) * cell.V(h)[..., 6:9].sum(-1, True) * h
    ),
    "added products": lambda cell, h: (
        torch.addmm(h.sum(1), h.mean(1), cell.V.weight).unsqueeze(1)
        + torch.baddbmm(h.amax(1, True), torch.softmax(h.mean(1, True) @ h.mT, -1), h)
    ),
    "RNN cell": lambda cell, h: cell.rnn(h.sum(1), h.amax(1)).unsqueeze(1),
    "log-softmax": lambda cell, h: torch.log_softmax(h, 1) * h,
    "log-softmax of columns": lambda cell, h: functional.log_softmax(h, dim=-1),
    "GELU": lambda cell, h: functional.gelu(h),  # in torch, NaN or infinite at infinity
    "GLU": lambda cell, h: functional.glu(torch.cat((h, h * h), -1)),
    "variance": lambda cell, h: h.var(-1, keepdim=True) * h + h.var(-1, True, True),
    "deviation": lambda cell, h: (
        h.std(-1, keepdim=True, correction=0) * h + h[..., :1].std(-1, False, True) * h
    ),
    "Euclidean norm": lambda cell, h: (
        h * h.norm(dim=-1, keepdim=True)
        + torch.linalg.vector_norm(h * 0, dim=-1, keepdim=True)
        + torch.linalg.norm(h, dim=-1, keepdim=True)
    ),
    "what is the same for all predecessors": lambda cell, h: (
        h.sum(1, True) / torch.ones_like(h[..., :1]).sum(1, True).sqrt()
        + h.mean(1, True).expand_as(h).sum(1, True) * h.amax(1, True).expand_as(h).mean(1, True)
        - h.mean(1, True).expand_as(h).amax(1, True)
        + (cell.p * h.mean(1, True)).expand_as(h).logsumexp(1, True) * h
        + torch.tanh(h).mean(1, True).expand_as(h).prod(1, True) * h
    ),
    "what is the same for all nodes": lambda cell, h: (
        (torch.ones_like(h) * cell.p).tanh() * h
        + cell.V(cell.p.expand_as(h)) * cell.V(torch.ones_like(h)) * h.sum(1, True)
        + cell.V(torch.cat((h[..., :1], cell.p.expand_as(h)[..., 1:]), -1))
        + cell.p.expand_as(h).sum(-1, True) * (0 * h + cell.p).norm(dim=-1, keepdim=True)
        - cell.p.expand_as(h).detach() * cell.p.expand_as(h).logsumexp(1, True)
        + torch.maximum(cell.p.expand_as(h).exp(), h) * cell.p.expand_as(h).softmax(-1)
    ),
    "normalize": lambda cell, h: (
        functional.normalize(h, dim=-1) + functional.normalize(h * 0, dim=-1)
    ),
    "LSTM cell": lambda cell, h: sum(
        cell.lstm(h.sum(1), (h.amax(1), torch.relu(h).sum(1)))
    ).unsqueeze(1),
    "conditions": lambda cell, h: (
        h.masked_fill((h > 0) & ~(h > 0.5), 0.25) * torch.logical_or(h < -1, h > 0).double()
    ),
    "masks": lambda cell, h: (
        h.masked_fill(~cell.mask, -torch.inf).softmax(-1) * h.where(cell.mask & (cell.p > 0), -h)
        + torch.where(cell.mask[:1], cell.p, h)
    ),
    "products": lambda cell, h: (h @ h.mean(1).unsqueeze(-1)) * h,
    "einsum": lambda cell, h: (
        torch.einsum("nkd,ned->nke", h, h.mean(1, True))
        * torch.einsum("nki,oi->nko", h, cell.V.weight)
        + torch.einsum("io, nki -> nko", cell.V.weight, h)
    ),
    "einsum of other parameters": lambda cell, h: (
        torch.einsum("nki,oi->no", h, cell.V.weight).unsqueeze(1)
        + torch.einsum("nki,jio->nkjo", h, cell.pairs.weight[:2]).sum(2)
        * torch.einsum("i,nki->nk", cell.p, h).unsqueeze(-1)
        + torch.einsum(
            "nij,jio->no", torch.stack((h.sum(1), h.amax(1)), -1), cell.pairs.weight[:2]
        ).unsqueeze(1)
    ),
    "bilinear": lambda cell, h: cell.pairs(h, torch.tanh(h)),
    "a vector last": lambda cell, h: (h @ cell.p).unsqueeze(-1) * h,
    "one dimension in a tuple": lambda cell, h: h * h.amax((1,), True) + h.std([-1], keepdim=True),
    "a weight first": lambda cell, h: cell.V.weight.mm(h.mean(1).t()).t().unsqueeze(1) * h,
    "attention": lambda cell, h: torch.bmm(
        torch.softmax(torch.bmm(cell.V(h.mean(1, True)), h.transpose(1, 2)), -1), h
    ),
    "several heads": lambda cell, h: functional.scaled_dot_product_attention(
        *(part.unflatten(-1, (1, SIZE)).transpose(1, 2) for part in (h.amax(1, True), h, h * 2))
    ).squeeze(1),
    "layer norm": lambda cell, h: cell.norm(h) + functional.layer_norm(h, h.shape[-1:], eps=0.1),
    "RMS norm": lambda cell, h: functional.rms_norm(h, (SIZE,), cell.p),
    "lists of indices": lambda cell, h: (
        h[..., [0, 3, 3, -1]].sum(-1, True) * h[:, :, [*range(SIZE)][::-1]]
        + h.unflatten(-1, (1, -1))[:, :, [0, 0], [2, 5]].amax(-1).unsqueeze(-1)
    ),
    "a sum with numbers": lambda cell, h: (
        h * torch.cat([h, torch.full_like(h, 0.5)], -1).sum(-1, keepdim=True)
    ),
}


def two_names(cell, h):
    same = h = cell.V(h)
    same += cell.p
    h -= 2
    return same + h


def of_a_copy(cell, h):
    copy = cell.V(h).clone()
    copy *= 2
    return copy + h


def of_comparisons(cell, h):
    inside = same = h > -1
    inside &= h < 1
    return h.masked_fill(same, 0.5)


def of_what_dropout_returns(cell, h):
    h = cell.V(h)
    dropped = cell.dropout(h)
    dropped += 1
    return h.add_(dropped, alpha=0.5)


def of_a_sum(cell, h):
    total = h.sum(1, keepdim=True)
    total /= 3
    return total.clamp_(-1, 1) + functional.leaky_relu(cell.V(h), inplace=True)


def of_an_activation(cell, h):
    h = cell.V(h)
    functional.elu(input=h, inplace=True)
    return h


def products_that_are_not_in_place(cell, h):
    same = product = torch.tanh(h)
    product @= cell.V.weight
    return product + same


IN_PLACE = {
    "@=": products_that_are_not_in_place,
    "two names in place": two_names,
    "a copy in place": of_a_copy,
    "comparisons in place": of_comparisons,
    "dropout in place": of_what_dropout_returns,
    "a sum in place": of_a_sum,
    "an activation in place": of_an_activation,
    "activations in place": lambda cell, h: torch.relu_(nn.ReLU(inplace=True)(cell.V(h)) + h),
}
EACH = {**POINTWISE, **OTHERS, **IN_PLACE}

KINDS = pytest.mark.parametrize("kind", [OfAnyChildren, OfSlots])


def assert_same_states(functions, kind, monkeypatch):
    more = (NUM_SLOTS,) if kind is OfSlots else ()
    cell = kind(lambda cell, h: sum(f(cell, h) for f in functions), SIZE, SIZE, *more).double()
    for graph in (tree(40, NUM_SLOTS), shared(30, NUM_SLOTS)):
        feat = torch.randn(graph.num_nodes(), SIZE, dtype=torch.float64)
        assert_same(cell, graph, feat, monkeypatch, 1e-11)


@KINDS
@pytest.mark.parametrize("name", EACH)
def test_each_function_in_torch(name, kind, monkeypatch):
    monkeypatch.setattr(generated_cases, "HAS_COMPILER", False)
    assert_same_states([EACH[name]], kind, monkeypatch)


@generated_cases.needs_compiler
@KINDS
@pytest.mark.parametrize("first", range(0, len(EACH), 4))  # each cell is compiled
def test_functions_in_generated_code(first, kind, monkeypatch):
    assert_same_states([*EACH.values()][first : first + 4], kind, monkeypatch)


WIDE_PRODUCTS = {
    "einsum": lambda h: torch.einsum("nk,nkd->nd", h[:, :3], h.unflatten(1, (3, 100))),
    "matmul": lambda h: h[:, None, :3] @ h.unflatten(1, (3, 100)),
    "attention": lambda h: functional.scaled_dot_product_attention(
        *[h.unflatten(1, (3, 2, 50)).transpose(1, 2)] * 3
    ),
    "outer product": lambda h: torch.einsum("ni,nj->nij", h[:, :20], h),
    "many rows": lambda h: torch.einsum("nki,nki->ni", *[h[:, :80].unflatten(1, (40, 2))] * 2),
}


@pytest.mark.parametrize("name", WIDE_PRODUCTS)
def test_products_of_wide_matrices(name):
    """They are not written out column by column."""

    def function(cell, h):
        return WIDE_PRODUCTS[name](h.sum(1)).flatten(1).sum(1)[:, None, None] * h

    assert OfAnyChildren(function, 300, 300).explain(tree(9, 2)).way != "levels"


class OfOne(TreeCell):
    """A function of the sum of the predecessors' states."""

    state_names = ("h",)

    def __init__(self, function, size):
        super().__init__(size, size)
        self.function, self.dropout = function, nn.Identity()
        self.p = nn.Parameter(torch.tensor(1.5))
        self.slope = nn.Parameter(torch.tensor([0.3]))

    def project(self, feat):
        return feat

    def start(self, x):
        return (x,)

    def combine(self, children, x):
        return (self.function(self, children[0].sum(1)),)


def assert_as_torch(function, x, switch, monkeypatch, atol=4, exact=None):
    """Values and gradients of a pointwise function equal those of torch.

    ``atol`` is that of values, in units of the last place of 1. ``exact`` is the same function
    where that of some versions of torch is inaccurate.
    """
    cell = OfOne(function, len(x)).to(x.dtype)
    monkeypatch.setenv(SWITCH, switch)
    found, expected = [], []
    graph = dgl.graph(([0], [1]))
    assert cell.explain(graph).way == ("compiled" if switch == "1" else "traced")
    for results, run in (
        (found, lambda x: cell(graph, torch.stack((x, x)))[1]),
        (expected, lambda x: (exact or function)(cell, x)),
    ):
        given = x.clone().requires_grad_()
        values = run(given)
        results += [values.detach(), *torch.autograd.grad(values.sum(), given)]
    eps = torch.finfo(x.dtype).eps
    for got, known, units in zip(found, expected, (atol, 4), strict=True):
        got, known = got[~x.isnan()], known[~x.isnan()]
        torch.testing.assert_close(got, known, rtol=64 * eps, atol=units * eps, equal_nan=True)
    assert found[0][x.isnan()].isnan().all()


each_way = pytest.mark.parametrize("switch", "10" if HAS_COMPILER else "0")
BEFORE_2_5 = torch.__version__ < "2.5"
SINCE_2_5 = pytest.mark.skipif(BEFORE_2_5, reason="needs torch 2.5")


@each_way
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_unusual_numbers(dtype, switch, monkeypatch):
    numbers = [0.0, 1.0, -1.0, 0.1, -0.1, 0.25, -0.5, 1e-30, -30.0, 30.0, 50.0, -50.0, 90.0, -90.0]
    x = torch.tensor([*numbers, torch.nan, torch.inf], dtype=dtype)

    def function(cell, h):
        parts = zip(POINTWISE.values(), h.split(len(x), -1), strict=True)
        return torch.cat([of(cell, part) for of, part in parts], -1)

    assert_as_torch(function, x.repeat(len(POINTWISE)), switch, monkeypatch)


@each_way
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_small_results(dtype, switch, monkeypatch):
    """They have as many correct digits as others."""
    x = torch.tensor([1e-30, 1e-6, 1e-3, 1.0, 20.0, 60.0], dtype=dtype)

    def function(cell, h, elu=functional.elu):
        functions = (elu, functional.softplus, functional.logsigmoid, torch.expm1)
        *parts, last = h.chunk(len(functions) + 1, -1)
        parts = [of(part) for of, part in zip(functions, parts, strict=True)]
        return torch.cat((*parts, torch.log1p(last.abs())), -1)

    exact = None
    if BEFORE_2_5:  # its elu computes exp(x) - 1
        exact = partial(function, elu=lambda x: torch.where(x > 0, x, x.expm1()))
    assert_as_torch(function, torch.cat((x, -x)).repeat(5), switch, monkeypatch, 0, exact)


@each_way
def test_log_softmax_of_large_numbers(switch, monkeypatch):
    x = torch.tensor([1e8, 1e6, 1.0, -1e6])

    def function(cell, h):
        return torch.log_softmax(torch.stack((h, h - 3 + h / 1e7)), 0)[0]

    assert_as_torch(function, x, switch, monkeypatch)


@each_way
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_logarithms_roots_and_error_functions_of_any_number(dtype, switch, monkeypatch):
    about = torch.finfo(dtype)
    x = torch.logspace(math.log2(about.tiny), math.log2(about.max), 999, 2, dtype=torch.float64)
    near = 1 + torch.linspace(-0.5, 1, 501, dtype=torch.float64)
    others = torch.tensor([0.0, -1.0, about.tiny / 64, torch.inf, torch.nan])
    x = torch.cat((x, near, others)).to(dtype)

    def function(cell, h, log1p=torch.log1p):
        first, second, third, fourth, last = h.chunk(5, -1)
        parts = first.log(), second.sqrt(), third.erf(), torch.erf(-fourth), log1p(last)
        return torch.cat(parts, -1)

    def log1p(x):
        return torch.where(x * about.eps > 1, x.clamp(min=1).log(), x.log1p())

    exact = None
    if BEFORE_2_5 and switch == "1":  # torch's log1p is infinite for the largest numbers
        exact = partial(function, log1p=log1p)
    assert_as_torch(function, x.repeat(5), switch, monkeypatch, exact=exact)


@each_way
@pytest.mark.parametrize("function", [torch.maximum, torch.minimum])
def test_gradients_of_equal_numbers(function, switch, monkeypatch):
    """Half of it goes to each."""
    x = torch.tensor([-2.0, 0.0, 1.0, 3.0], dtype=torch.float64)
    assert_as_torch(lambda cell, h: function(h, h * h), x, switch, monkeypatch)


@each_way
def test_sums_of_exponentials_of_unusual_numbers(switch, monkeypatch):
    x = torch.tensor([-torch.inf, torch.inf, torch.nan, 1.0, 20.0, -20.0], dtype=torch.float64)

    def sums(cell, h):
        return torch.logsumexp(torch.stack((h, h - 1, h), -1), -1)

    assert_as_torch(sums, x, switch, monkeypatch)
    assert_as_torch(lambda cell, h: torch.logaddexp(h, h * 2), x, switch, monkeypatch)


def test_dropout_while_training():
    cell = OfAnyChildren(POINTWISE["dropout"], SIZE, SIZE)
    graph = tree(20, 2)
    assert cell.explain(graph).way != "levels"
    assert cell.train().explain(graph).reason == (
        "it calls dropout in training: a mask that extra_inputs returns can be traced"
    )


JOINED = "it concatenates nodes or predecessors, or tensors of different sizes"
PADDED = "it pads nodes or predecessors, or by other than a number"
SOME = "it selects some of the nodes or predecessors, or merges them with columns"
INDICES = "it uses the indices of maxima or minima"
OTHER_NORM = "it takes another norm than the Euclidean"
OTHER_SIZE = "it multiplies rows of another size by a weight (1,)"
OTHER_TYPE = "it changes the dtype or device of a tensor"
ALL_DIMENSIONS = "it reduces over all dimensions, "


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (
            lambda cell, h: torch.einsum("...i,oi->...o", h, cell.V.weight),
            "it calls einsum with an ellipsis: a letter for each dimension can be traced",
        ),
        (
            lambda cell, h: torch.einsum("nki,ni", h, h.mean(1)),
            "it calls einsum without ->: the indices of the result can be written out",
        ),
        (
            lambda cell, h: torch.einsum("nki,nki,nki->nki", h, h, h),
            "it calls einsum with other than two operands",
        ),
        (
            lambda cell, h: torch.einsum("nki,ni->nz", h, h.mean(1)),
            "it calls einsum with other than one index for each dimension",
        ),
        (
            lambda cell, h: torch.addmm(h.sum(1), h.mean(1), cell.V.weight, beta=0.5),
            "it calls addmm: got an unexpected keyword argument 'beta'",
        ),
        (lambda cell, h: torch.cat([h, h], 1), JOINED),
        (lambda cell, h: torch.cat([h, h.sum(1, keepdim=True)], -1), JOINED),
        (lambda cell, h: h + h[:1], SOME),
        (lambda cell, h: h[:, :1], SOME),
        (lambda cell, h: h.split(100, 1)[0], SOME),
        (lambda cell, h: h.squeeze(), SOME),
        (lambda cell, h: functional.pad(h, (0, 0, 1, 0)), PADDED),
        (lambda cell, h: functional.pad(h, (1, 0), "replicate")[..., 1:], PADDED),
        (lambda cell, h: torch.stack([h, h]).reshape(h.shape[0], 2, -1, SIZE).sum(1), SOME),
        (lambda cell, h: h * (h.max(2, True).indices == 0), INDICES),
        (lambda cell, h: h * h.max(2, True).indices.float(), INDICES),
        (lambda cell, h: h * h.min(2, True)[1][:, :1], INDICES),
        (lambda cell, h: h * isinstance(h.max(2)[1], torch.Tensor), INDICES),
        (lambda cell, h: np.ones(SIZE) * h, "it uses ndarray as a number"),
        (lambda cell, h: h[..., [True] * SIZE], "it indexes with a tensor or a mask"),
        (lambda cell, h: h * torch.linalg.norm(h, 2, (1, 2), True), OTHER_NORM),
        (lambda cell, h: h * h.norm(1, -1, True), OTHER_NORM),
        (lambda cell, h: functional.normalize(h, math.inf, -1), OTHER_NORM),
        (
            lambda cell, h: h * torch.linalg.vector_norm(h, 2, -1, True, dtype=torch.float64),
            OTHER_NORM,
        ),
        (lambda cell, h: functional.glu(h) * h[..., :1], "it halves an odd number of columns"),
        (lambda cell, h: (h @ cell.slope).unsqueeze(-1) * h, OTHER_SIZE),
        (lambda cell, h: h.double(), OTHER_TYPE),
        (lambda cell, h: h.to(copy=True), OTHER_TYPE),
        (lambda cell, h: h.new_ones(h.shape, dtype=torch.float64) * h, OTHER_TYPE),
        (lambda cell, h: h.new_ones(h.shape, device="meta") * h, OTHER_TYPE),
        (lambda cell, h: (h > 0).to(h.device) * h, OTHER_TYPE),
        (lambda cell, h: h.type_as(h > 0) * h, OTHER_TYPE),
        (lambda cell, h: h.sum() * h, ALL_DIMENSIONS + "including the nodes of a level"),
        (lambda cell, h: h.sum(()) * h, ALL_DIMENSIONS + "or over one of them twice"),
        (lambda cell, h: h * h.amax((1, 2), True), "it reduces over several dimensions at once"),
        (
            lambda cell, h: torch.cat([h] * 4, -1).prod(-1, True) * h,
            "it reduces over a dimension of size 44: up to 32 can be traced",
        ),
        (
            lambda cell, h: h * h.var(1, unbiased=False, keepdim=True),
            "it takes the variance over predecessors",
        ),
        (lambda cell, h: (h > 0) * 0.1 * h, "it computes with the results of comparisons"),
        (
            lambda cell, h: ((h > 0) & (cell.p > 0)) * h,
            "it combines a comparison with something else",
        ),
        (
            lambda cell, h: h.where(cell.p, -h),
            "it chooses by a tensor that is not the result of a comparison",
        ),
        (
            lambda cell, h: torch.mul(h, 2, out=torch.zeros_like(h)),
            "it changes a tensor in place, and possibly others that share memory",
        ),
        (
            lambda cell, h: h.sum(-1, True).mul_(h),
            "it changes the shape or dtype of a tensor in place",
        ),
        (
            lambda cell, h: functional.prelu(h.mT, cell.p).mT,
            "it calls prelu with one slope for each position in the second dimension",
        ),
        (
            lambda cell, h: functional.gelu(h, approximate="sigmoid"),
            "it calls gelu with another approximation than tanh",
        ),
        (lambda cell, h: h.log_softmax(-1, torch.float64), "it changes the dtype of a tensor"),
        (
            lambda cell, h: h.masked_fill(h > 0, cell.p),
            "it calls masked_fill with a value that is not a number",
        ),
        (
            lambda cell, h: functional.linear(h, h.sum(1)),
            "it multiplies by a matrix that is not a parameter",
        ),
        (
            lambda cell, h: cell.V(h[..., :5]),
            f"it multiplies rows of another size by a weight ({SIZE}, {SIZE})",
        ),
        (
            lambda cell, h: torch.einsum(
                "nkij,ijo->nko", h.unflatten(-1, (1, SIZE)), cell.pairs.weight[:, :1]
            ),
            f"it multiplies rows of another size by a weight ({SIZE}, 1, {SIZE})",
        ),
        (
            lambda cell, h: (h.sum(1) @ h.sum(1).mT).unsqueeze(1) * h,
            "it multiplies tensors of 2 and 2 dimensions",
        ),
        (lambda cell, h: h @ h.sum(1, True), "it multiplies matrices of other sizes"),
        (
            lambda cell, h: (torch.stack([h, h]) @ (h.mT @ h)).sum(0),
            "it multiplies tensors of 4 and 3 dimensions",
        ),
        (
            lambda cell, h: torch.bmm(h, cell.pairs.weight),
            "it multiplies by several matrices that are parameters",
        ),
        (
            lambda cell, h: torch.bmm(h.mT, h.unsqueeze(1)).squeeze(1),
            "it calls bmm with other than two batches of as many matrices",
        ),
        (
            lambda cell, h: cell.pairs(h, h[..., :5]),
            "it calls bilinear with tensors of other sizes",
        ),
        (
            lambda cell, h: torch.cat([h[..., i : i + 1] for i in [0, 5] * 130], -1).tanh(),
            "a tensor consists of more than 256 pieces",
        ),
    ],
    ids=[
        *("ellipsis", "no result", "three operands", "unknown index", "keyword"),
        *("predecessors twice", "predecessors and their sum", "a node", "a predecessor"),
        *("some predecessors", "squeezed", "padded predecessors", "repeated column"),
        *("exchanged nodes", "equal indices"),
        *("indices as numbers", "some indices", "type of indices", "an array", "a mask"),
        *("spectral norm", "norm 1", "normalized by the largest", "norm of another type", "odd"),
        *("other size", "another type", "a copy"),
        *("ones of another type", "ones elsewhere", "moved comparison", "type of a comparison"),
        *("all dimensions", "no dimensions", "maxima of two dimensions", "product of many"),
        *("variance", "a comparison times a number"),
        *("mixed conditions", "choice by a parameter", "given memory", "more columns"),
        *("many slopes", "another approximation", "another type of a softmax"),
        *("a row in place of numbers", "product with states", "columns of a product"),
        "repeated columns of a product",
        *("matrices of nodes", "other matrices", "other dimensions", "several parameters"),
        *("other batches", "other pairs", "many pieces"),
    ],
)
def test_reasons_name_what_the_user_wrote(function, reason):
    assert OfAnyChildren(function, SIZE, SIZE).explain(tree(20, 2)).reason == reason


@pytest.mark.parametrize(
    "option",
    [
        *({"attn_mask": torch.ones(1)}, {"dropout_p": 0.1}, {"is_causal": True}),
        pytest.param({"enable_gqa": True}, marks=SINCE_2_5),
    ],
    ids=lambda option: next(iter(option)),
)
def test_attention_with_options_is_not_traced(option):
    cell = OfAnyChildren(
        lambda _, h: functional.scaled_dot_product_attention(h, h, h, **option), SIZE, SIZE
    )
    reason = "it calls scaled_dot_product_attention with options"
    assert cell.explain(tree(20, 2)).reason == reason


def test_a_conversion_to_the_type_of_the_cell():
    cell = OfAnyChildren(lambda cell, h: h.float(), SIZE, SIZE)
    assert cell.explain(tree(20, 2)).way in ("compiled", "traced")


class OfTwo(SlottedCell):
    """A function of the states of two children, (num_nodes, 2, hidden_feats)."""

    state_names = ("h",)

    def __init__(self, function, size):
        super().__init__(size, size, 2)
        self.function = function

    def project(self, feat):
        return feat

    def start(self, x):
        return (x,)

    def combine(self, children, x):
        return (self.function(children[0]),)


NAN, INF = math.nan, math.inf
OF_TWO = {
    "difference of equal products": (
        lambda h: h[:, 0] * h[:, 0] - h[:, 1] * h[:, 1],
        [[0.1, 0.2, 0.3, 0.7], [0.1, 0.2, 0.3, 0.7]],
    ),
    "deviation of equal children": (
        lambda h: torch.sqrt((h * h).mean(1) - h.mean(1) ** 2 + 1e-30),
        [[0.1, 0.2, 0.3, 0.7], [0.1, 0.2, 0.3, 0.7]],
    ),
    "sigmoid of small numbers": (
        lambda h: h[:, 0].sigmoid() * h[:, 1],
        [[-80.0, -100.0, -1000.0, -INF, INF, 200.0], [3e38, 3e38, 1e38, INF, -INF, 1e-38]],
    ),
    "logarithm of a sigmoid": (
        lambda h: h[:, 0].sigmoid().log() + 0 * h[:, 1],
        [[-80.0, -86.0, 80.0], [1.0, 1.0, 1.0]],
    ),
    "first largest with NaN": (
        lambda h: h.max(1)[0] + h.min(1)[0],
        [[NAN, 1.0, NAN, 2.0, 3.0], [1.0, NAN, NAN, 2.0, 1.0]],
    ),
    "norm with NaN": (
        lambda h: h[:, 0].norm(dim=-1, keepdim=True) + 0 * h[:, 1],
        [[NAN, 1.0, 2.0], [1.0, 1.0, 1.0]],
    ),
    "norm of zeros": (
        lambda h: h[:, 0].norm(dim=-1, keepdim=True) * h[:, 1],
        [[0.0, -0.0, 0.0], [1.0, 2.0, 3.0]],
    ),
    "infinite numbers and NaN": (
        lambda h: h[:, 0].masked_fill(h[:, 1] > 1, -INF).masked_fill(h[:, 1] < -1, NAN),
        [[1.0, 2.0, 3.0], [2.0, 0.0, -2.0]],
    ),
    "interpolation": (
        lambda h: torch.lerp(h[:, 0], h[:, 1], 1.0) + h[:, 0].lerp(h[:, 1], 0.3),
        [[1e8, 1000.0, INF, 1.0], [1.0, 0.001, 1.0, INF]],
    ),
    "interpolation from infinity": (
        lambda h: torch.lerp(h[:, 0], h[:, 1], h[:, 1].sigmoid()),
        [[-INF, 1.0, INF, 2.0], [2.0, 2.0, -2.0, -1.0]],
    ),
    "powers of 0, and with exponents 0 and 1": (
        lambda h: h[:, 0] ** h[:, 1],
        [[0.0, 0.0, 0.0, 0.0, -2.0, 2.0, INF, 3.0], [0.0, 1.0, 2.0, 0.5, 0.0, 0.0, 0.0, INF]],
    ),
    "interpolation by weights": (
        lambda h: torch.lerp(h[:, 0], 1 - h[:, 0], h[:, 1]),
        [[1e8, 1000.0, 3.0, 2.0, 1.0], [1.0, 0.999, 0.5, 0.25, -0.75]],
    ),
}


@each_way
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", OF_TWO)
def test_extreme_numbers_of_two_children(name, dtype, switch, monkeypatch):
    """Values and gradients of torch, NaN and infinity included."""
    function, numbers = OF_TWO[name]
    h = torch.tensor([numbers], dtype=dtype)
    cell = OfTwo(function, h.shape[-1]).to(dtype)
    monkeypatch.setenv(SWITCH, switch)
    graph = dgl.graph(([0, 1], [2, 2]))
    graph.edata["child_index"] = torch.tensor([0, 1])
    assert cell.explain(graph).way == ("compiled" if switch == "1" else "traced")
    given, feat = h.clone().requires_grad_(), torch.cat((h[0], h[0, :1])).requires_grad_()
    state, expected = cell(graph, feat)[2:], function(given)
    (gradient,) = torch.autograd.grad(state.sum(), feat)
    (known,) = torch.autograd.grad(expected.sum(), given)
    close = {"rtol": 64 * torch.finfo(dtype).eps, "atol": 1e-37, "equal_nan": True}
    torch.testing.assert_close(state, expected, **close)
    torch.testing.assert_close(gradient[None, :2], known, **close)
