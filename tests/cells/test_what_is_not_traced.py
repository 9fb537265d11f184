"""Code that a trace would get wrong is not traced, and tracing leaves no traces."""

from __future__ import annotations

import copy
import gc
import logging
import math
import random
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
import torch
from generated_cases import needs_compiler, results, tree
from torch import nn
from torch.nn import functional
from torch.utils import checkpoint
from traced_cell import SIZE, Cell, assert_same

from graphsent.cells import IndexedFeat
from graphsent.propagation.recurrence import modules

CACHE: dict[str, torch.Tensor] = {}
LAST = None
EXAMPLE = torch.ones(2, SIZE, dtype=torch.float64)


class Pair(NamedTuple):
    """Two tensors."""

    first: torch.Tensor
    second: torch.Tensor


def in_place(name: str, *args):
    def of(self, h):
        weight = self.q * 2
        getattr(weight, name)(*args)
        return functional.linear(h, weight)

    return of


def of_a_view(self, h):
    part = h[:, :2]
    part *= 2
    return h


def of_what_has_a_view(self, h):
    part = h[:, :2]
    h += 1
    return h + torch.cat([part, part], 1)


def of_what_has_a_view_of_a_view(self, h):
    part = h.unsqueeze(0).squeeze(0).to(h.dtype)
    part.mul_(2)
    return h


def of_what_shares_memory(self, h):
    part = h.detach()
    part += 1
    return h + part


def other_data(self, h):
    h.data = self.q[0].expand_as(h)
    return h


def seeded_generator(self, h):
    return h * torch.rand(SIZE, generator=torch.Generator().manual_seed(0)).to(self.p)


def seeded(self, h):
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(0)
        return h * torch.rand_like(self.q)[0]


def an_operator(function):
    def of(self, h):
        try:
            return function(h)
        except TypeError:
            return -h

    return of


def caught(self, h):
    try:
        return h.cumsum(-1)
    except Exception:
        return -h


def caught_type_error(self, h):
    try:
        return torch.stack([h, h]).sum(0, dtype=h.dtype)
    except TypeError:
        return -h


def caught_any(self, h):
    try:
        return h.cumsum(-1)
    except:  # noqa: E722
        return -h


