"""Makes the package that the benchmark scripts share importable."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def harness():
    path = str(Path(__file__).resolve().parents[2] / "benchmarks")
    sys.path.insert(0, path)
    yield
    sys.path.remove(path)
