"""Fake compilers, and a cache without libraries."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from graphsent.kernels import build as compiled_library
from graphsent.kernels import library as compiled
from graphsent.kernels.build import build, options_of
from graphsent.kernels.library import SWITCH
from graphsent.propagation.tape import Buffer


@pytest.fixture
def new_buffers() -> Iterator[Callable[[], int]]:
    """Counts buffers that the test made and that are still in use."""

    def count() -> int:
        gc.collect()
        return sum(type(each) is Buffer for each in gc.get_objects())

    gc.freeze()  # neither searches the many objects of other tests, which takes seconds
    yield count
    gc.unfreeze()


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """Kernels are neither loaded nor built, but may be."""
    monkeypatch.delenv(SWITCH, raising=False)
    monkeypatch.delenv("GRAPHSENT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    compiled._load._made.clear()
    yield tmp_path / "cache" / "graphsent"
    compiled._load._made.clear()


@pytest.fixture
def compilers(tmp_path, monkeypatch):
    """Replaces all compilers by shell scripts; ``$2`` is the output file."""

    def put(*scripts: str) -> None:
        paths = []
        for number, script in enumerate(scripts):
            path = tmp_path / f"compiler_{number}"
            path.write_text(f'#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\n{script}\n')
            path.chmod(0o755)
            paths.append(str(path))
        monkeypatch.setattr(compiled_library, "COMPILERS", tuple(paths))

    return put


@pytest.fixture(scope="session")
def built_library() -> Path:
    """A usable library in the user's own cache."""
    return build(options_of(torch.float32), Path)


@pytest.fixture
def quick_script(tmp_path, built_library) -> str:
    """A compiler that copies what was built before, and records its calls in a file."""
    return f"""for option; do test "$option" != -fopenmp || test -z "$NO_OPENMP" || exit 1; done
echo >> {tmp_path}/calls; exec cp {built_library} "$2"
"""


@pytest.fixture
def quick_compiler(tmp_path, compilers, quick_script):
    """Replaces all compilers by this one; returns the file with its calls."""
    compilers(quick_script)
    return tmp_path / "calls"
