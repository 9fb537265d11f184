"""Fixtures of the tests of tasks."""

from __future__ import annotations

from pathlib import Path

import pytest
from own_files import write_tsv


@pytest.fixture
def tsv(tmp_path) -> Path:
    """A file of labelled sentences of one's own."""
    return write_tsv(tmp_path / "my.tsv")
