"""The embedded data: its files, and its script."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2] / "data"
sys.path.insert(0, str(DATA))


@pytest.fixture(scope="session")
def embedded() -> Path:
    """The directory of the embedded data."""
    return DATA
