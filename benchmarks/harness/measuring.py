"""Contenders that take turns, and what is kept of it."""

from __future__ import annotations

import json
import statistics
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphsent._files import atomic_path

from .data import Batch

FEWEST_ROUNDS = 2


class Contender(ABC):
    """One way to propagate, with a model of its own.

    Attributes:
        name: in the results.
        comparable: whether its states are those of the others.
    """

    name: str
    comparable = True

    @abstractmethod
    def prepare(self, batch: Batch) -> Any:
        """The batch as it needs it; once, and not timed."""

    def fresh(self, prepared: Any) -> Any:
        """What it has not seen before, so that it cannot keep anything; not timed."""
        return prepared

    def forward(self, prepared: Any) -> None:
        """Look-up, propagation, output at every node and loss, without gradients."""
        raise NotImplementedError

    @abstractmethod
    def step(self, prepared: Any) -> None:
        """The same with gradients, and a step of AdaGrad."""

    @abstractmethod
    def outcome(self, prepared: Any) -> tuple[np.ndarray, float]:
        """The states of all nodes by node, and the loss."""


Seconds = dict[str, list[float | None]]


def race(
    contenders: Sequence[Contender],
    batches: Sequence[Batch],
    what: str,
    rounds: int,
    budget: float,
    clock: Callable[[], float],
) -> Seconds:
    """Seconds of each contender in each round, None where it took no turn.

    A round is one run over all batches by each contender in turn, in the opposite order every
    second time. Before the first all of them run over the first batch.

    Args:
        contenders: who takes part.
        batches: what a round consists of.
        what: ``"forward"`` or ``"step"``.
        rounds: number of rounds.
        budget: seconds after which a contender takes no more turns, once it has had two.
        clock: gives seconds.
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
            run, fresh = runs[contender], map(contender.fresh, inputs[contender])
            parts = list(fresh)
            start = clock()
            for part in parts:
                run(part)
            seconds[contender.name].append(clock() - start)
    return seconds


@dataclass
class Row:
    """What was measured of one contender in one case.

    Attributes:
        section: of the benchmark.
        case: what was measured, such as cell and batch size.
        contender: its name.
        values: of each round, None where it took no turn.
        unit: of the values, ``"s"`` or ``"bytes"``.
        trees: that a round handles.
        nodes: that a round handles.
        difference: of its states from those of the first contender, at most; None if that was not
            compared.
        loss: of the first batch, before any step; None for what is not compared.
        facts: what else is known, by name.
    """

    section: str
    case: dict[str, Any]
    contender: str
    values: list[float | None]
    unit: str = "s"
    trees: int = 0
    nodes: int = 0
    difference: float | None = None
    loss: float | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def taken(self) -> list[float]:
        """The values that there are."""
        return [value for value in self.values if value is not None]

    @property
    def median(self) -> float:
        """The median over the rounds."""
        return statistics.median(self.taken)


def ratios(base: Row, row: Row) -> list[float]:
    """How many times less than the base it took, in each round in which both took turns."""
    pairs = zip(base.values, row.values, strict=True)
    return [theirs / ours for theirs, ours in pairs if theirs is not None and ours is not None]


@dataclass
class Results:
    """All that is known so far.

    Attributes:
        machine: what it ran on, by name.
        options: what was asked for.
        rows: figures.
        notes: what could not be measured, and why, by section.
    """

    machine: dict[str, Any]
    options: dict[str, Any]
    rows: list[Row] = field(default_factory=list)
    notes: dict[str, list[str]] = field(default_factory=dict)

    def note(self, section: str, text: str) -> None:
        """Adds a note about a section, once."""
        notes = self.notes.setdefault(section, [])
        if text not in notes:
            notes.append(text)

    def of(self, section: str, **case: Any) -> list[Row]:
        """The rows of a section in which these parts of the case are so."""
        return [
            row
            for row in self.rows
            if row.section == section and all(row.case.get(k) == v for k, v in case.items())
        ]

    def save(self, path: Path) -> None:
        """Writes a JSON file."""
        with atomic_path(path) as temporary:
            temporary.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
