"""The location of the cache."""

from __future__ import annotations

import os

from graphsent._cache import cache_directory


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
