"""A trained run, made once by the command itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_treebank import TINY, write_treebank

from graphsent.cli import main


@pytest.fixture(scope="session")
def toy_data(tmp_path_factory) -> Path:
    return write_treebank(tmp_path_factory.mktemp("toy") / "data")


@pytest.fixture(scope="session")
def trained(toy_data, tmp_path_factory) -> Path:
    """The directory of a finished run of two epochs."""
    out = tmp_path_factory.mktemp("runs") / "a"
    arguments = ["train", "--task=sst5", f"--data-dir={toy_data}", "--epochs=2", f"--out={out}"]
    assert main([*arguments, "--test", *TINY]) == 0
    return out
