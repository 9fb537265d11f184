"""Whether a finished run comes out again."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphsent.errors import DataError
from graphsent.reproduction.comparison import Difference, compare
from graphsent.reproduction.execution import Execution, execute
from graphsent.reproduction.finished import FinishedRuns
from graphsent.reproduction.runs import Run

__all__ = ["Repetition", "repeat"]

# Against one finished run, p knows of the examples alone, and not of seeds: at .01, other seeds of
# the same configuration would fail in 6 of 100 pairs.
_CHANCE = 0.001


@dataclass(frozen=True)
class Repetition:
    """A finished run, and the same made anew.

    Attributes:
        kept: The finished run.
        repeated: What came out now.
        is_same: Whether all figures are the same, and what is made of each test example.
        difference: On test, of the repeated run from the finished ones of its configuration.
    """

    kept: dict[str, Any]
    repeated: dict[str, Any]
    is_same: bool
    difference: Difference

    @property
    def num_kept(self) -> int:
        """How many finished runs it was compared with."""
        return self.difference.num_runs[1]

    @property
    def is_chance(self) -> bool:
        """Whether the difference is one that another seed could have made."""
        return self.difference.p >= _CHANCE


def repeat(execution: Execution, run: Run) -> Repetition:
    """Makes a finished run anew and compares; the finished one stays as it is.

    On another processor, or with another version of a library, sums are rounded differently, and
    training makes another model of that, as from another seed. The figures are then compared with
    those of all seeds by :func:`~graphsent.reproduction.compare`; on a fold, with those of the same
    fold.

    Raises:
        DataError: There is no such finished run, or its data are now others.
        GraphsentError: As in :func:`~graphsent.reproduction.execution.execute`.
    """
    finished = FinishedRuns(execution.finished)
    kept = finished.read(run)
    if kept is None:
        raise DataError(f"{finished.file(run)}: no finished run to repeat")
    data = execution.places.checksums(execution.places.locate(run.run_config()))
    if kept["data"] != data:
        raise DataError(f"{finished.file(run)}: it was made with other data, by their check sums")
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        apart = replace(execution, finished=work / "finished", work=work / "work")
        repeated = execute(apart, run)
    is_same = all(kept[name] == repeated[name] for name in ("dev", "test", "examples"))
    others = [kept] if run.kind == "fold" else list(finished.of(run.configuration).values())
    return Repetition(kept, repeated, is_same, compare([repeated], others))
