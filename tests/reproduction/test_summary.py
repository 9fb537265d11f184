"""The sentence of the summary about parsed and artificial trees."""

from __future__ import annotations

import numpy as np
import pytest

from graphsent.reproduction import Catalogue, FinishedRuns, verdicts
from graphsent.reproduction.examples import COLUMNS, pack
from graphsent.reproduction.markdown import summary

RIGHT = COLUMNS["classification"]


class Runs(FinishedRuns):
    """Finished runs by configuration: accuracies on 1,000 test examples."""

    def __init__(self, shares: dict[str, tuple[float, ...]]) -> None:
        self.shares = shares

    def of(self, configuration):  # type: ignore[override]
        values = self.shares.get(configuration.name, ())
        generators = map(np.random.default_rng, range(len(values)))
        drawn = [
            (g.random((1000, 1)) < p).astype(int) for g, p in zip(generators, values, strict=True)
        ]
        packed = [pack(RIGHT, each) for each in drawn]
        return {number: {"data": {}, "examples": each} for number, each in enumerate(packed)}


@pytest.mark.parametrize(
    ("left", "sentence"),
    [
        ((0.7, 0.7), "on `sst5` 1 of 2 show a gain and 0 a loss"),
        ((0.9, 0.9), "on `sst5` 0 of 2 show a gain and 1 a loss"),
        ((0.8, 0.8), "on `sst5` 0 of 2 show a gain and 0 a loss"),
        ((), "on `sst5` 0 of 1 show a gain and 0 a loss"),  # pending ones do not count
    ],
)
def test_controls_are_counted_by_their_verdicts(shipped, left, sentence):
    (shipped / "tables/toys.yaml").rename(shipped / "tables/controls.yaml")
    catalogue = Catalogue(shipped)
    runs = Runs({"toy-tree": (0.8, 0.8), "toy-nbow": (0.8, 0.8), "toy-tree-left": left})
    assert sentence in summary(catalogue, [], verdicts(catalogue, runs))


def test_no_sentence_without_controls(shipped):
    catalogue = Catalogue(shipped)
    runs = Runs({"toy-tree": (0.8, 0.8), "toy-nbow": (0.7, 0.7)})
    assert "parse" not in summary(catalogue, [], verdicts(catalogue, runs))


def test_no_sentence_on_controls_that_have_not_been_run(shipped):
    (shipped / "tables/toys.yaml").rename(shipped / "tables/controls.yaml")
    catalogue = Catalogue(shipped)
    assert "parse" not in summary(catalogue, [], verdicts(catalogue, Runs({})))
