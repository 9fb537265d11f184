"""What the sections share: contenders by cell, comparisons that are checked and kept."""

from __future__ import annotations

import importlib
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from graphsent import cells

from . import engines
from .data import Batch, Corpus
from .measuring import Contender, Results, Row, race
from .model import Model
from .options import CLOCKS, Options

TOLERANCE = 1e-4
MORE_BUDGET = {"training": 5, "contenders": 4, "cells": 2}
"""Times the budget, so that the median of slow contenders is one of more than two rounds."""
TREE_CELLS = ("NaryTreeLSTM", "ChildSumTreeLSTM")
Make = Callable[..., Contender]
Outcomes = dict[str, tuple[float | None, float | None]]


@contextmanager
def quiet_dgl() -> Iterator[None]:
    """Without what DGL says about leaves."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The input graph for the user-defined edge function")
        yield


class Bench:
    """A run.

    Args:
        options: what to measure.
        corpus: the trees.
        results: where figures go.
        path: file that has all results after each comparison.

    Attributes:
        section: that is being run.
    """

    def __init__(self, options: Options, corpus: Corpus, results: Results, path: Path) -> None:
        self.options = options
        self.corpus = corpus
        self.results = results
        self.path = path
        self.section = ""
        self.started = time.perf_counter()

    def say(self, text: str) -> None:
        """Tells on stderr what happens now."""
        seconds = time.perf_counter() - self.started
        print(f"[{seconds:6.1f} s] {text}", file=sys.stderr, flush=True)

    def cell(self, name: str, **options: Any) -> torch.nn.Module:
        """A cell of the sizes asked for, with the same weights each time."""
        torch.manual_seed(0)
        cls, sizes = getattr(cells, name), (self.options.in_feats, self.options.hidden_feats)
        return cls(*sizes[: 1 if name == "HeadLexicalizer" else 2], **options)

    def model(self, cell: torch.nn.Module) -> Model:
        """A model with this cell, and the same weights each time."""
        torch.manual_seed(1)
        return Model(cell, len(self.corpus.vocab))

    def makers(self, cell: str) -> list[Make]:
        """All contenders for a cell, DGL first; what is not installed is noted."""
        ours = (engines.DropIn, engines.Levels, engines.WordsInTorch, engines.Words)
        return [engines.Functions, *ours, *self._packages(cell), engines.FlatWords]

    def maker(self, cell: str, name: str) -> Make:
        """The contender of this name."""
        return next(make for make in self.makers(cell) if make.name == name)

    def compare(
        self,
        case: dict[str, Any],
        contenders: Sequence[Contender],
        batches: Sequence[Batch],
        kinds: Sequence[str] | None = None,
    ) -> None:
        """Lets contenders race whose states are those of the first; keeps the results."""
        with quiet_dgl():
            outcomes = self.check(case, contenders, batches[0])
            same = [each for each in contenders if each.name in outcomes]
            rows = self.measure(case, same, batches, kinds or self.options.kinds, outcomes)
        for row in rows:
            row.trees = sum(len(batch.trees) for batch in batches)
            row.nodes = sum(batch.graph.num_nodes() for batch in batches)
        self.save()

    def measure(
        self,
        case: dict[str, Any],
        contenders: Sequence[Contender],
        batches: Sequence[Any],
        kinds: Sequence[str],
        outcomes: Outcomes,
    ) -> list[Row]:
        """Lets contenders race; the rows that this adds to the results."""
        options, rows = self.options, []
        torch.set_num_threads(options.threads)
        budget = options.budget * MORE_BUDGET.get(self.section, 1)
        clock = CLOCKS["wall" if self.section == "threads" else options.clock]
        for kind in kinds:
            self.say(", ".join([self.section, *(f"{k} {v}" for k, v in case.items()), kind]))
            seconds = race(contenders, batches, kind, options.rounds, budget, clock)
            for contender, values in seconds.items():
                row = Row(self.section, {**case, "what": kind}, contender, values)
                row.difference, row.loss = outcomes[contender]
                rows.append(row)
        self.results.rows += rows
        return rows

    def save(self) -> None:
        """Writes what is known."""
        self.results.save(self.path)

    def check(self, case: dict[str, Any], contenders: Sequence[Contender], batch: Any) -> Outcomes:
        """How much the states differ from the first's, and the losses; of those that agree."""
        base = contenders[0]
        first, loss = base.outcome(base.prepare(batch))
        outcomes: Outcomes = {base.name: (0.0, loss)}
        for contender in contenders[1:]:
            if not contender.comparable:
                outcomes[contender.name] = (None, None)
                continue
            states, its_loss = contender.outcome(contender.prepare(batch))
            difference = float(np.abs(states - first).max())
            if difference < TOLERANCE and abs(its_loss - loss) < TOLERANCE * abs(loss):
                outcomes[contender.name] = (difference, its_loss)
                continue
            where = ", ".join(f"{name} {value}" for name, value in case.items())
            self.results.note(
                self.section,
                f"{where}: {contender.name} is left out, its states differ by {difference:.2g} "
                f"and its loss is {its_loss:.6g}, not {loss:.6g}",
            )
        return outcomes

    def _packages(self, cell: str) -> list[Make]:
        if cell != "ChildSumTreeLSTM":
            return []
        found = self.installed("pytorch-tree-lstm", "tree_lstm_package", "PytorchTreeLSTM")
        return [found] if found else []

    def installed(self, distribution: str, module: str, name: str) -> Make | None:
        """A class of the harness for a package of others; it is noted if that is not there."""
        try:
            return getattr(importlib.import_module(f"harness.{module}"), name)
        except ImportError as error:
            self.results.note(self.section, f"{distribution}: not installed ({error})")
            return None
