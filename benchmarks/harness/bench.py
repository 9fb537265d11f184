"""Shared by the sections: models, contenders, and comparisons, which are checked and saved."""

from __future__ import annotations

import importlib
import math
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
"""Factors of the budget, so that slow contenders take more than two turns."""
PACKAGE = ("pytorch-tree-lstm", "tree_lstm_package", "PytorchTreeLSTM")
Make = Callable[..., Contender]


@contextmanager
def quiet_dgl() -> Iterator[None]:
    """Silences DGL's warning about nodes without children."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The input graph for the user-defined edge function")
        yield


class Bench:
    """A run of the benchmark, which writes all results to ``path`` after each comparison."""

    def __init__(self, options: Options, corpus: Corpus, results: Results, path: Path) -> None:
        self.options = options
        self.corpus = corpus
        self.results = results
        self.path = path
        self.section = ""  # the current one
        self.started = time.perf_counter()

    def say(self, text: str) -> None:
        """Reports progress on stderr."""
        seconds = time.perf_counter() - self.started
        print(f"[{seconds:6.1f} s] {text}", file=sys.stderr, flush=True)

    def model(self, cell: str, **options: Any) -> Model:
        """A model with a cell of the requested sizes, with the same weights each time."""
        sizes = (self.options.in_feats, self.options.hidden_feats)
        torch.manual_seed(0)
        made = getattr(cells, cell)(*sizes[: 1 if cell == "HeadLexicalizer" else 2], **options)
        torch.manual_seed(1)
        return Model(made, len(self.corpus.vocab))

    def makers(self, cell: str) -> list[Make]:
        """The classes of all contenders for a cell, DGL first; missing packages are noted."""
        makers = [*engines.ALL]
        if cell == "ChildSumTreeLSTM":
            makers.append(self.installed(*PACKAGE))
        return [make for make in makers if make]

    def installed(self, distribution: str, module: str, name: str) -> Make | None:
        """The class of ``peers`` for another package; None, with a note, if it is not installed."""
        try:
            return getattr(importlib.import_module(f"peers.{module}"), name)
        except ImportError as error:
            self.results.note(self.section, f"{distribution}: not installed ({error})")
            return None

    def compare(
        self,
        case: dict[str, Any],
        contenders: Sequence[Contender],
        batches: Sequence[Batch],
        kinds: Sequence[str] | None = None,
    ) -> None:
        """Times the contenders that agree with the first."""
        with quiet_dgl():
            same = self.agreeing(case, contenders, batches[0])
            rows = self.measure(case, same, batches, kinds or self.options.kinds)
        for row in rows:
            row.trees = sum(len(batch.trees) for batch in batches)
            row.nodes = sum(batch.graph.num_nodes() for batch in batches)
        self.save()

    def agreeing(
        self, case: dict[str, Any], contenders: Sequence[Contender], batch: Any
    ) -> list[Contender]:
        """The contenders whose states and loss equal those of the first; others are noted."""
        base, found = contenders[0], []
        states, loss = base.outcome(base.prepare(batch))
        for contender in contenders:
            its_states, its_loss = contender.outcome(contender.prepare(batch))
            difference = float(np.abs(its_states - states).max())
            if difference < TOLERANCE and math.isclose(its_loss, loss, rel_tol=TOLERANCE):
                found.append(contender)
                continue
            where = ", ".join(f"{name} {value}" for name, value in case.items())
            self.results.note(
                self.section,
                f"{where}: {contender.name} is left out: its states differ by {difference:.2g} "
                f"and its loss is {its_loss:.6g}, not {loss:.6g}",
            )
        return found

    def measure(
        self,
        case: dict[str, Any],
        contenders: Sequence[Contender],
        batches: Sequence[Any],
        kinds: Sequence[str],
    ) -> list[Row]:
        """Times contenders in turn and returns the new rows."""
        options, rows = self.options, []
        torch.set_num_threads(options.threads)
        budget = options.budget * MORE_BUDGET.get(self.section, 1)
        clock = CLOCKS["wall" if self.section == "threads" else options.clock]
        for kind in kinds:
            self.say(", ".join([self.section, *(f"{k} {v}" for k, v in case.items()), kind]))
            seconds = race(contenders, batches, kind, options.rounds, budget, clock)
            now = {**case, "what": kind}
            rows += [Row(self.section, now, name, values) for name, values in seconds.items()]
        self.results.rows += rows
        return rows

    def save(self) -> None:
        """Writes the results so far."""
        self.results.save(self.path)
