"""Contenders that take turns, and the results.

``torch.utils.benchmark`` and ``pyperf`` time one contender after the other, and repeat runs at
will. Here, contenders take turns, because on a shared machine only ratios of neighbouring turns are
meaningful, and a training step cannot be repeated: hence this custom loop.
"""

from __future__ import annotations

import statistics
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphsent._files import write_json

FEWEST_ROUNDS = 2

Seconds = dict[str, list[float | None]]


class Contender(ABC):
    """One implementation, with its own model."""

    name: str  # in the results

    def prepare(self, batch: Any) -> Any:
        """The batch in the form that the contender needs; not timed."""
        return batch

    def fresh(self, prepared: Any) -> Any:
        """The input of one run, without anything cached by earlier runs; not timed."""
        return prepared

    def forward(self, prepared: Any) -> None:
        """Look-up, propagation, output at every node and loss, without gradients."""
        raise NotImplementedError

    @abstractmethod
    def step(self, prepared: Any) -> None:
        """A training step."""

    @abstractmethod
    def outcome(self, prepared: Any) -> tuple[np.ndarray, float]:
        """The results at all nodes, in node order, and the loss."""


def race(
    contenders: Sequence[Contender],
    batches: Sequence[Any],
    what: str,
    rounds: int,
    budget: float,
    clock: Callable[[], float],
) -> Seconds:
    """Seconds of each contender in each round; None if it took no turn.

    In a round, each contender runs on all batches; every second round is in reverse order. Before
    the first round, all contenders run on the first batch. After ``budget`` seconds, and at least
    two turns, a contender takes no more turns. ``what`` is ``"forward"`` or ``"step"``; ``clock``
    returns seconds.
    """
    runs = {contender: getattr(contender, what) for contender in contenders}
    inputs = {each: [each.prepare(batch) for batch in batches] for each in contenders}
    for contender, run in runs.items():
        run(contender.fresh(inputs[contender][0]))
    seconds: Seconds = {contender.name: [] for contender in contenders}
    for number in range(rounds):
        for contender in contenders if number % 2 == 0 else reversed(contenders):
            taken = [value for value in seconds[contender.name] if value is not None]
            if len(taken) >= FEWEST_ROUNDS and sum(taken) + taken[-1] > budget:
                seconds[contender.name].append(None)
                continue
            run, parts = runs[contender], [contender.fresh(each) for each in inputs[contender]]
            start = clock()
            for part in parts:
                run(part)
            seconds[contender.name].append(clock() - start)
    return seconds


def take_turns(
    calls: dict[str, Callable[[], object]], rounds: int, clock: Callable[[], float]
) -> dict[str, list[float]]:
    """Seconds of each call in each round, after a round that is not counted.

    Every second round is in reverse order.
    """
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds + 1):
        for name in calls if number % 2 == 0 else reversed(calls):
            start = clock()
            calls[name]()
            if number:
                seconds[name].append(clock() - start)
    return seconds


@dataclass
class Row:
    """The measurements of one contender in one case."""

    section: str
    case: dict[str, Any]  # what was measured, such as cell and batch size
    contender: str
    values: list[float | None]  # one per round, None if it took no turn
    unit: str = "s"  # or "bytes"
    trees: int = 0  # in a round
    nodes: int = 0  # in a round
    users: bool = True  # whether this is how users run it by default

    @property
    def taken(self) -> list[float]:
        """The values of the rounds in which it took a turn."""
        return [value for value in self.values if value is not None]

    @property
    def median(self) -> float:
        """The median over the rounds."""
        return statistics.median(self.taken)


def ratios(base: Row, row: Row) -> list[float]:
    """Speedups over the base, one per round in which both took turns."""
    pairs = zip(base.values, row.values, strict=True)
    return [theirs / ours for theirs, ours in pairs if theirs is not None and ours is not None]


@dataclass
class Results:
    """All results so far."""

    machine: dict[str, Any]
    options: dict[str, Any]
    rows: list[Row] = field(default_factory=list)
    notes: dict[str, list[str]] = field(default_factory=dict)  # section -> what is missing

    def note(self, section: str, text: str) -> None:
        """Adds a note to a section, once."""
        notes = self.notes.setdefault(section, [])
        if text not in notes:
            notes.append(text)

    def save(self, path: Path) -> None:
        """Writes a JSON file."""
        write_json(path, asdict(self), indent=1)
