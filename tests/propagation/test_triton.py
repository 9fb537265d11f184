"""Triton kernels: when they are used, what they launch, and whether they compile for GPUs."""

from __future__ import annotations

import importlib.util
import logging
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from fused_cases import dag, forest
from launches import CountOperators
from test_waiting import gpu_does_not_wait
from triton_cases import RULES, Launches, Problem, moved
from waiting import no_waiting

from graphsent._dgl import dgl
from graphsent.propagation import kernels_in_use, triton_launch, triton_slots
from graphsent.propagation.compiled import SWITCH
from graphsent.propagation.triton_launch import is_right

needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="Triton is not installed"
)
needs_compiler = pytest.mark.skipif(
    os.environ.get("TRITON_INTERPRET") == "1", reason="Triton interprets in this process"
)
no_advice = pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION:UserWarning")
each_rule = pytest.mark.parametrize("rule", RULES)
make_graph = pytest.mark.parametrize("make", [forest, dag])
ARCHITECTURES = (80, 90)


@pytest.fixture(autouse=True)
def kernels_allowed(monkeypatch):
    monkeypatch.delenv(SWITCH, raising=False)


@pytest.fixture
def nothing_tried(monkeypatch):
    monkeypatch.setattr(triton_launch, "_known", {})


@needs_triton
@pytest.mark.slow
def test_interpreted():
    """All of ``test_triton_interpreted.py``."""
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    environment.pop(SWITCH, None)
    path = Path(__file__).with_name("test_triton_interpreted.py")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout.splitlines()[-1]


@needs_triton
def test_imported_with_the_first_kernel():
    """Neither with graphsent nor with cells."""
    script = "import sys, graphsent.cells, graphsent.models; print('triton' in sys.modules)"
    command = [sys.executable, "-c", script]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["False"]


# What is launched


@each_rule
@make_graph
def test_host_does_not_wait(rule, make):
    """Neither does it look at a value of a device that has none."""
    problem = Problem(rule, make(random.Random(0), 30, 2), shared_leaves=True)
    problem = moved(problem, "meta")
    with Launches() as launches, no_waiting():
        states = problem.run()
        gradients = torch.autograd.grad(states[0].sum(), problem.tensors)
    assert launches.all
    shapes = [part.shape for part in problem.tensors]
    assert [part.shape for part in gradients] == shapes


def chain_costs(rule: str, depth: int, switch: str, monkeypatch) -> list[int]:
    """Operators of torch, and kernels of ours, of forward and backward pass over a chain."""
    graph = dgl.graph((torch.arange(depth), torch.arange(1, depth + 1)))
    graph.edata["child_index"] = torch.zeros(depth, dtype=torch.int64)
    problem = moved(Problem(rule, graph), "meta")
    monkeypatch.setenv(SWITCH, switch)
    with Launches() as launches:
        with CountOperators() as forward:
            h, _ = problem.run()
        num_forward = len(launches.all)
        with CountOperators() as backward:
            torch.autograd.grad(h, problem.tensors, h)
    return [
        *(forward.count, num_forward),
        *(backward.count, len(launches.all) - num_forward),
    ]


@each_rule
def test_two_launches_a_level(rule, monkeypatch):
    """One product and one kernel in each pass; as docs/engine.md has it."""
    costs = [chain_costs(rule, depth, "1", monkeypatch) for depth in (10, 11)]
    assert [more - less for less, more in zip(*costs, strict=True)] == [1, 1, 1, 1]


@pytest.mark.parametrize(("rule", "expected"), [("N-ary", [13, 18]), ("child-sum", [21, 26])])
def test_launches_a_level_in_torch(rule, expected, monkeypatch):
    costs = [chain_costs(rule, depth, "0", monkeypatch) for depth in (10, 11)]
    assert [more - less for less, more in zip(*costs, strict=True)][::2] == expected
    assert not any(costs[0][1::2])


@needs_triton
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@each_rule
@make_graph
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-4), (torch.float64, 1e-10)])
def test_on_a_gpu(rule, make, dtype, tolerance, monkeypatch):
    graph = make(random.Random(0), 300, 2)
    problem = moved(Problem(rule, graph, 150, shared_leaves=True, dtype=dtype), "cuda")
    problem.outcome()  # kernels are built
    with gpu_does_not_wait():
        ours = problem.outcome()
    assert "Triton" in type(ours[0].grad_fn).__name__
    monkeypatch.setenv(SWITCH, "0")
    for got, expected in zip(ours, problem.outcome(), strict=True):
        difference = float((got - expected).detach().abs().max())
        assert difference <= tolerance * float(expected.detach().abs().max())


# Compilation for GPUs


class OtherDriver:
    """What Triton asks a GPU for before it compiles. The number of a device is what it is."""

    def __init__(self, architecture: int) -> None:
        from triton.backends.compiler import GPUTarget

        self.get_current_device = lambda: architecture
        self.get_current_stream = lambda device: 0
        self.get_current_target = lambda: GPUTarget("cuda", architecture, 32)


@pytest.fixture(params=ARCHITECTURES, ids="sm_{}".format)
def architecture(request, monkeypatch, tmp_path):
    """Triton believes that it has such a GPU."""
    from triton.runtime.driver import driver

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(driver, "_active", OtherDriver(request.param))
    return request.param


