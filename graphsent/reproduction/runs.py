"""A single run of a configuration, with one seed or on one fold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from graphsent.reproduction.configurations import Configuration
from graphsent.training import RunConfig

__all__ = ["FAST_RUNS", "NUM_SEEDS", "Run"]

NUM_SEEDS = 5  # for tasks without folds
FAST_RUNS = 2


@dataclass(frozen=True)
class Run:
    """A configuration with a seed, or on a fold of its task.

    Attributes:
        configuration: The configuration.
        kind: ``"seed"`` or ``"fold"``.
        number: Number of the seed or fold.
    """

    configuration: Configuration
    kind: str
    number: int

    @classmethod
    def of(
        cls, configuration: Configuration, seeds: Iterable[int], *, fast: bool = False
    ) -> list[Run]:
        """The runs of a configuration: one per seed, or one per fold if its task has folds."""
        num_folds = configuration.num_folds
        numbers = list(range(num_folds) if num_folds else seeds)
        if fast:
            configuration, numbers = configuration.fast(), numbers[:FAST_RUNS]
        return [cls(configuration, "fold" if num_folds else "seed", each) for each in numbers]

    @property
    def name(self) -> str:
        """The name, which is also that of its file: ``treelstm-sst5/seed-0``."""
        return f"{self.configuration.name}/{self.kind}-{self.number}"

    def run_config(self) -> RunConfig:
        """The configuration to train; word-vector files are given by name only."""
        config = self.configuration.run_config()
        if self.kind == "fold":
            return replace(config, task_options={**config.task_options, "fold": self.number})
        return replace(config, training=replace(config.training, seed=self.number))

    @property
    def key(self) -> dict[str, Any]:
        """What identifies a finished run, besides its data."""
        return {
            "configuration": self.configuration.name,
            self.kind: self.number,
            "digest": self.configuration.digest,
        }
