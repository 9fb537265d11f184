"""What a cell reads, and cannot be watched or compiled, makes it run level by level."""

from __future__ import annotations

import os
import random
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from generated_cases import needs_compiler, tree
from traced_cell import Cell, assert_same

from graphsent.cells import TreeCell
from graphsent.propagation.backends.c import library
from graphsent.propagation.recurrence import recurrence


@pytest.mark.parametrize(
    ("of", "reason"),
    [
        (lambda self, h: h * np.random.default_rng(0).normal(), "it draws random numbers"),
        (lambda self, h: h * random.SystemRandom().random(), "it draws random numbers"),
        (lambda self, h: h * len(os.urandom(2)), "it draws random numbers"),
        (lambda self, h: h * torch.initial_seed(), "it asks for a setting of torch"),
        (lambda self, h: h * torch.is_anomaly_enabled(), "it asks for a setting of torch"),
    ],
)
def test_functions_whose_results_cannot_be_watched(of, reason):
    assert type("Mine", (Cell,), {"of": of})().explain(tree(20, 3)).reason == reason


@pytest.mark.parametrize("without_compiler", [False, True])
def test_equations_that_are_too_long(without_compiler, monkeypatch):
    if without_compiler:
        monkeypatch.setenv("GRAPHSENT_KERNELS", "0")
    cell = type("Mine", (Cell,), {"of": lambda self, h: (h[:, :, None] * h[:, None]).sum(2) * h})()
    assert cell.explain(tree(20, 3)).way != "levels"
    monkeypatch.setattr(library, "_LONGEST", 1000)
    cell = type("Other", (Cell,), {"of": type(cell).of})()
    assert cell.explain(tree(20, 3)) == ("levels", library.TOO_LONG)
    assert_same(cell)


@needs_compiler
def test_a_compiler_that_takes_too_long(monkeypatch):
    def build(*_):
        raise TimeoutError("gcc took more than 60 s")

    monkeypatch.setattr(library, "build", build)
    cell = type("Mine", (Cell,), {"of": lambda self, h: h * 1.2345})()
    assert cell.explain(tree(20, 3)) == ("levels", library.TOO_LONG)
    assert_same(cell)


class InDoublePrecision(TreeCell):
    """A cell whose projection has another dtype than its inputs."""

    state_names = ("h",)

    def project(self, feat):
        return feat.double()

    def start(self, x):
        return (x,)

    def combine(self, children, x):
        return (children[0].sum(1) + x,)


def test_a_projection_in_another_dtype():
    cell, graph, feat = InDoublePrecision(3, 3), tree(20, 3), torch.randn(20, 3)
    torch.testing.assert_close(cell(graph, feat), cell(graph, feat, engine="dgl"))


class Doubled(torch.Tensor):
    """A tensor that is twice as large as its memory says."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        plain = [2 * a.as_subclass(torch.Tensor) if isinstance(a, cls) else a for a in args]
        return function(*plain, **(kwargs or {}))


@pytest.mark.parametrize("of_what", ["parameter", "input"])
def test_tensors_that_compute_in_their_own_way(of_what):
    cell = type("Mine", (Cell,), {"of": lambda self, h: self.p * h})()
    graph, feat = tree(20, 3), torch.randn(20, 3, dtype=torch.float64)
    plain = cell(graph, feat)
    if of_what == "parameter":
        del cell.p
        cell.register_buffer("p", torch.ones((), dtype=torch.float64).as_subclass(Doubled))
        assert "derived from Tensor" in cell.explain(graph).reason
    else:
        feat = (feat / 2).as_subclass(Doubled)
    torch.testing.assert_close(cell(graph, feat), plain, rtol=1e-10, atol=1e-10)


def test_initial_states_of_a_class_of_their_own():
    class Kept(torch.Tensor):
        pass

    cell = type("Mine", (Cell,), {"of": lambda self, h: h})()
    graph, feat = tree(20, 3), torch.randn(20, 3, dtype=torch.float64)
    state = torch.randn(20, cell.hidden_feats, dtype=torch.float64)
    h = cell(graph, feat, state.as_subclass(Kept))
    assert type(h) is Kept
    torch.testing.assert_close(h.as_subclass(torch.Tensor), cell(graph, feat, state))


def test_parameters_of_two_dtypes():
    cell = type("Mine", (Cell,), {"of": lambda self, h: h * self.scale.to(h.dtype)})()
    cell.scale = torch.nn.Parameter(torch.tensor(1.5))
    assert cell.explain(tree(20, 3)).reason.startswith("parameters have different dtypes, or are")
    assert_same(cell)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
def test_sparse_weights():
    cell = type("Mine", (Cell,), {"of": lambda self, h: h})()
    for part in (cell.W, cell.U):
        weight = part.weight.detach() * (part.weight > 0)
        part.weight = torch.nn.Parameter(weight.to_sparse_csr(), requires_grad=False)
    graph, feat = tree(20, 3), torch.randn(20, 3, dtype=torch.float64)
    assert "sparse" in cell.explain(graph).reason
    torch.testing.assert_close(cell(graph, feat), cell(graph, feat, engine="dgl"))


def test_a_long_chain_of_objects():
    cell = type("Mine", (Cell,), {"of": lambda self, h: h})()
    cell.last = SimpleNamespace()
    for _ in range(1500):
        cell.last = SimpleNamespace(before=cell.last)
    graph, feat = tree(20, 3), torch.randn(20, 3, dtype=torch.float64)
    assert "too many objects" in cell.explain(graph).reason
    torch.testing.assert_close(cell(graph, feat), cell(graph, feat, engine="dgl"))


def test_a_large_array():
    cell = type("Mine", (Cell,), {"of": lambda self, h: float(self.rows[0, 0]) * h})()
    cell.rows = np.ones((20_000, 100))  # comparing it would take longer than most calls
    assert "arrays that are too large" in cell.explain(tree(20, 3)).reason
    assert_same(cell)
    cell.rows[:] = 3.0
    assert_same(cell)


@needs_compiler
def test_an_attribute_that_changes_in_every_step(monkeypatch):
    monkeypatch.setattr(recurrence, "_MOST_COMPILED", 2)
    cell = type("Mine", (Cell,), {"of": lambda self, h: self.factor * h, "factor": 1.0})()
    graph, ways = tree(20, 3), []
    for cell.factor in (1.0, 2.0, 3.0, 4.0, 1.0):
        ways.append(cell.explain(graph).way)
        assert_same(cell)
    assert ways == ["compiled", "compiled", "traced", "traced", "compiled"]
    cell.factor = 5.0
    assert "its equations have changed more than" in cell.explain(graph).reason
