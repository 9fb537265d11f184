"""Tiny runs on a toy treebank."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from toy_treebank import silent, tiny_config, write_treebank

from graphsent.training import RunConfig, train


@pytest.fixture(scope="session")
def toy_data(tmp_path_factory) -> Path:
    return write_treebank(tmp_path_factory.mktemp("toy") / "data")


@pytest.fixture
def configure(toy_data: Path) -> Callable[..., RunConfig]:
    """Makes the configuration of a tiny run; arguments are training options."""
    return partial(tiny_config, toy_data)


@pytest.fixture
def quietly_trained(configure, tmp_path) -> Callable[..., dict[str, Any]]:
    """Trains in a directory of the given name; further arguments are training options."""

    def run(name: str = "run", **training: Any) -> dict[str, Any]:
        return train(configure(**training), tmp_path / name, echo=silent)

    return run