NOT_TRACED = {
    "sums of conditions": lambda self, h: ((h > 0) + (h > -1)) * h,
    "functions of conditions": lambda self, h: torch.sigmoid(h > 0) * h,
    "choice of numbers": lambda self, h: torch.where(h > 0, 0.1, 0.2) * h,
    "numbers of another type": lambda self, h: h * torch.tensor([0.1, 0.2, 0.3, 0.4]),
    "whole numbers": lambda self, h: h * torch.arange(SIZE),
    "softmax of another type": lambda self, h: torch.softmax(h, 1, torch.float32),
    "the number in a buffer": lambda self, h: h * self.b.item(),
    "the number in a parameter": lambda self, h: h * float(self.p.detach()),
    "the numbers in a parameter": lambda self, h: h * self.q.tolist()[0][0],
    "a condition on a buffer": lambda self, h: h if self.b > 0 else -h,
    "diagonal": in_place("fill_diagonal_", 0),
    "item": in_place("__setitem__", 0, 0),
    "sum in place": in_place("__iadd__", 1),
    "a result in given memory": lambda self, h: (
        h * torch.mul(self.b, 3, out=torch.empty_like(self.b))
    ),
    "as text": lambda self, h: (f"{h}", h)[1],
    "a copy": lambda self, h: copy.copy(h) * 2,
    "a view": of_a_view,
    "a tensor with a view": of_what_has_a_view,
    "a view of a view": of_what_has_a_view_of_a_view,
    "a tensor without gradient": of_what_shares_memory,
    "a transposition in place": lambda self, h: (h * 2).t_().t_(),
    "other data": other_data,
    "an entry": lambda self, h: (h.__setitem__((slice(None), 0), 0), h)[1],
    "an error that it catches": caught,
    "a type error that it catches": caught_type_error,
    "any error": caught_any,
    "a choice of conditions": lambda self, h: torch.where(h > 0, h < 1, h),
    "parameters in a named tuple": lambda self, h: h * torch.stack(Pair(self.p, self.b)).sum(),
    "a choice by numbers": lambda self, h: h.where((h * 2).bool(), -h),
    "the type of a shape": lambda self, h: h if isinstance(h.shape, torch.Size) else -h,
    "elements": lambda self, h: h * h.shape[1:].numel(),
    "the type of a size": lambda self, h: h if isinstance(h.shape[0], int) else -h,
    "device": lambda self, h: h if h.is_cuda else -h,
    "numbers of a seeded generator": seeded_generator,
    "numbers from a seed": seeded,
    "a clamp between tensors": lambda self, h: torch.clamp(h, self.p, self.p + 1),
    "a norm over several dimensions": lambda self, h: functional.layer_norm(
        h.unflatten(-1, (2, -1)), (2, SIZE // 2)
    ).flatten(1),
    "indices in a tensor": lambda self, h: h + h[:, torch.tensor([2, 0])].sum(1, keepdim=True),
    "a mask": lambda self, h: h + h[:, [True, False, True, True]].sum(1, keepdim=True),
    "a number as maximum": an_operator(lambda h: h.maximum(0.5)),
    "a remainder": an_operator(lambda h: h % 1),
    "a variance over everything": lambda self, h: h * torch.stack([h, 2 * h], 1).var(True),
    "any of a dimension": lambda self, h: h * h.gt(0).any(1, keepdim=True),
    "type": lambda self, h: -h if isinstance(h, torch.Tensor) else h,
    "exact type": lambda self, h: -h if type(h) is torch.Tensor else h,
}


@pytest.mark.parametrize("name", NOT_TRACED)
def test_code_that_is_not_traced(name):
    cell = type("Mine", (Cell,), {"of": NOT_TRACED[name]})()
    assert cell.explain(tree(20, 3)).way == "levels"
    assert_same(cell)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("zeros", lambda h: torch.zeros(h.shape[0], SIZE, dtype=h.dtype)),
        ("ones", lambda h: torch.ones((h.shape[0], SIZE), dtype=h.dtype)),
        ("full", lambda h: torch.full((h.size(0), SIZE), 0.5, dtype=h.dtype)),
        ("expand", lambda h: torch.ones(SIZE, dtype=h.dtype).expand(h.shape[0], -1)),
        ("repeat", lambda h: torch.ones(SIZE, dtype=h.dtype).repeat(h.shape[0], 1)),
    ],
)
def test_a_tensor_for_all_nodes_that_torch_makes_alone(name, made):
    cell = type("Mine", (Cell,), {"of": lambda self, h: h + made(h)})()
    way, reason = cell.explain(tree(20, 3))[:2]
    assert way == "levels"
    assert reason.endswith(
        "of nodes: broadcasting, h.reshape and x.new_zeros(x.shape[0], n) can be traced"
    )
    assert_same(cell)


PREDECESSORS = {
    "the first": lambda h: h[:, 0],
    "at most some": lambda h: h[:, :100].sum(1),
    "groups": lambda h: h.split(100, 1)[0].sum(1),
    "as columns": lambda h: h.flatten(1)[:, :SIZE],
    "as rows": lambda h: h.view(-1, SIZE)[: h.shape[0]],
    "by a list": lambda h: h[:, [0]].sum(1),
    "exchanged with columns": lambda h: h.reshape(h.shape[0], SIZE, -1).sum(2),
    "in the shape of others": lambda h: h.view_as(h.mT).sum(2),
    "repeated": lambda h: h.repeat(1, 2, 1).sum(1),
    "repeated one by one": lambda h: h.repeat_interleave(2, 1).sum(1),
    "differences": lambda h: ((h.unsqueeze(2) - h.unsqueeze(1)).tanh().sum(2) * h).sum(1),
    "attention": lambda h: ((h[:, :, None] * h[:, None]).softmax(2).sum(2) * h).sum(1),
    "the largest of pairs": lambda h: (h[:, :, None] * h[:, None]).amax(1).mul(h).sum(1),
}


