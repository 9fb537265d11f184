"""Generated CUDA: on a GPU if there is one, and on the CPU, where the compiler of C builds it."""

from __future__ import annotations

import copy
import itertools
import weakref

import pytest
import torch
from generated_cases import (
    CELLS,
    HIDDEN_FEATS,
    IN_FEATS,
    build,
    each_cell,
    graphs_for,
    needs_compiler,
    results,
    shared,
    tree,
)
from on_gpu import gpu_does_not_wait, needs_gpu
from simulated_gpu import SimulatedModule
from test_functions_of_torch import OTHERS, POINTWISE, SIZE, OfAnyChildren, OfSlots
from test_random_cells import NUM_CHILDREN, random_cell

from graphsent._dgl import dgl
from graphsent.cells import IndexedFeat, SlottedCell
from graphsent.kernels.library import SWITCH
from graphsent.propagation import found
from graphsent.propagation.backends.cuda.library import CudaLibrary
from graphsent.propagation.backends.cuda.source import program_of
from graphsent.propagation.recurrence.modules import recurrence_of


@pytest.fixture
def simulated(monkeypatch, tmp_path):
    """Runs cells on the CPU by their CUDA."""
    monkeypatch.setenv(SWITCH, "1")
    numbers = itertools.count()

    def library(recurrence, dtype):
        key = "simulated", dtype
        if key not in recurrence.derived:
            directory = tmp_path / str(next(numbers))
            directory.mkdir()
            program = program_of(recurrence, dtype)
            module = SimulatedModule(program.text, directory)
            recurrence.derived[key] = CudaLibrary(program, module)
        return recurrence.derived[key]

    monkeypatch.setattr(found, "generated_library", library)


def check(cell, graph, feat, **extra):
    expected = results(cell, graph, feat, **extra, engine="dgl")
    assert cell.explain(graph).way == ("compiled" if graph.num_edges() else "levels")
    for one, other in zip(results(cell, graph, feat, **extra), expected, strict=True):
        scale = max(float(other.detach().abs().max()), 1) if other.numel() else 1
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12 * scale)


@needs_compiler
@each_cell
def test_states_and_gradients(name, simulated):
    cell = build(name)
    for graph in graphs_for(cell).values():
        feat = torch.randn(graph.num_nodes(), IN_FEATS, dtype=torch.float64)
        check(cell, graph, feat)
        rows = torch.randn(7, IN_FEATS, dtype=torch.float64)
        check(cell, graph, IndexedFeat(rows, torch.randint(7, (graph.num_nodes(),))))
        check(cell, graph, IndexedFeat(rows, torch.randint(-1, 7, (graph.num_nodes(),))))
        check(cell, graph, feat, initial_state=initial_state(cell, graph))


def initial_state(cell, graph):
    shape = len(cell.state_names), graph.num_nodes(), HIDDEN_FEATS
    return list(torch.randn(shape, dtype=torch.float64))


@needs_compiler
def test_saved_tensors_are_those_of_autograd(simulated):
    """Hooks see all tensors that the backward pass needs, which are gone after it."""
    cell, graph = build("attentive LSTM"), tree(30, 4)
    feat = torch.randn(30, IN_FEATS, dtype=torch.float64, requires_grad=True)
    packed = []

    def pack(tensor):
        packed.append(weakref.ref(tensor))
        return tensor.clone()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        h = cell(graph, feat)
    assert sum(part() is not None for part in packed) < len(packed)  # only clones are kept
    h.sum().backward()
    found, feat.grad = feat.grad, None
    cell(graph, feat, engine="dgl").sum().backward()
    torch.testing.assert_close(found, feat.grad)


def test_kernels_declare_shared_memory_once():
    """However often they use it: a block has little."""
    cell = build("ManySlots")
    recurrence = recurrence_of(cell, torch.float64, (), cell.num_slots)
    text = program_of(recurrence, torch.float64).text
    kernels = text.split("\nKERNEL ")[1:]
    assert max(kernel.count("SUM_ROW") for kernel in kernels) > 1
    assert max(kernel.count("__shared__") for kernel in kernels) == 1


def check_on_gpu(cell, graph, feat, tolerance=1e-11, **extra):
    """Compares states and gradients with those of DGL's functions on the CPU."""
    expected = results(cell, graph, feat, engine="dgl", **extra)
    cell = copy.deepcopy(cell).cuda()
    assert cell.explain(graph).way == ("compiled" if graph.num_edges() else "levels")
    rows = feat.cuda() if isinstance(feat, torch.Tensor) else feat._replace(rows=feat.rows.cuda())
    extra = {name: [part.cuda() for part in parts] for name, parts in extra.items()}
    for one, other in zip(results(cell, graph, rows, **extra), expected, strict=True):
        scale = max(float(other.detach().abs().max()), 1) if other.numel() else 1
        torch.testing.assert_close(one.cpu(), other, rtol=0, atol=tolerance * scale)


