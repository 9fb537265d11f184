"""Fixtures for tests of cells."""

from __future__ import annotations

import pytest

from graphsent.propagation import memory
from graphsent.propagation.backends import plan
from graphsent.propagation.backends.c import walk


@pytest.fixture(autouse=True)
def poisoned(monkeypatch):
    """Fills the buffers of walks with NaN: whatever reads old memory gives wrong results."""

    def empty(*shape, like):
        made = memory.empty(*shape, like=like)
        return made.detach().fill_(float("nan")) if made.is_floating_point() else made

    for module in (plan, walk):
        monkeypatch.setattr(module, "empty", empty)
