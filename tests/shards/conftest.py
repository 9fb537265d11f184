"""A separate cache for each test."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    """A cache directory for shards only: compiled kernels stay where they are."""
    directory = tmp_path / "cache"
    monkeypatch.setattr("graphsent.shards.store.cache_directory", lambda: directory)
    return directory