@needs_gpu
@each_cell
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-11), (torch.float32, 1e-4)])
def test_on_a_gpu(name, dtype, tolerance):
    cell = build(name, dtype)
    for graph in graphs_for(cell).values():
        rows = torch.randn(7, IN_FEATS, dtype=dtype)
        for feat in (
            torch.randn(graph.num_nodes(), IN_FEATS, dtype=dtype),
            IndexedFeat(rows, torch.randint(7, (graph.num_nodes(),))),
            IndexedFeat(rows, torch.randint(-1, 7, (graph.num_nodes(),))),
        ):
            check_on_gpu(cell, graph, feat, tolerance)
        state = [part.to(dtype) for part in initial_state(cell, graph)]
        check_on_gpu(cell, graph, feat, tolerance, initial_state=state)


@needs_gpu
@pytest.mark.parametrize("seed", range(40))
def test_random_expressions_on_a_gpu(seed):
    cell = random_cell(seed)
    for graph in (tree(25, NUM_CHILDREN, seed), shared(20, NUM_CHILDREN, seed)):
        feat = torch.randn(graph.num_nodes(), cell.in_feats, dtype=torch.float64)
        check_on_gpu(cell, graph, feat, 1e-9)


@needs_gpu
@pytest.mark.parametrize("kind", [OfAnyChildren, OfSlots])
@pytest.mark.parametrize("name", {**POINTWISE, **OTHERS})
def test_functions_of_torch_on_a_gpu(name, kind):
    torch.manual_seed(0)
    more = (4,) if kind is OfSlots else ()
    cell = kind({**POINTWISE, **OTHERS}[name], SIZE, SIZE, *more).double()
    graph = tree(30, 4)
    feat = torch.randn(graph.num_nodes(), SIZE, dtype=torch.float64)
    check_on_gpu(cell, graph, feat, 1e-9)


@needs_gpu
@each_cell
def test_many_rows_and_wide_states_on_a_gpu(name):
    """More columns than threads, more rows than run at once."""
    cell = CELLS[name](IN_FEATS, 300).double()
    most = cell.num_slots if isinstance(cell, SlottedCell) else 5
    graph = dgl.batch([tree(5, most, seed % 7) for seed in range(2000)])
    check_on_gpu(cell, graph, torch.randn(graph.num_nodes(), IN_FEATS, dtype=torch.float64), 1e-9)


@needs_gpu
@each_cell
def test_nothing_waits_for_the_gpu(name):
    cell = build(name).cuda()
    graph = shared(40, cell.num_slots if isinstance(cell, SlottedCell) else 6)
    feat = torch.randn(graph.num_nodes(), IN_FEATS, dtype=torch.float64, device="cuda")
    cell(graph, feat.requires_grad_()).sum().backward()  # compiles
    with gpu_does_not_wait():
        cell(graph, feat).sum().backward()


@needs_gpu
def test_second_gradients_repeated_passes_and_other_streams_on_a_gpu():
    cell = build("attentive LSTM").cuda()
    graph = tree(30, 4)
    feat = torch.randn(30, IN_FEATS, dtype=torch.float64, device="cuda", requires_grad=True)
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert cell.explain(graph).way == "traced"
    torch.use_deterministic_algorithms(False)
    h = cell(graph, feat)
    (first,) = torch.autograd.grad(h.sum(), feat, retain_graph=True)
    (again,) = torch.autograd.grad(h.sum(), feat, retain_graph=True)
    torch.testing.assert_close(first, again)
    (differentiable,) = torch.autograd.grad(h.sum(), feat, create_graph=True)
    torch.testing.assert_close(differentiable, first)
    (second,) = torch.autograd.grad(differentiable.square().sum(), feat)
    assert second.abs().max() > 0
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream), torch.inference_mode():
        other = cell(graph, feat)
    torch.cuda.current_stream().wait_stream(stream)
    torch.testing.assert_close(other, h.detach())
    with torch.autocast("cuda", dtype=torch.bfloat16):
        h = cell.float()(graph, feat.float())
    torch.testing.assert_close(h.double(), other, rtol=0, atol=1e-4)