class Built:
    """A kernel that is built where it would be launched."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self.result: Any = None

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        def build(*arguments: Any, **constants: int) -> None:
            self.result = self.kernel.warmup(*arguments, grid=grid, **constants)

        return build


def build(problem: Problem) -> dict[str, Any]:
    """What Triton makes of all launches of both passes, by the name of the kernel."""
    with Launches(triton_launch.kernels()) as launches:
        states = moved(problem, "meta").run()
        torch.autograd.grad(states[0].sum(), problem.tensors)
    results = {}
    for kernel, num_rows, arguments, constants in launches.all:
        built = Built(kernel)
        triton_launch.launch(built, num_rows, *arguments, **constants)
        results[kernel.__name__] = built.result
    return results


@needs_triton
@needs_compiler
@no_advice
@each_rule
@pytest.mark.parametrize(
    "dtype",
    [
        torch.float32,
        pytest.param(torch.float64, marks=pytest.mark.slow),
        pytest.param(torch.bfloat16, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_compiles(rule, dtype, architecture):
    """As a GPU would have it, which shows what the interpreter takes and the compiler does not."""
    for one_row in (False, True):
        graph = dag(random.Random(0), 12, 2)
        options = {"one_row": one_row, "bias": not one_row, "dtype": dtype}
        built = build(Problem(rule, graph, 150, **options))
        assert len(built) == 4
        for kernel in built.values():
            assert f".target sm_{architecture}" in kernel.asm["ptx"]
            assert len(kernel.asm["cubin"]) > 0
            assert kernel.metadata.shared == 0


@needs_triton
@needs_compiler
@no_advice
@each_rule
def test_one_kernel_for_all_batches(rule, architecture):
    """Lengths and addresses vary, and to compile takes longer than a step."""
    hashes: dict[str, set[str]] = {}
    for seed, (make, num_nodes) in enumerate([(forest, 9), (dag, 30), (forest, 64)]):
        built = build(Problem(rule, make(random.Random(seed), num_nodes, 2), 7))
        for name, kernel in built.items():
            hashes.setdefault(name, set()).add(kernel.hash)
    assert [len(each) for each in hashes.values()] == [1, 1, 1, 1]


# When they are used


@pytest.mark.parametrize("dtype", [torch.int64, torch.complex64])
def test_other_types(dtype):
    with Launches():
        rule = RULES["N-ary"](3, 2)
        assert triton_launch.has_triton_walk(rule, torch.empty(1, device="meta"))
        assert not triton_launch.has_triton_walk(rule, torch.empty(1, device="meta", dtype=dtype))


def test_tensors_of_several_types_or_devices():
    with Launches():
        rule, number = RULES["N-ary"](3, 2), torch.empty(1, device="meta")
        assert triton_launch.has_triton_walk(rule, None, number)
        assert not triton_launch.has_triton_walk(rule, number, number.double())
        assert not triton_launch.has_triton_walk(rule, number, torch.empty(1))
        assert not triton_launch.has_triton_walk(rule, None)


def test_switch(monkeypatch):
    monkeypatch.setenv(SWITCH, "0")
    with Launches():
        number = torch.empty(1, device="meta")
        assert not triton_launch.has_triton_walk(RULES["N-ary"](3, 2), number)


def test_without_triton(monkeypatch, caplog):
    """Nothing is said: nobody asked for it."""
    problem = moved(Problem("N-ary", forest(random.Random(0), 9, 2)), "meta")
    with Launches() as launches, caplog.at_level(logging.INFO):
        monkeypatch.setattr(triton_launch, "_found", lambda: False)
        problem.run()
    assert not launches.all
    assert not caplog.records


def test_kernels_in_use(monkeypatch, nothing_tried):
    def fails(rule, like, has_bias):
        raise RuntimeError("no ptxas")

    assert not kernels_in_use(device="meta")
    if not torch.cuda.is_available():
        assert not kernels_in_use(device="cuda")
    with monkeypatch.context() as context:
        context.setattr(triton_launch, "DEVICE", "meta")
        context.setattr(triton_launch, "_found", lambda: True)
        context.setattr(triton_slots, "_try", lambda *_: None)
        assert kernels_in_use(device="meta")
        assert kernels_in_use(torch.bfloat16, "meta")
        assert not kernels_in_use(torch.int64, "meta")
        context.setattr(triton_slots, "_try", fails)
        assert kernels_in_use(device="meta")
        assert not kernels_in_use(torch.float64, "meta")


def test_tried_once(nothing_tried):
    calls = []
    for _ in range(3):
        assert is_right("this", lambda: calls.append(1))
    assert is_right("that", lambda: calls.append(2))
    assert calls == [1, 2]


def test_a_trial_that_fails(nothing_tried, caplog):
    """It is told once, and nothing is tried again, nor anything else."""

    def fails():
        raise RuntimeError("no ptxas")

    for key in ("this", "that", "this"):
        assert not is_right(key, fails)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "everything runs in torch: no ptxas" in record.getMessage()


def test_what_was_right_stays_so(nothing_tried):
    def fails():
        raise RuntimeError

    assert is_right("this", lambda: None)
    assert not is_right("that", fails)
    assert is_right("this", fails)
