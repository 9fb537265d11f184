"""The location of the cache."""

from __future__ import annotations

import os

import pytest

from graphsent._cache import cache_directory
from graphsent.errors import FailedError


def test_location_of_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GRAPHSENT_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_directory() == tmp_path / ".cache" / "graphsent"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # ignored, by the specification
    assert cache_directory() == tmp_path / ".cache" / "graphsent"
    monkeypatch.setenv("XDG_CACHE_HOME", os.fspath(tmp_path / "other"))
    assert cache_directory() == tmp_path / "other" / "graphsent"
    monkeypatch.setenv("GRAPHSENT_CACHE", "~/mine")
    assert cache_directory() == tmp_path / "mine"


def test_a_user_without_home_is_told_what_to_set(monkeypatch):
    for name in ("GRAPHSENT_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    with pytest.raises(FailedError, match="no home directory: set GRAPHSENT_CACHE"):
        cache_directory()
