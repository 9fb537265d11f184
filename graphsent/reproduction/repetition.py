"""Repetition of finished runs."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphsent.errors import DataError
from graphsent.reproduction.comparison import Difference, compare
from graphsent.reproduction.execution import Execution, execute
from graphsent.reproduction.finished import FinishedRuns
from graphsent.reproduction.runs import Run
from graphsent.training import TrainingInterrupted

__all__ = ["Repetition", "repeat"]

# Against a single finished run, p reflects variation over examples but not over seeds: at .01,
# other seeds of the same configuration would fail in 6 of 100 pairs.
_CHANCE = 0.001
# By which figures may differ if the results on all test examples are the same: the models are then
# the same but for rounding.
_ROUNDING = 0.01


@dataclass(frozen=True)
class Repetition:
    """A finished run and its repetition.

    Attributes:
        kept: The finished run.
        repeated: The repetition.
        is_same: Whether all metrics and the results on all test examples are identical.
        difference: Test difference between the repetition and the configuration's finished runs.
    """

    kept: dict[str, Any]
    repeated: dict[str, Any]
    is_same: bool
    difference: Difference

    @property
    def num_kept(self) -> int:
        """Number of finished runs in the comparison."""
        return self.difference.num_runs[1]

    @property
    def is_chance(self) -> bool:
        """Whether the difference could be due to another seed."""
        return self.difference.p >= _CHANCE

    @property
    def changed(self) -> list[str]:
        """Figures that the model of the finished run cannot have had, such as ``dev accuracy``.

        They differ, although the results on all test examples are the same.
        """
        if self.kept["examples"] != self.repeated["examples"]:
            return []
        return [
            f"{split} {name}"
            for split in ("dev", "test")
            for name, value in self.repeated[split].items()
            if abs(self.kept[split].get(name, math.inf) - value) > _ROUNDING
        ]


def repeat(execution: Execution, run: Run) -> Repetition:
    """Repeats a finished run and compares the results; the finished run is not replaced.

    With another processor or library version, sums are rounded differently, and training then ends
    at another model, as with another seed. The repetition is therefore compared with the runs of
    all seeds by :func:`~graphsent.reproduction.compare`; on a fold, with the run on that fold.

    Raises:
        DataError: There is no such finished run, or its data have changed.
        GraphsentError: As in :func:`~graphsent.reproduction.execution.execute`.
        TrainingInterrupted: A signal stopped it.
    """
    finished = FinishedRuns(execution.finished)
    kept = finished.read(run)
    if kept is None:
        raise DataError(f"{finished.file(run)}: no finished run to repeat")
    data = execution.places.checksums(execution.places.locate(run.run_config()))
    if kept["data"] != data:
        raise DataError(f"{finished.file(run)}: made with other data: their checksums differ")
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        apart = replace(execution, finished=work / "finished", work=work / "work")
        try:
            repeated = execute(apart, run)
        except TrainingInterrupted as error:  # which names the directory
            message = "interrupted; the repetition is not kept"
            raise TrainingInterrupted(message, error.signal_number) from None
    is_same = all(kept[name] == repeated[name] for name in ("dev", "test", "examples"))
    others = [kept] if run.kind == "fold" else list(finished.of(run.configuration).values())
    return Repetition(kept, repeated, is_same, compare([repeated], others))
