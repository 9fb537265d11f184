"""Cells of random expressions agree with DGL, compiled and in torch."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
import torch
from generated_cases import HIDDEN_FEATS, needs_compiler, results, shared, tree
from torch import Tensor, nn
from torch.nn import functional

from graphsent.cells import SlottedCell, TreeCell
from graphsent.kernels.library import SWITCH

IN_FEATS, NUM_CHILDREN = 3, 3
EXPRESSIONS: list[Callable[..., Tensor]] = [
    lambda cell, a, b: cell.square(a),
    lambda cell, a, b: a + b,
    lambda cell, a, b: torch.sigmoid(a) * b,
    lambda cell, a, b: a - b * cell.number,
    lambda cell, a, b: torch.tanh(a) * cell.row,
    lambda cell, a, b: torch.relu(a) - b,
    lambda cell, a, b: cell.pair(torch.cat([a, b], -1)),
    lambda cell, a, b: torch.stack([a, b], -2).amax(-2),
    lambda cell, a, b: torch.stack([a, b, a * 0.5], -2).mean(-2),
    lambda cell, a, b: torch.softmax(a, -1) * b,
    lambda cell, a, b: cell.single(a) * b,
    lambda cell, a, b: torch.where(a > b, a, b * 0.3),
    lambda cell, a, b: torch.lerp(a, b, torch.sigmoid(cell.row)),
    lambda cell, a, b: a / (1 + torch.exp(torch.tanh(b))),
    lambda cell, a, b: torch.cat([b[..., cell.half :], a[..., : cell.half]], -1),
    lambda cell, a, b: functional.linear(a, cell.square.weight * 0.5, cell.row) + cell.square(b),
    lambda cell, a, b: a[..., :1] * b + a.sum(-1, keepdim=True),
]
OVER_CHILDREN: list[Callable[..., Tensor]] = [
    lambda cell, a, b: a.sum(1),
    lambda cell, a, b: a.mean(1),
    lambda cell, a, b: a.amax(1) + b.max(1).values,
    lambda cell, a, b: (torch.softmax(cell.single(a), 1) * b).sum(1),
    lambda cell, a, b: (torch.softmax(a, 1) * b).sum(1),
]


class _Expressions:
    """Random expressions over the states, as methods of a cell."""

    def __init__(self, seed: int, num_parts: int, *sizes: int) -> None:
        super().__init__(*sizes)
        self.seed, size = seed, sizes[1]
        self.state_names = ("h", "c", "m")[:num_parts]
        self.half = size // 2
        self.W = nn.Linear(IN_FEATS, 2 * size, bias=seed % 2 == 0)
        self.square, self.pair = nn.Linear(size, size), nn.Linear(2 * size, size)
        self.single = nn.Linear(size, 1)
        self.row, self.number = nn.Parameter(torch.randn(size)), nn.Parameter(torch.randn(()))

    def project(self, feat: Tensor) -> Tensor:
        return self.W(feat)

    def start(self, x: Tensor) -> tuple[Tensor, ...]:
        return self._parts(random.Random(self.seed), x.chunk(2, -1))

    def combine(self, children: tuple[Tensor, ...], x: Tensor) -> tuple[Tensor, ...]:
        rng, (gate, more) = random.Random(self.seed + 1), x.chunk(2, -1)
        of_children = [*children, children[0] * gate.unsqueeze(1), children[-1] + more.unsqueeze(1)]
        of_children += self._parts(rng, of_children)
        of_nodes = [
            rng.choice(OVER_CHILDREN)(self, rng.choice(of_children), rng.choice(of_children))
            for _ in range(3)
        ]
        return self._parts(rng, [gate, more, *of_nodes])

    def _parts(self, rng: random.Random, values: Sequence[Tensor]) -> tuple[Tensor, ...]:
        values = list(values)
        for _ in range(rng.randint(3, 8)):
            expression = rng.choice(EXPRESSIONS)
            values.append(expression(self, rng.choice(values), rng.choice(values)))
        return tuple(torch.tanh(part) for part in values[-len(self.state_names) :])


class OfAnyChildren(_Expressions, TreeCell):
    """Expressions over unordered children."""


class OfSlots(_Expressions, SlottedCell):
    """Expressions over children in slots."""


def random_cell(seed: int) -> OfAnyChildren | OfSlots:
    """A cell in float64, with random sizes and parts."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    sizes = (IN_FEATS, rng.choice([2, 5, 8]))
    kind = rng.choice([OfAnyChildren, OfSlots])
    more = (NUM_CHILDREN,) if kind is OfSlots else ()
    return kind(seed, rng.randint(1, 3), *sizes, *more).double()