@pytest.mark.parametrize("name", PREDECESSORS)
def test_combine_that_tells_predecessors_apart(name):
    def combine(self, children, x):
        return (torch.tanh(x + PREDECESSORS[name](children[0])),)

    cell = type("Mine", (Cell,), {"combine": combine})()
    assert cell.explain(tree(20, 3)).way == "levels"
    assert_same(cell)


MOVED = {
    "names of arguments": lambda h: torch.stack([h, 2 * h], 1).select(dim=1, index=1),
    "transposed": lambda h: torch.stack([h, 2 * h], 2).transpose(1, 2).flatten(1)[:, 2:6],
    "nodes last": lambda h: (h.transpose(0, 1) * 2).permute(1, 0),
    "other names": lambda h: torch.concatenate([h.swapdims(0, 1).moveaxis(0, 1), h], 1)[:, 2:6],
    "a sign": lambda h: +h + torch.positive(2 * h),
    "axis": lambda h: torch.stack([h, h.sigmoid()], 1).mean(axis=1),
    "nodes in between": lambda h: torch.stack([h, h.sigmoid()]).sum(0),
    "zeros": lambda h: h.new_zeros(h.shape[0], 2, SIZE).sum(1) + h.new_zeros((SIZE,)) + h,
    "to its device": lambda h: h.to(h.device).to(h.device.type).type_as(h) * 2,
    "to its type": lambda h: h.type(h.dtype) * (h > 0).type(h.dtype),
    "ones": lambda h: h.new_ones(h.shape[0], SIZE) * h + torch.ones_like(h).sum(1, True),
    "of a type": lambda h: h.new_ones(h.shape[0], 1, dtype=h.dtype, device=h.device) * h,
    "by names": lambda h: (
        torch.full_like(input=h, fill_value=2) * torch.tanh(input=h)
        + torch.add(input=h.new_ones(size=h.shape), other=h.maximum(other=-h), alpha=0.5)
    ),
    "numbers of numbers": lambda h: (1 - 0.5 * torch.ones_like(h)) ** 2 * h,
    "infinite": lambda h: torch.where(h > -9, h, torch.full_like(h, -torch.inf)),
    "method of a choice": lambda h: h.where(h > 0, 0.5 * h).where(h < 1, 0.0),
    "nothing times infinity": lambda h: torch.where(h > 0, h / (0 * h) * 0, h),
    "of its own shape": lambda h: (
        h.view(h.shape) + h.reshape(h.size()) * h.ndim + h.expand(*h.shape)
    ),
    "no numbers": lambda h: torch.where(h > -9, h, torch.full_like(h, torch.nan)),
    "iterated": lambda h: sum(torch.stack([h, 2 * h])),
    "no attribute": lambda h: h if hasattr(h, "weights") else 2 * h,
    "type of a comparison": lambda h: h.where(h > 0, 0.0) if (h > 0).dtype is torch.bool else h,
    "full": lambda h: h.new_full((h.shape[0], SIZE), 0.5) * h + torch.full_like(h, 2),
    "halves": lambda h: torch.cat(h.unflatten(1, (2, -1)).unbind(1)[::-1], 1),
    "expanded": lambda h: h[:, :1].expand(-1, SIZE) + h[..., None, :].expand(-1, 3, -1).sum(-2),
    "of the shape of another": lambda h: h.reshape(-1, 2, 2).view_as(h) + h[:, :1].expand_as(h),
    "repeated": lambda h: (
        h.repeat(1, 2)[:, 2:6] + torch.tile(h, (2,))[:, 1:5] + h.repeat_interleave(2, 1)[:, 1:5]
    ),
    "comparisons": lambda h: (
        h.unsqueeze(1).masked_fill((h > 0).unsqueeze(1), 0.5).squeeze(1)
        + torch.where((h < 0)[:, [1, 0, 3, 2]], h, -h) * (h > 0)[:, :1].expand_as(h)
    ),
    "padded": lambda h: (
        functional.pad(h, (1, -1)) + functional.pad(h[:, None, :2], (0, 2, 1, 0), value=0.5).sum(1)
    ),
    "pieces": lambda h: torch.cat([h.narrow(1, 2, 2), *h.split([1, 3], 1)[:1], h[:, -1:]], -1),
}


