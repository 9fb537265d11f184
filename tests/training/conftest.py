"""Tiny runs on a toy treebank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pytorch_lightning import Trainer
from toy_treebank import silent, tiny_config, write_treebank

from graphsent.models import Model
from graphsent.tasks import get_task
from graphsent.training import RunConfig, TrainingModule, TrainingOptions, TreeDataModule, train


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


@pytest.fixture
def fit() -> Callable[[Model, Sequence[Any], TrainingOptions, int], None]:
    """Trains a classifier of five classes by Lightning's Trainer; dev is the first example."""

    def run(model: Model, examples: Sequence[Any], options: TrainingOptions, epochs: int) -> None:
        Trainer(
            max_epochs=epochs,
            logger=False,
            enable_checkpointing=False,
            enable_model_summary=False,
            enable_progress_bar=False,
            num_sanity_val_steps=0,
        ).fit(
            TrainingModule(model, get_task("sst5"), options),
            TreeDataModule(model, examples, examples[:1], options),
        )

    return run
