"""A cache of each test's own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    """The cache directory, of shards alone: compiled kernels stay where they are."""
    directory = tmp_path / "cache"
    monkeypatch.setattr("graphsent.shards.store.cache_directory", lambda: directory)
    return directory