TRACED = {
    "a power": lambda self, h: torch.pow(torch.exp(h), self.p),
    "a power of a number": lambda self, h: 2**h,
    "a weight times a number": lambda self, h: self.V(torch.ones_like(h)) * h,
    "a weight times a parameter": lambda self, h: self.V(self.p.expand(SIZE).expand_as(h)) * h,
    "a sum with a parameter": lambda self, h: (
        h * torch.cat([h, self.p.expand(SIZE).expand_as(h), h], 1).sum(1, keepdim=True)
    ),
}


@pytest.mark.parametrize("name", TRACED)
def test_what_is_traced(name):
    cell = type("Mine", (Cell,), {"of": TRACED[name]})()
    assert cell.explain(tree(20, 3)).way != "levels"
    assert_same(cell)


@pytest.mark.parametrize("name", MOVED)
def test_columns_that_are_moved(name):
    cell = type("Mine", (Cell,), {"of": lambda self, h: MOVED[name](h)})()
    way, reason = cell.explain(tree(20, 3))[:2]
    assert way == "compiled" or (way == "traced" and "error" not in reason)
    assert_same(cell)


@pytest.mark.parametrize(
    "key",
    [
        *(lambda size: size, str, repr, lambda size: f"{size}", lambda size: str((size,))[1:-2]),
        *(lambda size: size > 2, lambda size: size <= 2, lambda size: size != 1),
        *(round, lambda size: size & 7, lambda size: divmod(size, 8)[1], lambda size: 8 // size),
    ],
)
def test_numbers_of_predecessors_as_keys(key):
    def of(size):
        try:
            return key(size)
        except TypeError:
            return None

    class Mine(Cell):
        def combine(self, children, x):
            factor = {1: 2.0, "1": 3.0}.get(of(children[0].shape[1]), 1.0)
            return (torch.tanh(x + factor * children[0].sum(1)),)

    assert_same(Mine())


@pytest.mark.parametrize("draw", [random.random, np.random.rand, lambda: float(torch.rand(()))])
def test_tracing_leaves_buffers_and_random_numbers_as_they_were(draw):
    def of(self, h):
        self.b = self.b * 2
        return h * draw()

    cell, states = type("Mine", (Cell,), {"of": of})(), modules._random_states()
    assert cell.explain(tree(20, 3)).reason.startswith("it changes attributes")
    assert float(cell.b) == 2
    assert modules._random_states() == states


@pytest.mark.skipif(torch.__version__ < "2.5", reason="needs torch 2.5")
def test_modes_of_the_caller_do_not_see_it():
    """Selective checkpoints repeat the operations of a run, to whose results they add no trace."""
    methods = {"of": lambda self, h: h, "project": lambda self, feat: self.W(feat).cumsum(1)}
    cell = type("Mine", (Cell,), methods)()
    graph, feat = tree(20, 3), torch.randn(20, 3, dtype=torch.float64)
    feat.requires_grad_()
    (expected,) = torch.autograd.grad(cell(graph, feat, engine="dgl").square().sum(), feat)
    saved = [torch.ops.aten.addmm.default]
    policy = partial(checkpoint.create_selective_checkpoint_contexts, saved)
    h = checkpoint.checkpoint(  # its first run
        cell, graph, feat, use_reentrant=False, context_fn=policy
    )
    (found,) = torch.autograd.grad(h.square().sum(), feat)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


def test_random_numbers_that_another_thread_draws(monkeypatch):
    """They are not those of the cell, and are not drawn twice."""
    trace, drawn = modules._trace, []

    def trace_meanwhile(*arguments):
        if not drawn:
            drawn.append(float(torch.rand(())))
        return trace(*arguments)

    monkeypatch.setattr(modules, "_trace", trace_meanwhile)
    cell = type("Mine", (Cell,), {"of": lambda self, h: h})()
    torch.manual_seed(3)
    expected = torch.rand(2).tolist()
    torch.manual_seed(3)
    assert cell.explain(tree(20, 3)).way != "levels"
    assert [*drawn, float(torch.rand(()))] == pytest.approx(expected)


@pytest.mark.parametrize("function", [lambda h: torch.tanh(h), lambda h: h.tanh()])
def test_another_thread_that_computes(function):
    def of(self, h):
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(function, h).result()

    cell = type("Mine", (Cell,), {"of": of})()
    assert cell.explain(tree(20, 3)).reason == "it calls tanh outside the traced function"
    assert_same(cell)


def test_random_numbers_of_python():
    cell = type("Mine", (Cell,), {"of": lambda self, h: h * random.random()})()
    assert cell.explain(tree(20, 3)).reason == "it draws random numbers"


@pytest.mark.parametrize(
    ("generator", "drawn"),
    [
        (random.Random(0), lambda generator: generator.random()),
        (np.random.default_rng(0), lambda generator: generator.random()),
        (np.random.RandomState(0), lambda generator: generator.rand()),
        (torch.Generator(), lambda generator: torch.rand(1, generator=generator).double()),
    ],
    ids=["python", "numpy", "old numpy", "torch"],
)
def test_random_numbers_of_a_generator(generator, drawn):
    cell = type("Mine", (Cell,), {"of": lambda self, h: h * drawn(self.generator)})()
    cell.generator = generator
    graph, feat = tree(20, 3), torch.randn(20, 3, dtype=torch.float64)
    for _ in range(2):
        assert "random" in cell.explain(graph).reason
    assert not torch.equal(cell(graph, feat), cell(graph, feat))


def test_what_only_init_calls_does_not_matter():
    class Mine(Cell):
        def __init__(self):
            super().__init__()
            self.name, self.scale = type(self).__name__, np.random.default_rng(0).random()
            self.of = torch.tanh

    assert Mine().explain(tree(20, 3)).way in ("compiled", "traced")


@pytest.mark.parametrize("generator", [random.Random(0), np.random.default_rng(0)])
def test_random_numbers_of_a_function_that_is_an_attribute(generator):
    cell = type("Mine", (Cell,), {"of": lambda self, h: h * self.draw()})()
    cell.draw = generator.random
    graph, feat = tree(20, 3), torch.randn(20, 3, dtype=torch.float64)
    assert "random" in cell.explain(graph).reason
    assert not torch.equal(cell(graph, feat), cell(graph, feat))


def test_a_list_that_grows_with_every_call():
    def of(self, h):
        self.seen.append(h)
        return h * len(self.seen)

    cell = type("Mine", (Cell,), {"of": of})()
    cell.seen = []
    assert "it changes" in cell.explain(tree(20, 3)).reason
    assert not cell.seen  # nothing that stands for a tensor
    cell(tree(20, 3), torch.randn(20, 3, dtype=torch.float64))
    assert all(type(h) is torch.Tensor for h in cell.seen)


def of_lazy(self, h):
    if not hasattr(self, "lazy"):
        self.lazy = 2.0
    return h * self.lazy


@pytest.mark.parametrize(
    "attributes",
    [
        {"factor": cached_property(lambda self: 1 / SIZE), "of": lambda self, h: h * self.factor},
        {"of": of_lazy},
    ],
)
def test_a_number_that_the_first_run_caches(attributes):
    cell = type("Mine", (Cell,), attributes)()
    graph = tree(20, 3)
    assert cell.explain(graph).reason == modules._CHANGES
    assert_same(cell)
    cell(graph, torch.randn(20, 3, dtype=torch.float64))
    assert cell.explain(graph).way != "levels"
    assert_same(cell)


def test_a_counter_is_traced_twice(monkeypatch):
    def of(self, h):
        self.count += 1
        return h * self.count

    traces = []
    trace = modules._traced
    monkeypatch.setattr(modules, "_traced", lambda *args: traces.append(args) or trace(*args))
    cell = type("Mine", (Cell,), {"of": of})()
    cell.count = 0
    for _ in range(4):
        assert cell.explain(tree(20, 3)).reason == modules._CHANGES
        cell(tree(20, 3), torch.randn(20, 3, dtype=torch.float64))
    assert len(traces) == 2


def of_cache(cache):
    def of(self, h):
        known = cache(self)
        if "ones" not in known:
            known["ones"] = h.new_ones(1, SIZE)
        return h * known["ones"]

    return of


def of_last(self, h):
    global LAST
    LAST = h.shape, h
    return h


KEEPS = {
    "an attribute": of_cache(lambda cell: cell.cache),
    "an object": of_cache(lambda cell: vars(cell.options)),
    "a global variable": of_cache(lambda cell: CACHE),
    "the last": of_last,
    "a set": lambda self, h: (self.kept.add(h), h)[1],
}


@pytest.mark.parametrize("name", KEEPS)
def test_tensors_that_a_cell_keeps(name):
    """What stands for a tensor during tracing does not stay in the variables of the cell."""
    cell = type("Mine", (Cell,), {"of": KEEPS[name]})()
    cell.options = SimpleNamespace()
    cell.cache, cell.kept = {}, set()
    cell.options.itself = cell.options
    assert "it changes" in cell.explain(tree(20, 3)).reason
    assert_same(cell)


def test_a_projection_that_counts_its_calls():
    def project(self, feat):
        self.seen.append(feat)
        self.b.add_(1)
        return functional.layer_norm(self.W(feat), (SIZE,))

    cell = type("Mine", (Cell,), {"project": project, "of": lambda self, h: h})()
    cell.seen = []
    cell.explain(tree(20, 3))
    assert (float(cell.b), cell.seen) == (2, [])


PROJECTIONS = {
    "dropout": lambda self, feat: functional.dropout(self.W(feat), 0.5),
    "noise": lambda self, feat: self.W(feat) + torch.rand(SIZE).to(feat),
    "a choice": lambda self, feat: self.W(feat) if random.random() < 0.5 else 2 * self.W(feat),
}


@pytest.mark.parametrize("name", PROJECTIONS)
def test_a_projection_that_draws_random_numbers(name):
    """It is called in each run, traced or not; the trace leaves the generators as they were."""
    graph, feat = tree(20, 3), torch.randn(20, 3, dtype=torch.float64)
    cell = type("Mine", (Cell,), {"project": PROJECTIONS[name], "of": lambda self, h: h})()
    other = copy.deepcopy(cell)
    other.register_forward_hook(lambda *_: None)  # so that it is not traced
    found = []
    for each, ways in ((cell, ("compiled", "traced")), (other, ("levels",))):
        random.seed(0)
        torch.manual_seed(0)
        assert each.explain(graph).way in ways
        found.append(torch.stack([each(graph, feat) for _ in range(9)]))
    torch.testing.assert_close(*found, rtol=1e-10, atol=1e-10)
    assert len(found[0].unique(dim=0)) > 1


@pytest.mark.parametrize(
    ("mode", "of"),
    [
        (torch.no_grad, lambda self, h: h * (1 + torch.is_grad_enabled())),
        (torch.inference_mode, lambda self, h: h * (1 + torch.is_inference_mode_enabled())),
    ],
)
def test_a_cell_that_asks_for_the_mode(mode, of):
    cell = type("Mine", (Cell,), {"of": of})()
    graph, feat = tree(20, 3), torch.randn(20, 3, dtype=torch.float64)
    assert cell.explain(graph).reason == "it asks whether gradients or autocast are enabled"
    with mode():
        expected = cell(graph, feat, engine="dgl")
        torch.testing.assert_close(cell(graph, feat), expected)


@pytest.mark.parametrize("shared", [False, True])
def test_a_start_that_changes_its_input(shared):
    """It changes neither the caller's rows nor the inputs of other nodes."""

    class Mine(Cell):
        project = lambda self, feat: feat  # noqa: E731
        start = lambda self, x: (x.tanh_(),)  # noqa: E731

        def combine(self, children, x):
            return (torch.tanh(children[0].sum(1).mul_(2) + x.mul_(3)),)

    cell, graph = Mine(), tree(20, 3)
    cell.hidden_feats = 3
    rows = torch.randn(20, 3, dtype=torch.float64)
    before, index = rows.clone(), torch.arange(20)
    feat = IndexedFeat(rows, index % 5 if shared else index)
    expected = results(cell, graph, feat, engine="dgl")
    for one, other in zip(results(cell, graph, feat), expected, strict=True):
        torch.testing.assert_close(one, other)
    with torch.no_grad():
        cell(graph, feat)
        cell(tree(1, 1), feat._replace(index=index[:1]))
    assert torch.equal(rows, before)


def test_leaves_with_equal_inputs_draw_random_numbers_of_their_own():
    class Mine(Cell):
        start = lambda self, x: (x + torch.rand_like(x),)  # noqa: E731
        of = lambda self, h: h  # noqa: E731

    cell, graph = Mine(), tree(20, 3)
    feat = IndexedFeat(torch.randn(1, 3, dtype=torch.float64), torch.zeros(20, dtype=torch.int64))
    leaves = cell(graph, feat)[graph.in_degrees() == 0]
    assert len(leaves.unique(dim=0)) == len(leaves) > 1


def test_threads_and_a_cell_that_sets_attributes():
    def of(self, h):
        self.last = h
        return torch.tanh(h)

    cell = type("Mine", (Cell,), {"of": of})()
    graph, feat = tree(20, 3), torch.randn(20, 3, dtype=torch.float64)
    expected, found = cell(graph, feat, engine="dgl"), []

    def call():
        for _ in range(30):
            found.append(cell(graph, feat))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 120
    for one in found:
        torch.testing.assert_close(one, expected)


def test_a_submodule_in_evaluation_mode():
    def of(self, h):
        return self.f(h) * (2 if self.f.training else 1)

    cell = type("Mine", (Cell,), {"of": of})()
    cell.f = nn.Linear(SIZE, SIZE).double()
    assert_same(cell)
    cell.f.eval()
    assert_same(cell)


@pytest.mark.parametrize("made", [torch.jit.script, lambda m: torch.jit.trace(m, EXAMPLE)])
@pytest.mark.filterwarnings("ignore:.torch.jit")
def test_a_submodule_of_torchscript(made):
    cell = type("Mine", (Cell,), {"of": lambda self, h: self.f(h)})()
    cell.f = made(nn.Linear(SIZE, SIZE).double())
    graph, feat = tree(20, 3), torch.randn(20, 3, dtype=torch.float64)
    assert cell.explain(graph).way == "levels"
    torch.testing.assert_close(cell(graph, feat), cell(graph, feat, engine="dgl"))


@needs_compiler
def test_parameters_that_are_initialized_by_the_first_call():
    cell = type("Mine", (Cell,), {"of": lambda self, h: self.lazy(h)})()
    cell.lazy, graph = nn.LazyLinear(SIZE).double(), tree(20, 3)
    assert cell.explain(graph) == ("levels", "parameters are not initialized yet")
    cell(graph, torch.randn(20, 3, dtype=torch.float64))
    assert cell.explain(graph).way == "compiled"
    assert_same(cell)


def test_a_function_of_the_cell_does_not_keep_it():
    cell, graph = type("Mine", (Cell,), {"of": lambda self, h: self.f(h)})(), tree(20, 3)
    vars(cell)["f"] = (lambda kept: lambda h: kept.U(h))(cell)
    cell(graph, torch.randn(20, 3, dtype=torch.float64))
    known = weakref.ref(cell)
    del cell
    gc.collect()
    assert known() is None


def test_threads_that_trace_one_cell():
    cell = type("Mine", (Cell,), {"of": lambda self, h: torch.tanh(h) * 5})()
    graph, feat = tree(20, 3), torch.randn(20, 3, dtype=torch.float64)
    found = []
    threads = [threading.Thread(target=lambda: found.append(cell(graph, feat))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    for one in found:
        torch.testing.assert_close(one, cell(graph, feat, engine="dgl"))


def everything():
    """An object that refers to more than can be watched."""
    return SimpleNamespace(parts=[[[0] * 100 for _ in range(100)] for _ in range(2)])


def assert_same_here(cell):
    """As assert_same, for cells that cannot be copied."""
    graph, feat = tree(20, 3), torch.randn(20, 3, dtype=torch.float64)
    expected = cell(graph, feat, engine="dgl")
    torch.testing.assert_close(cell(graph, feat), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("held", [np, torch, nn, functional, sys, math, logging.getLogger("a")])
def test_a_module_or_logger_as_an_attribute_changes_nothing(held):
    cell = Cell()
    cell.of, cell.held = torch.tanh, held
    assert_same_here(cell)
    assert cell.explain(tree(20, 3)).way in ("compiled", "traced")


@pytest.mark.parametrize(
    "of",
    [lambda h: h * sys.modules["math"].e, lambda h: h * torch.classes.__name__.count("c")],
)
def test_functions_that_read_what_refers_to_everything(of):
    cell = Cell()
    cell.of = of
    assert_same(cell)


def pairs(depth):
    """Objects that refer to two others each, down to some depth."""
    return SimpleNamespace(**{name: pairs(depth - 1) for name in "ab" if depth})


class Unhashed(type):
    """A class of classes that are no keys of dictionaries."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(cls, other):
        return cls is other


def of_nothing():
    """A proxy of an object that is gone."""
    return weakref.proxy(Cell())


def released():
    """A view of memory that may not be read any more."""
    view = memoryview(b"a")
    view.release()
    return view


@pytest.mark.parametrize("made", [of_nothing, released, Unhashed("Odd", (), {})])
def test_an_object_that_cannot_be_looked_at(made):
    cell = Cell()
    cell.of, cell.held = torch.tanh, [made()]  # torch looks at attributes themselves
    assert_same_here(cell)
    assert cell.explain(tree(20, 3)).reason.startswith("what it refers to cannot be watched: ")
    cell.held = None
    assert cell.explain(tree(20, 3)).way in ("compiled", "traced")


TOO_MUCH = {
    "parts": everything(),
    "parts far within": [[[[[[everything()]]]]]],
    "objects": pairs(12),
    "large array": np.zeros(1_500_000),
    "long list": [[number] for number in range(12_000)],
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_a_cell_that_refers_to_too_much_runs_level_by_level(name):
    cell = Cell()
    cell.of, cell.held = torch.tanh, TOO_MUCH[name]
    assert_same(cell)
    assert cell.explain(tree(20, 3)).reason == modules._TOO_MANY
    cell.held = None  # it is not looked at again
    assert cell.explain(tree(20, 3)).reason == modules._TOO_MANY
    other = Cell()
    other.of = torch.tanh
    assert other.explain(tree(20, 3)).way in ("compiled", "traced")


def test_what_is_in_a_long_container_is_restored():
    cell = Cell()
    cell.seen = {number: [] for number in range(1500)}
    cell.of = lambda h: (cell.seen[3].append(h), h)[1]
    cell(tree(20, 3), torch.randn(20, 3, dtype=torch.float64))
    assert cell.explain(tree(20, 3)).reason == modules._CHANGES
    assert {*map(type, cell.seen[3])} == {torch.Tensor}


def test_the_number_of_predecessors_is_named():
    cell = Cell()
    cell.combine = lambda children, x: (x + cell.U(children[0].sum(1) / children[0].shape[1]),)
    assert_same_here(cell)
    reason = "it computes with the number of predecessors: mean(1) and torch.ones_like(h).sum(1) "
    assert cell.explain(tree(20, 3)).reason == reason + "can be traced"
