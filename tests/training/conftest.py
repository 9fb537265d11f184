"""A configuration that trains in a fraction of a second."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from toy_treebank import toy_data  # noqa: F401  (a fixture)

from graphsent.training import RunConfig, TrainingOptions, train

ADAM = {
    "optimizer": "adam",
    "lr": 0.02,
    "embedding_optimizer": "same",
    "embedding_lr": 0.02,
    "weight_decay": 0.0,
    "num_threads": 1,
}


def silent(line: str) -> None:
    """Takes the lines of a run and shows none."""


@pytest.fixture
def configure(toy_data: Path) -> Callable[..., RunConfig]:  # noqa: F811
    """Makes a configuration of a tiny model on the toy treebank; arguments are training options."""

    def make(model: str = "treelstm", **training: Any) -> RunConfig:
        sizes = {"hidden": 8} if model == "treelstm" else {}
        return RunConfig(
            "sst5",
            model,
            model_options={"embedding_dim": 8, "dropout": 0.2, **sizes},
            data_dir=str(toy_data),
            training=TrainingOptions(**{"epochs": 2, "num_threads": 1, **training}),
        )

    return make


@pytest.fixture
def quietly_trained(configure, tmp_path) -> Callable[..., dict[str, Any]]:
    """Trains a tiny model in a directory of that name and gives the results."""

    def run(name: str = "run", **training: Any) -> dict[str, Any]:
        return train(configure(**training), tmp_path / name, echo=silent)

    return run
