"""Code is compiled for shapes, dtypes and counts: it must not run once they are others."""

from __future__ import annotations

import pytest
import torch
from generated_cases import needs_compiler, results
from torch import nn
from torch.nn import functional

from graphsent._dgl import dgl
from graphsent.cells import CellError, TreeCell
from graphsent.propagation import PropagationError

SIZE = 6


def v_shape():
    return dgl.graph(([0, 1], [2, 2]))


class Summed(TreeCell):
    """A function of the sum of the predecessors' states."""

    state_names = ("h",)

    def __init__(self, function=None, in_feats=SIZE, **own):
        super().__init__(in_feats, SIZE)
        self.function = function
        for name, value in own.items():
            is_buffer = isinstance(value, torch.Tensor) and not isinstance(value, nn.Parameter)
            if is_buffer:
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def project(self, feat):
        return feat

    def start(self, x):
        return (x,)

    def combine(self, children, x):
        return (self.function(self, children[0].sum(1)) + x,)


def assert_as_in_dgl(cell, graph, feat):
    pairs = zip(results(cell, graph, feat), results(cell, graph, feat, engine="dgl"), strict=True)
    for found, expected in pairs:
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("inner_input", [True, False])
@pytest.mark.parametrize("before", [True, False])
def test_a_projection_of_inputs_beside_zeros(before, inner_input):
    class Beside(Summed):
        def project(self, feat):
            parts = [torch.zeros_like(feat), feat]
            return self.W(torch.cat(parts if before else parts[::-1], -1))

    cell = Beside(lambda cell, h: torch.tanh(h), W=nn.Linear(2 * SIZE, SIZE))
    cell.inner_input = inner_input
    assert cell.explain(v_shape()).way in ("compiled", "traced")
    assert_as_in_dgl(cell, v_shape(), torch.randn(3, SIZE))


COUNTS = {
    "rows by a mask": lambda cell, h: functional.linear(h, cell.bank[cell.gate > 0]),
    "nonzero": lambda cell, h: h * torch.nonzero(cell.gate > 0).shape[0],
    "unique": lambda cell, h: h * torch.unique(cell.gate).numel(),
    "length": lambda cell, h: h * len(cell.gate[cell.gate > 0]),
    "masked_select": lambda cell, h: h * cell.gate.masked_select(cell.gate > 0).shape[0],
    "rows up to a buffer": lambda cell, h: functional.linear(h, cell.bank[: cell.count]),
    "repeated": lambda cell, h: functional.linear(h, cell.bank[:1].repeat(cell.count, 1)),
    "numbers up to a buffer": lambda cell, h: h * torch.arange(cell.count).numel(),
    "chunks": lambda cell, h: functional.linear(h, sum(cell.bank.chunk(cell.count))),
    "repeat_interleave": lambda cell, h: h * cell.gate.repeat_interleave(cell.gate.long()).numel(),
    "strides": lambda cell, h: h * cell.bank.stride(0),
    "contiguous": lambda cell, h: h if cell.bank.is_contiguous() else -h,
}


@pytest.mark.parametrize("name", COUNTS)
def test_sizes_that_depend_on_values_are_not_traced(name):
    gate, bank = torch.ones(SIZE), nn.Parameter(torch.randn(SIZE, SIZE))
    cell = Summed(COUNTS[name], gate=gate, bank=bank, count=torch.tensor(SIZE))
    explanation = cell.explain(v_shape())
    assert explanation == ("levels", "it depends on the values of a tensor")
    assert_as_in_dgl(cell, v_shape(), torch.randn(3, SIZE))


CONSTANTS = {
    "a mask of numbers": lambda cell: cell.bank[torch.arange(SIZE + 2) > 1],
    "repeated": lambda cell: cell.bank[:2].repeat_interleave(torch.tensor([1, SIZE - 1]), 0),
    "numbers of a mask": lambda cell: cell.bank[torch.tensor([1] * SIZE).nonzero()[:, 0]],
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_sizes_that_depend_on_constants_are_traced(name):
    bank = nn.Parameter(torch.randn(SIZE + 2, SIZE))
    cell = Summed(lambda cell, h: functional.linear(h, CONSTANTS[name](cell)), bank=bank)
    assert cell.explain(v_shape()).way in ("compiled", "traced")
    assert_as_in_dgl(cell, v_shape(), torch.randn(3, SIZE))


def test_other_sizes_are_an_error():
    """Of functions that torch does not mark as depending on values."""
    mask = torch.eye(SIZE)
    cell = Summed(lambda cell, h: functional.linear(h, cell.mask.to_sparse(1).values()), mask=mask)
    assert cell.explain(v_shape()).way in ("compiled", "traced")
    feat = torch.randn(3, SIZE)
    assert_as_in_dgl(cell, v_shape(), feat)
    cell.mask[:, 2:] = 0
    with pytest.raises(PropagationError, match=r"got \(2, 6\) after \(6, 6\)"):
        cell(v_shape(), feat)


def test_rows_by_numbers_are_traced():
    order = torch.tensor([1, 0, 3, 2, 5, 4])
    cell = Summed(
        lambda cell, h: functional.linear(h, cell.bank[cell.order]),
        order=order,
        bank=nn.Parameter(torch.randn(SIZE, SIZE)),
    )
    assert cell.explain(v_shape()).way in ("compiled", "traced")
    feat = torch.randn(3, SIZE)
    for numbers in (order, order.flip(0)):
        cell.order = numbers
        assert_as_in_dgl(cell, v_shape(), feat)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.bool])
