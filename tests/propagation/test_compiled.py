"""How the kernels are built, cached and disabled."""

from __future__ import annotations

import logging
import os
import random
import shutil
import threading
from pathlib import Path

import pytest
import torch
from level_cases import dag

from graphsent import cells, propagation
from graphsent.kernels import build as compiled_library
from graphsent.kernels import library as compiled
from graphsent.kernels.build import build, options_of
from graphsent.kernels.library import SWITCH, kernels_for, kernels_in_use

TOLERANCES = {torch.float32: 5e-5, torch.float64: 1e-10}
"""Of the largest number; random acyclic graphs make the rounding of float32 grow."""
needs_compiler = pytest.mark.skipif(
    not kernels_in_use(torch.float64), reason="there is no C compiler"
)


def test_switch(monkeypatch):
    monkeypatch.setenv(SWITCH, "0")
    assert not kernels_in_use()


def test_other_types_and_devices():
    assert not kernels_in_use(torch.bfloat16)
    assert not kernels_for(torch.empty(1, device="meta"))
    assert not kernels_for(torch.empty(1), torch.empty(1, dtype=torch.float64))
    assert not kernels_for(None)


@pytest.mark.skipif(
    not any(map(shutil.which, compiled_library.COMPILERS)), reason="there is no C compiler"
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_compiler_builds_them(empty_cache, dtype):
    """Otherwise, kernels that do not compile would go unnoticed."""
    assert kernels_in_use(dtype)


def test_public_name():
    assert propagation.kernels_in_use is kernels_in_use


@needs_compiler
def test_built_once(quick_compiler, empty_cache):
    for _ in range(2):
        assert kernels_in_use()
        compiled._load._made.clear()
    assert len(list(empty_cache.iterdir())) == 1
    assert quick_compiler.read_text().count("\n") == 1
    timers = [each for each in threading.enumerate() if isinstance(each, threading.Timer)]
    assert all(timer.finished.is_set() for timer in timers)  # their threads may be about to end


@pytest.mark.parametrize(
    ("capability", "machine", "vector", "rows", "fused"),
    [
        ("AVX512", "x86_64", 64, 12, True),
        ("AVX2", "x86_64", 32, 6, True),
        ("DEFAULT", "x86_64", 16, 6, False),
        ("DEFAULT", "aarch64", 16, 12, False),
        ("DEFAULT", "arm64", 16, 12, False),  # aarch64 on macOS
    ],
)
def test_options_of_processors(capability, machine, vector, rows, fused, monkeypatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setattr(compiled_library.platform, "machine", lambda: machine)
    options = options_of(torch.float32)
    assert {"-DSINGLE=1", f"-DVECTOR_BYTES={vector}", f"-DTILE_ROWS={rows}"} <= {*options}
    assert ("-mfma" in options) == fused


@needs_compiler
def test_one_library_for_each_processor_and_type(quick_compiler, empty_cache, monkeypatch):
    assert build(options_of(torch.float32), Path) == build(options_of(torch.float32), Path)
    build(options_of(torch.float64), Path)
    other = "DEFAULT" if torch.backends.cpu.get_cpu_capability() != "DEFAULT" else "AVX2"
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: other)
    build(options_of(torch.float32), Path)
    assert len(list(empty_cache.iterdir())) == 3


def test_no_compiler(empty_cache, monkeypatch, caplog):
    monkeypatch.setattr(compiled_library, "COMPILERS", ("no-such-compiler",))
    with caplog.at_level(logging.INFO):
        assert not kernels_in_use()
    assert "no C compiler" in caplog.text
    with pytest.raises(RuntimeError, match="no C compiler"):  # not a TimeoutError
        build(options_of(torch.float32), Path)


def test_compiler_that_fails(empty_cache, compilers, caplog):
    compilers("echo trouble >&2; exit 1")
    with caplog.at_level(logging.INFO):
        assert not kernels_in_use()
    assert "exit status 1" in caplog.text
    assert "trouble" in caplog.text
    assert list(empty_cache.iterdir()) == []


def test_compiler_that_takes_too_long(empty_cache, compilers, monkeypatch, caplog):
    compilers("exec sleep 60")
    monkeypatch.setattr(compiled_library, "PATIENCE", 0.02)
    monkeypatch.setattr(compiled_library, "LONGEST", 0.3)
    assert not kernels_in_use()
    assert "compiling the kernels; later runs reuse them" in caplog.text
    assert list(empty_cache.iterdir()) == []


def test_compiler_that_makes_no_library(empty_cache, compilers):
    compilers('echo text > "$2"')
    assert not kernels_in_use()


@needs_compiler
def test_compiler_without_openmp(quick_compiler, empty_cache, monkeypatch):
    monkeypatch.setenv("NO_OPENMP", "1")
    assert kernels_in_use()


def test_cache_that_cannot_be_written(empty_cache):
    empty_cache.parent.mkdir()
    empty_cache.write_text("a file where the directory should be")
    assert not kernels_in_use()


def test_cache_of_another_user(empty_cache, monkeypatch):
    empty_cache.mkdir(parents=True)
    owner = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    assert not kernels_in_use()


def test_user_without_home(monkeypatch, empty_cache):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert not kernels_in_use()


def test_system_without_compilers(empty_cache, monkeypatch):
    monkeypatch.setattr(compiled_library.os, "name", "nt")
    with pytest.raises(RuntimeError, match="on Unix only"):
        build(options_of(torch.float32), Path)


@needs_compiler
@pytest.mark.parametrize("damage", [b"", b"no library", "cut", "changed"])
def test_damaged_library_is_rebuilt(quick_compiler, empty_cache, damage):
    library = build(options_of(torch.float32), Path)
    content = library.read_bytes()
    middle = len(content) // 2
    if damage == "cut":
        damage = content[:middle]
    elif damage == "changed":
        damage = content[:middle] + bytes(64) + content[middle + 64 :]
    library.write_bytes(damage)
    assert kernels_in_use()
    assert library.read_bytes() == content


def at_the_same_time(function) -> list:
    results = []
    threads = [threading.Thread(target=lambda: results.append(function())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@needs_compiler
def test_concurrent_threads(quick_compiler, empty_cache):
    assert at_the_same_time(kernels_in_use) == [True] * 4
    assert quick_compiler.read_text().count("\n") == 1


@needs_compiler
def test_concurrent_builds(quick_compiler, empty_cache):
    """Builds independently, as separate processes do."""
    assert len(set(at_the_same_time(lambda: build(options_of(torch.float32), Path)))) == 1
    assert len(list(empty_cache.iterdir())) == 1
    assert quick_compiler.read_text().count("\n") == 1
    assert kernels_in_use()


class Problem:
    """A cell over a random graph, in compiled code and level by level."""

    def __init__(self, kind: type[cells.TreeCell], dtype: torch.dtype) -> None:
        torch.manual_seed(0)
        self.cell, self.graph = kind(5, 37).to(dtype), dag(random.Random(0), 60, 2)
        self.feat = torch.randn(60, 5, dtype=dtype, requires_grad=True)

    def outcome(self) -> list[torch.Tensor]:
        """States, and gradients of a loss on them."""
        states = self.cell.run(self.graph, self.feat)
        loss = sum((state * state.detach().cos()).sum() for state in states)
        return [*states, *torch.autograd.grad(loss, [self.feat, *self.cell.parameters()])]

    def check(self, monkeypatch) -> None:
        """Compares compiled code with plain torch."""
        assert self.cell.explain(self.graph).way == "compiled"
        compiled = self.outcome()
        with monkeypatch.context() as context:
            context.setenv(SWITCH, "0")
            plain = self.outcome()
        for got, expected in zip(compiled, plain, strict=True):
            largest = max(float(expected.detach().abs().max()), 1e-30)
            assert float((got - expected).detach().abs().max()) <= TOLERANCES[got.dtype] * largest


each_kind = pytest.mark.parametrize(
    "kind", [cells.NaryTreeLSTM, cells.ChildSumTreeLSTM], ids=["slots", "edges"]
)


@needs_compiler
@each_kind
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize(("num_bytes", "rows"), [(16, 12), (64, 12), (32, 6)])
def test_vectors_of_other_processors(num_bytes, rows, dtype, kind, monkeypatch):
    """Compilers emulate long vectors by short ones."""
    processors = {"": (num_bytes, rows, ())}
    monkeypatch.setattr(compiled_library, "_PROCESSORS", processors)
    quick = [option for option in compiled_library._COMMAND if "-O" not in option]
    monkeypatch.setattr(compiled_library, "_COMMAND", quick)
    compiled._load._made.clear()
    try:
        Problem(kind, dtype).check(monkeypatch)
    finally:
        compiled._load._made.clear()


@needs_compiler
@each_kind
def test_hooks_may_store_less_precise_numbers(kind):
    """Hooks may change saved numbers, but see no indices."""

    def store(saved: torch.Tensor) -> tuple[torch.Tensor, torch.dtype]:
        return saved.bfloat16() if saved.is_floating_point() else saved, saved.dtype

    def load(stored: tuple[torch.Tensor, torch.dtype]) -> torch.Tensor:
        return stored[0].to(stored[1])

    problem = Problem(kind, torch.float64)
    expected = problem.outcome()
    with torch.autograd.graph.saved_tensors_hooks(store, load):
        found = problem.outcome()
    for got, exact in zip(found, expected, strict=True):
        assert float((got - exact).detach().abs().max()) <= 0.1 * float(exact.detach().abs().max())


@needs_compiler
@each_kind
def test_tensors_of_their_own_are_on_the_cpu(kind, monkeypatch):
    """Also under another default device."""
    problem, default = Problem(kind, torch.float64), torch.get_default_device()
    torch.set_default_device("meta")
    try:
        problem.check(monkeypatch)
        assert kernels_in_use()
    finally:
        torch.set_default_device(default)
