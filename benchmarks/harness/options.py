"""What is measured, how often, and where the results go."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

SECTIONS = {
    "training": "steps of `graphsent train`, and of others",
    "contenders": "two cells: our engine, and other ways to propagate",
    "cells": "every cell",
    "chains": "chains, deeper and deeper",
    "stars": "stars, wider and wider",
    "sizes": "larger and larger batches",
    "threads": "two threads against one",
    "memory": "the largest memory of a step",
}
TREE_CELLS = ("NaryTreeLSTM", "ChildSumTreeLSTM")
# By their names in the results; of `sequence` there are two.
TREE_MODELS = ("treelstm", "treenet", "recnn", "arnn", "bitreelstm")
MODELS = (*TREE_MODELS, "sequence-sentences", "sequence", "kimcnn", "dcnn", "apdcnn")
PROGRAM, DGL = "graphsent train", 'engine="dgl"'
KINDS = ("forward", "step")
CLOCKS: dict[str, Callable[[], float]] = {"cpu": time.process_time, "wall": time.perf_counter}


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number of at least 1, got {text}")
    return number


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(_positive(part) for part in text.split(","))


def _names(valid: Iterable[str]) -> Callable[[str], tuple[str, ...]]:
    """Reads names, into the order of the valid ones."""

    def read(text: str) -> tuple[str, ...]:
        names = text.split(",")
        for name in names:
            if name not in valid:
                expected = ", ".join(valid)
                raise argparse.ArgumentTypeError(f"unknown {name!r}: expected some of {expected}")
        return tuple(name for name in valid if name in names)

    return read


def _option(default: Any, what: str, **how: Any) -> Any:
    """A field of Options with its help and how argparse reads it."""
    return field(default=default, metadata={"help": what, **how})


@dataclass(frozen=True)
class Options:
    """Options of a run; each is one of the command line, ``sections`` being ``--only``."""

    data_dir: str | None = _option(None, "default: GRAPHSENT_DATA, else the embedded data")
    sections: tuple[str, ...] = _option(tuple(SECTIONS), "sections to run", type=_names(SECTIONS))
    models: tuple[str, ...] = _option(MODELS, "models to train", type=_names(MODELS))
    steps: int = _option(100, "of training before any is timed", type=_positive)
    training_batch_sizes: tuple[int, ...] = _option((25, 256), "of tree models", type=_numbers)
    vectors: tuple[str, ...] = _option((), "files of word vectors; random without", nargs="+")
    in_feats: int = _option(300, "size of the word vectors of cells", type=_positive)
    hidden_feats: int = _option(150, "size of the states of cells", type=_positive)
    kinds: tuple[str, ...] = _option(KINDS, "where both make sense", type=_names(KINDS))
    batch_sizes: tuple[int, ...] = _option((1, 25, 256), "trees a batch, of cells", type=_numbers)
    trees_a_round: int = _option(100, "in several batches if these are small", type=_positive)
    rounds: int = _option(9, "turns of each contender, at most", type=_positive)
    budget: float = _option(2.0, "seconds for more than two turns of a contender", type=float)
    threads: int = _option(1, "of torch", type=_positive)
    clock: str = _option("cpu", "wall by default with several threads", choices=CLOCKS)
    depths: tuple[int, ...] = _option((10, 30, 100, 300, 1000, 2000), "of chains", type=_numbers)
    widths: tuple[int, ...] = _option((10, 100, 1000, 10_000, 100_000), "of stars", type=_numbers)
    node_counts: tuple[int, ...] = _option((1000, 10_000, 100_000, 10**6), "sizes", type=_numbers)
    memory_cells: tuple[str, ...] = _option(TREE_CELLS, "names", type=_names(TREE_CELLS))

    def quick(self) -> Options:
        """The same in a few minutes: training steps alone, with more noise."""
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
    """The options of a command line, and where the results go (``out``, ``docs``)."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for each in fields(Options):
        how = {"metavar": "N[,N]" if each.metadata.get("type") is _numbers else None}
        how.update(each.metadata)
        if each.default:
            shown = (
                ",".join(map(str, each.default)) if type(each.default) is tuple else each.default
            )
            how["help"] += f"; default {shown}"
        flag = "only" if each.name == "sections" else each.name.replace("_", "-")
        parser.add_argument(f"--{flag}", dest=each.name, **how)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller sizes")
    parser.add_argument("--out", type=Path, default=Path("runs/benchmark"), help="directory")
    what = "Markdown files whose marked blocks are replaced"
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
