"""``torch.compile`` of modules that contain cells and layers."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from commands import without_compiling
from generated_cases import HAS_COMPILER

from graphsent._dgl import dgl
from graphsent.cells import ChildSumTreeLSTM
from graphsent.propagation import untraced

# A warning of torch on Python 3.13.0.
ADVICE = "ignore:Guards may run slower:RuntimeWarning"
SCRIPT = Path(__file__).with_name("compiled_modules.py")
NO_COMPILER = not any(map(shutil.which, ("c++", "g++", "clang++")))


@pytest.mark.parametrize(
    "backend",
    [
        "eager",
        pytest.param("aot_eager", marks=pytest.mark.slow),
        pytest.param(
            "inductor",
            marks=[
                pytest.mark.slow,
                pytest.mark.skipif(NO_COMPILER, reason="needs a compiler of C++"),
            ],
        ),
    ],
)
def test_a_compiled_module_gives_the_same(backend, repository):
    environment = {**os.environ, "PYTHONPATH": str(repository), "PYTHONWARNINGS": ADVICE}
    command = [sys.executable, str(SCRIPT), backend]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.stdout == "the same\n", done.stderr
    assert done.returncode == 0
    # Other backends have their own messages; in torch, phrases need the length of the longest.
    if backend == "eager" and HAS_COMPILER:
        assert not without_compiling(done.stderr)  # such as too many recompilations


def test_torch_that_cannot_be_told_in_advance(monkeypatch):
    monkeypatch.setattr(untraced, "_frames", object())

    def function(number, *, other):
        return torch.compiler.is_dynamo_compiling(), number + other

    wrapped = untraced.untraced(function)
    assert wrapped.__name__ == "function"
    assert torch.compile(lambda: wrapped(1, other=2), backend="eager")() == (False, 3)


def test_a_decorator_of_forward_is_not_marked():
    """Its code may also run other functions."""

    class Mine(ChildSumTreeLSTM):
        @torch.no_grad()
        def forward(self, *arguments, **options):
            return super().forward(*arguments, **options)

    @torch.no_grad()
    def other():
        return torch.compiler.is_dynamo_compiling()

    assert Mine.forward.__code__ is other.__code__
    assert torch.compile(other, backend="eager")()
    graph, feat = dgl.graph(([0], [1])), torch.randn(2, 3)
    assert not torch.compile(Mine(3, 4), backend="eager")(graph, feat).requires_grad


def test_nothing_of_it_is_imported_before(repository):
    """Nor when a cell is traced, whose matrix is a function of parameters."""
    code = """
import sys, torch
from torch.nn.utils.parametrizations import weight_norm
from graphsent import dgl
from graphsent.cells import ChildSumTreeLSTM
cell = ChildSumTreeLSTM(2, 2)
cell.U = weight_norm(cell.U)
cell(dgl.graph(([0], [1])), torch.randn(2, 2))
print('torch._dynamo' in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(repository)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.stdout == "False\n", done.stderr