def check(seed: int, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = random_cell(seed)
    monkeypatch.setenv(SWITCH, "1" if way == "compiled" else "0")
    for graph in (tree(25, NUM_CHILDREN, seed), shared(20, NUM_CHILDREN, seed)):
        feat = torch.randn(graph.num_nodes(), IN_FEATS, dtype=torch.float64)
        assert cell.explain(graph).way == way
        expected = results(cell, graph, feat, engine="dgl")
        largest = max(1.0, *(float(part.detach().abs().max()) for part in expected))
        for one, other in zip(results(cell, graph, feat), expected, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-10 * largest)


@pytest.mark.parametrize("seed", range(60))
def test_expressions_in_torch(seed, monkeypatch):
    check(seed, "traced", monkeypatch)


@needs_compiler
@pytest.mark.parametrize("seed", range(0, 60, 6))  # each is compiled
def test_expressions_in_generated_code(seed, monkeypatch):
    check(seed, "compiled", monkeypatch)


class Latest(TreeCell):
    """A cell whose gradients need none of the rows that the forward pass computes."""

    state_names = ("h",)

    def project(self, feat: Tensor) -> Tensor:
        return feat

    def start(self, x: Tensor) -> tuple[Tensor]:
        return (x,)

    def combine(self, children: tuple[Tensor], x: Tensor) -> tuple[Tensor]:
        return (children[0].sum(1) - x,)


class TimesMean(Latest):
    """A gradient of the input that depends on the number of children."""

    def combine(self, children: tuple[Tensor], x: Tensor) -> tuple[Tensor]:
        return (torch.tanh(x * children[0].mean(1)),)


class FirstOfLargest(Latest):
    """The first of equal predecessors has the gradient."""

    def combine(self, children: tuple[Tensor], x: Tensor) -> tuple[Tensor]:
        return (x + children[0].max(1, keepdim=True).values.squeeze(1),)


class LargestProduct(Latest):
    """Maxima of sums of products, which rounding must not turn into others for the gradient."""

    def combine(self, children: tuple[Tensor], x: Tensor) -> tuple[Tensor]:
        (h,), each = children, x.unsqueeze(1)
        largest = (h * each + each * 0.3).amax(1)
        return (torch.tanh(largest - (h * 0.7 - each * each).max(1).values),)


class AllOfLargest(Latest):
    """Equal predecessors share the gradient."""

    def combine(self, children: tuple[Tensor], x: Tensor) -> tuple[Tensor]:
        return (x + children[0].amax(1),)


class Overlapping(SlottedCell):
    """A weight of which some rows are used whole, and others only in some columns."""

    state_names = ("h",)

    def __init__(self, in_feats: int, size: int) -> None:
        super().__init__(in_feats, size, 2)
        self.W, self.pair = nn.Linear(in_feats, size), nn.Linear(2 * size, size)

    def project(self, feat: Tensor) -> Tensor:
        return self.W(feat)

    def start(self, x: Tensor) -> tuple[Tensor]:
        return (torch.tanh(x),)

    def combine(self, children: tuple[Tensor], x: Tensor) -> tuple[Tensor]:
        left, right = children[0].unbind(1)
        both = torch.tanh(self.pair(torch.cat([left * x, right * x], -1)))
        return (torch.tanh(self.pair(torch.cat([torch.zeros_like(both), both], -1)) + x),)


class Unused(Overlapping):
    """It computes what only its gradient needs."""

    def combine(self, children: tuple[Tensor], x: Tensor) -> tuple[Tensor]:
        gate = torch.sigmoid(self.pair(children[0].flatten(1)))
        unused = gate - gate * gate
        del unused
        return (torch.tanh(gate + x),)


class Product(Latest):
    """A state that is a product, to which nothing is added; of more columns than a panel has."""

    def __init__(self, in_feats: int, size: int) -> None:
        super().__init__(in_feats, size)
        self.U = nn.Linear(size, size, bias=False)

    def combine(self, children: tuple[Tensor], x: Tensor) -> tuple[Tensor]:
        return (self.U(children[0].sum(1)),)


class SumOfProducts(Product):
    """Products at edges, to whose gradients all edges to a node contribute the same row."""

    def combine(self, children: tuple[Tensor], x: Tensor) -> tuple[Tensor]:
        return (torch.tanh(self.U(children[0] * x.unsqueeze(1)).sum(1)),)


class BothParts(Overlapping):
    """Products of both parts of the state in a slot."""

    state_names = ("h", "c")

    def start(self, x: Tensor) -> tuple[Tensor, ...]:
        return torch.tanh(x), x

    def combine(self, children: tuple[Tensor, ...], x: Tensor) -> tuple[Tensor, ...]:
        of_slots = torch.cat(children, -1).unbind(1)
        return tuple(functional.linear(rows, self.pair.weight) for rows in of_slots)


@pytest.mark.parametrize("way", [pytest.param("compiled", marks=needs_compiler), "traced"])
@pytest.mark.parametrize(
    "kind",
    [
        *(Latest, TimesMean, LargestProduct, Overlapping, Unused),
        *(Product, SumOfProducts, BothParts),
    ],
)
def test_cells_that_need_care(kind, way, monkeypatch):
    torch.manual_seed(0)
    size = HIDDEN_FEATS if kind is Product else IN_FEATS
    cell, graph = kind(size, size).double(), tree(25, 2)
    monkeypatch.setenv(SWITCH, "1" if way == "compiled" else "0")
    feat = torch.randn(graph.num_nodes(), size, dtype=torch.float64)
    assert cell.explain(graph).way == way
    expected = results(cell, graph, feat, engine="dgl")
    for _ in range(5):  # in memory that was used before
        for one, other in zip(results(cell, graph, feat), expected, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize("way", [pytest.param("compiled", marks=needs_compiler), "traced"])
@pytest.mark.parametrize("number", [0.0, torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("kind", [FirstOfLargest, AllOfLargest])
def test_equal_predecessors(kind, number, way, monkeypatch):
    torch.manual_seed(0)
    cell = kind(IN_FEATS, IN_FEATS).double()
    monkeypatch.setenv(SWITCH, "1" if way == "compiled" else "0")
    for graph in (tree(60, 5), shared(30, 5)):
        feat = torch.randint(0, 2, (graph.num_nodes(), IN_FEATS)).double()
        feat[torch.rand(feat.shape) < 0.1] = number
        assert cell.explain(graph).way == way
        expected = results(cell, graph, feat, engine="dgl")
        for one, other in zip(results(cell, graph, feat), expected, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-10, equal_nan=True)
