"""Triton kernels: when they are used, what they launch, and whether they compile for GPUs."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from graphsent.propagation.compiled import SWITCH

needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="Triton is not installed"
)


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
