"""Fixtures for all tests: real data if available, a fixed seed, one thread."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import settings

REPOSITORY = Path(__file__).resolve().parent.parent

settings.register_profile("graphsent", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "graphsent")

# A test suite in the background of a shell ignores SIGINT, which commands would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests use few cores and small tensors, for which more threads only cost time.
torch.set_num_threads(1)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips tests that need a GPU where there is none."""
    if item.get_closest_marker("gpu") and not torch.cuda.is_available():
        pytest.skip("needs a GPU")


@pytest.fixture(autouse=True)
def seed() -> int:
    """Seeds torch and numpy's global generators before each test; the value is 0."""
    # torch.manual_seed would keep the stack for each kind of device, which takes a millisecond.
    torch.default_generator.manual_seed(0)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(0)
    np.random.seed(0)
    return 0


def _shared_directory(name: str) -> Path:
    """A directory of real data: beside ``$GRAPHSENT_DATA``, or in ``shared`` beside the checkout.

    ``GRAPHSENT_DATA`` names the corpora; parses and vectors are its siblings.
    """
    given = os.environ.get("GRAPHSENT_DATA")
    corpora = Path(given) if given else REPOSITORY.parent / "shared" / "data"
    directory = corpora if name == "data" else corpora.parent / name
    if not directory.is_dir():
        pytest.skip(f"no real data: {directory} is not a directory (set GRAPHSENT_DATA)")
    return directory


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The benchmark corpora (``sst/``, ``trec/``, ``sick/``, ...)."""
    return _shared_directory("data")


@pytest.fixture(scope="session")
def parses_dir() -> Path:
    """Dependency and constituency parses of the corpora."""
    return _shared_directory("parses")


@pytest.fixture(scope="session")
def vectors_dir() -> Path:
    """Word vectors as ``.npz`` files."""
    return _shared_directory("vectors")


@pytest.fixture(scope="session")
def models_dir() -> Path:
    """Parser models."""
    return _shared_directory("models")


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return REPOSITORY


@pytest.fixture
def narrow_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes arrays of integers without a dtype int32, as NumPy 1 does on Windows."""

    def narrow(name: str) -> None:
        made = getattr(np, name)

        def make(*args: Any, **options: Any) -> Any:
            array = made(*args, **options)
            caller = sys._getframe(1).f_globals["__name__"]
            is_given = any(
                each is np.int64 or getattr(each, "dtype", None) == np.int64
                for each in (*args, *options.values())
            )
            is_wide = array.dtype == np.int64 and not is_given
            return array.astype(np.int32) if is_wide and caller.startswith("graphsent.") else array

        monkeypatch.setattr(np, name, make)

    for name in ("arange", "array", "cumsum", "full", "repeat"):
        narrow(name)
