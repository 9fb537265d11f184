"""Command-line options: what is measured, how often, and where results are written."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

SECTIONS = {
    "training": "steps of `graphsent train` and other implementations",
    "contenders": "two cells: our engine and other ways to propagate",
    "cells": "every cell",
    "chains": "chains of increasing depth",
    "stars": "stars of increasing width",
    "sizes": "batches of increasing size",
    "threads": "two threads vs. one",
    "memory": "peak memory of a step",
}
TREE_CELLS = ("NaryTreeLSTM", "ChildSumTreeLSTM")
# By their names in the results; `sequence` has two variants. The first are timed at several batch
# sizes, all others at their own.
TREE_MODELS = ("treelstm", "treenet", "recnn", "arnn", "bitreelstm")
WITH_TREES = (*TREE_MODELS, "apdcnn", "arnn-relatedness", "parse-reranker")
MODELS = (*WITH_TREES, "sequence-sentences", "sequence", "kimcnn", "dcnn")
PROGRAM, DGL = "graphsent train", 'engine="dgl"'
FIRST = f"{PROGRAM}, first steps"
KINDS = ("forward", "step")
CLOCKS: dict[str, Callable[[], float]] = {"cpu": time.process_time, "wall": time.perf_counter}


def positive(text: str) -> int:
    """Parses an integer of at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected an integer of at least 1, got {text}")
    return number


def numbers(text: str) -> tuple[int, ...]:
    """Parses integers of at least 1, separated by commas."""
    return tuple(positive(part) for part in text.split(","))


def names_of(valid: Iterable[str]) -> Callable[[str], tuple[str, ...]]:
    """Parses names, in the order of the valid ones."""

    def read(text: str) -> tuple[str, ...]:
        names = text.split(",")
        for name in names:
            if name not in valid:
                expected = ", ".join(valid)
                raise argparse.ArgumentTypeError(f"unknown {name!r}: expected some of {expected}")
        return tuple(name for name in valid if name in names)

    return read


def _option(default: Any, what: str, **how: Any) -> Any:
    """A field of Options with its help and argparse settings."""
    return field(default=default, metadata={"help": what, **how})


@dataclass(frozen=True)
class Options:
    """Options of a run, also on the command line, where ``sections`` is ``--only``."""

    data_dir: str | None = _option(None, "default: GRAPHSENT_DATA, else the embedded data")
    sections: tuple[str, ...] = _option(tuple(SECTIONS), "sections to run", type=names_of(SECTIONS))
    models: tuple[str, ...] = _option(MODELS, "models to train", type=names_of(MODELS))
    steps: int = _option(100, "training steps before timing", type=positive)
    training_batch_sizes: tuple[int, ...] = _option((25, 256), "for tree models", type=numbers)
    vectors: tuple[str, ...] = _option((), "files of word vectors; random by default", nargs="+")
    in_feats: int = _option(300, "input size of cells", type=positive)
    hidden_feats: int = _option(150, "hidden size of cells", type=positive)
    kinds: tuple[str, ...] = _option(KINDS, "passes to time, if both apply", type=names_of(KINDS))
    batch_sizes: tuple[int, ...] = _option((1, 25, 256), "batch sizes of cells", type=numbers)
    trees_a_round: int = _option(100, "trees per round, in one or more batches", type=positive)
    rounds: int = _option(9, "maximum turns of each contender", type=positive)
    budget: float = _option(2.0, "seconds after which a contender stops", type=float)
    threads: int = _option(1, "torch threads", type=positive)
    clock: str = _option("cpu", "clock; wall with several threads", choices=CLOCKS)
    depths: tuple[int, ...] = _option((10, 30, 100, 300, 1000, 2000), "of chains", type=numbers)
    widths: tuple[int, ...] = _option((10, 100, 1000, 10_000, 100_000), "of stars", type=numbers)
    node_counts: tuple[int, ...] = _option(
        (1000, 10_000, 100_000, 10**6), "per batch", type=numbers
    )
    memory_cells: tuple[str, ...] = _option(TREE_CELLS, "names", type=names_of(TREE_CELLS))

    def quick(self) -> Options:
        """Options for a run of a few minutes: only steps, with more noise."""
        return replace(
            self,
            training_batch_sizes=(25,),
            kinds=("step",),
            trees_a_round=25,
            rounds=3,
            budget=0.2,
            depths=(10, 100, 300),
            widths=(10, 1000),
            node_counts=(1000, 10_000, 100_000),
            memory_cells=("NaryTreeLSTM",),
        )


def parse(arguments: Sequence[str] | None, description: str) -> tuple[Options, argparse.Namespace]:
    """Parses a command line: the options, and where results are written (``out``, ``docs``)."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for each in fields(Options):
        how = {"metavar": "N[,N]" if each.metadata.get("type") is numbers else None}
        how.update(each.metadata)
        if each.default:
            shown = (
                ",".join(map(str, each.default)) if type(each.default) is tuple else each.default
            )
            how["help"] += f"; default {shown}"
        flag = "only" if each.name == "sections" else each.name.replace("_", "-")
        parser.add_argument(f"--{flag}", dest=each.name, **how)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller sizes")
    parser.add_argument("--out", type=Path, default=Path("runs/benchmark"), help="output directory")
    what = "Markdown files in which to replace the marked blocks"
    parser.add_argument("--docs", type=Path, nargs="+", default=[], metavar="FILE", help=what)
    parsed = parser.parse_args(arguments)
    options = Options().quick() if parsed.quick else Options()
    given = {each.name: getattr(parsed, each.name) for each in fields(Options)}
    if given["clock"] is None and (given["threads"] or 1) > 1:
        given["clock"] = "wall"
    if given["vectors"]:
        given["vectors"] = tuple(given["vectors"])
    known = {name: value for name, value in given.items() if value is not None}
    return replace(options, **known), parsed