@pytest.mark.parametrize("of_cell", [torch.float32, torch.float64])
def test_a_buffer_of_another_dtype(of_cell, dtype):
    cell = Summed(lambda cell, h: h * cell.mask, mask=torch.ones(SIZE)).to(of_cell)
    feat = torch.randn(3, SIZE, dtype=of_cell)
    assert_as_in_dgl(cell, v_shape(), feat)
    cell.mask = torch.tensor([1, 0, 1, 1, 0, 1], dtype=dtype)
    assert_as_in_dgl(cell, v_shape(), feat)


INDICES = {
    "equal": lambda values, index: values * (index == 0),
    "not equal": lambda values, index: values * (index != 0),
    "as a number": lambda values, index: values * index,
    "converted": lambda values, index: values * index.to(values.dtype),
    "an attribute": lambda values, index: values * index.shape[-1],
    "as text": lambda values, index: values * len(f"{index}"),
    "its type": lambda values, index: values if isinstance(index, torch.Tensor) else -values,
}


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("extreme", ["max", "min"])
def test_indices_of_maxima_are_not_traced(extreme, name):
    class Chosen(Summed):
        def combine(self, children, x):
            values, index = getattr(children[0], extreme)(1)
            return (INDICES[name](values, index) + x,)

    cell = Chosen()
    assert cell.explain(v_shape()).way == "levels"
    assert_as_in_dgl(cell, v_shape(), torch.randn(3, SIZE))


INTEGERS = {
    "depth": lambda h: h.amax(1) + 1,
    "slots": lambda h: torch.maximum(h.amax(1), -h.amin(1)),
    "mask": lambda h: torch.where(h.sum(1) > 0, h.amax(1), 7),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_states_that_are_integers(name):
    class Counted(Summed):
        def combine(self, children, x):
            return (INTEGERS[name](children[0]),)

    feat = torch.arange(3 * SIZE).view(3, SIZE)
    of_leaves = feat[:2].unsqueeze(0)
    expected = torch.cat((feat[:2], INTEGERS[name](of_leaves)))
    assert torch.equal(Counted()(v_shape(), feat), expected)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.bool])
def test_functions_with_another_dtype_for_integers(dtype):
    class Mean(Summed):
        def combine(self, children, x):
            return (children[0].mean(1),)

    class Half(Summed):
        def combine(self, children, x):
            return (children[0].sum(1) / 2,)

    for kind in (Mean, Half):
        with pytest.raises(CellError, match="combine"):
            kind()(v_shape(), torch.ones(3, SIZE, dtype=dtype))


@needs_compiler
def test_data_that_shrink_before_the_backward_pass():
    graph, feat = v_shape(), torch.randn(3, SIZE)
    cell = Summed(lambda cell, h: cell.U(h), U=nn.Linear(SIZE, SIZE))
    h = cell(graph, feat)
    cell.U.weight.data = torch.zeros(1, 1)
    with pytest.raises(RuntimeError, match=r"expected a saved tensor of shape \(6, 6\)"):
        h.sum().backward()


INFINITE = {
    "relu": lambda h, x: torch.relu(h.sum(1)).sqrt(),
    "maximum": lambda h, x: torch.maximum(h.sum(1), x * 0 + 1).sqrt().log(),
    "minimum": lambda h, x: torch.minimum(-h.sum(1), x * 0 - 1).exp().log(),
    "max": lambda h, x: h.max(1).values.sqrt(),
    "division": lambda h, x: h.sum(1) / 1e-39,
}


@pytest.mark.parametrize("name", INFINITE)
def test_infinite_gradients_do_not_reach_what_was_not_chosen(name):
    class Of(Summed):
        def combine(self, children, x):
            return (INFINITE[name](children[0], x) + x,)

    cell = Of()
    assert cell.explain(v_shape()).way in ("compiled", "traced")
    feat = torch.zeros(3, SIZE)
    feat[1] = torch.tensor([-1.0, -1.0, 0.0, 1.0, 2.0, -0.5])
    found, expected = (results(cell, v_shape(), feat, engine=e) for e in ("auto", "dgl"))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, equal_nan=True)


@needs_compiler
@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_a_cell_that_is_converted_before_the_backward_pass(dtype):
    feat = torch.randn(3, SIZE, requires_grad=True)
    cell = Summed(lambda cell, h: cell.U(h), U=nn.Linear(SIZE, SIZE))
    h = cell(v_shape(), feat)
    cell.to(dtype)
    with pytest.raises(RuntimeError, match=f"expected a saved tensor .* got .* {dtype} on cpu"):
        h.sum().backward()
