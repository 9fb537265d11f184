"""What is measured, how often, and where the results go."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

SECTIONS = {
    "training": "steps of `graphsent train`, and of others",
    "contenders": "cells: our engine, other ways to propagate, and the limit",
    "cells": "every cell",
    "chains": "chains, deeper and deeper",
    "stars": "stars, wider and wider",
    "sizes": "larger and larger batches",
    "threads": "two threads against one",
    "memory": "the largest memory of a step",
}
# With the names in the results; of `sequence` there are two.
TREE_MODELS = ("treelstm", "treenet", "recnn", "arnn", "bitreelstm")
MODELS = (*TREE_MODELS, "sequence-sentences", "sequence", "kimcnn", "dcnn", "apdcnn")
KINDS = ("forward", "step")
CLOCKS: dict[str, Callable[[], float]] = {"cpu": time.process_time, "wall": time.perf_counter}


@dataclass(frozen=True)
class Options:
    """Options of a run.

    Attributes:
        data_dir: directory with the corpora.
        sections: what to run, names of SECTIONS.
        models: that are trained, names of MODELS.
        steps: of training before any is timed.
        training_batch_sizes: of models of trees; others have that of their paper.
        vectors: files of word vectors, as of ``graphsent train``; random ones if there is none.
        in_feats: size of the word vectors of cells.
        hidden_feats: size of the states.
        kinds: ``"forward"``, ``"step"``, or both, where both make sense.
        batch_sizes: trees a batch.
        trees_a_round: where batches are small a round has several, of about so many trees in all.
        rounds: how often every contender takes its turn.
        budget: seconds after which a contender takes no more turns in one comparison; it takes two
            in any case. Twice as many where cells are compared, two contenders at a time.
        threads: of torch.
        clock: ``"cpu"`` or ``"wall"``; where threads are compared it is always the latter.
        depths: of the chains.
        widths: of the stars.
        node_counts: nodes a batch.
        memory_of: contenders whose memory is measured; all if there is none.
        memory_cells: in these cells.
    """

    data_dir: str | None = None
    sections: tuple[str, ...] = tuple(SECTIONS)
    models: tuple[str, ...] = MODELS
    steps: int = 100
    training_batch_sizes: tuple[int, ...] = (25, 256)
    vectors: tuple[str, ...] = ()
    in_feats: int = 300
    hidden_feats: int = 150
    kinds: tuple[str, ...] = KINDS
    batch_sizes: tuple[int, ...] = (1, 25, 256)
    trees_a_round: int = 100
    rounds: int = 9
    budget: float = 2.0
    threads: int = 1
    clock: str = "cpu"
    depths: tuple[int, ...] = (10, 30, 100, 300, 1000, 2000)
    widths: tuple[int, ...] = (10, 100, 1000, 10_000, 100_000)
    node_counts: tuple[int, ...] = (1000, 10_000, 100_000, 1_000_000)
    memory_of: tuple[str, ...] = ()
    memory_cells: tuple[str, ...] = ("NaryTreeLSTM", "ChildSumTreeLSTM")

    def quick(self) -> Options:
        """The same in about three minutes: training steps alone, with more noise."""
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
            memory_of=("dgl", "levels, words"),
            memory_cells=("NaryTreeLSTM",),
        )


def parse(arguments: Sequence[str] | None, description: str) -> tuple[Options, argparse.Namespace]:
    """The options of a command line, and where the results go (``out``, ``docs``)."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = Options()
    parser.add_argument("--data-dir", help="default: GRAPHSENT_DATA, else the embedded data")
    parser.add_argument(
        "--only",
        dest="sections",
        type=lambda text: _names(text, SECTIONS),
        metavar="NAME[,NAME]",
        help="sections to run, of " + ", ".join(SECTIONS),
    )
    parser.add_argument(
        "--models",
        type=lambda text: _names(text, MODELS),
        metavar="NAME[,NAME]",
        help="models to train, of " + ", ".join(MODELS),
    )
    parser.add_argument("--steps", type=_positive, help=f"before timing, default {default.steps}")
    parser.add_argument("--vectors", nargs="+", metavar="FILE", help="default: random vectors")
    parser.add_argument(
        "--kinds", type=lambda text: _names(text, KINDS), metavar="KIND", help="forward, step"
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller sizes")
    parser.add_argument(
        "--trees-a-round", type=_positive, help=f"at least, default {default.trees_a_round}"
    )
    parser.add_argument("--rounds", type=_positive, help=f"default {default.rounds}")
    parser.add_argument("--budget", type=float, help="seconds a contender and comparison")
    parser.add_argument("--threads", type=_positive, help="default 1")
    parser.add_argument("--clock", choices=CLOCKS, help="default: cpu with one thread, else wall")
    parser.add_argument("--in-feats", type=_positive, help=f"default {default.in_feats}")
    parser.add_argument("--hidden-feats", type=_positive, help=f"default {default.hidden_feats}")
    for name in ("training-batch-sizes", "batch-sizes", "depths", "widths", "node-counts"):
        shown = ",".join(map(str, getattr(default, name.replace("-", "_"))))
        parser.add_argument(f"--{name}", type=_numbers, metavar="N[,N]", help=f"default {shown}")
    parser.add_argument(
        "--out", type=Path, default=Path("runs/benchmark"), help="directory for all"
    )
    parser.add_argument(
        "--docs",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="Markdown files whose marked blocks are replaced",
    )
    parsed = parser.parse_args(arguments)
    options = default.quick() if parsed.quick else default
    given = {field.name: getattr(parsed, field.name, None) for field in fields(Options)}
    if given["clock"] is None and (given["threads"] or 1) > 1:
        given["clock"] = "wall"
    if given["vectors"]:
        given["vectors"] = tuple(given["vectors"])
    known = {name: value for name, value in given.items() if value is not None}
    return replace(options, **known), parsed


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number of at least 1, got {text}")
    return number


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(_positive(part) for part in text.split(","))


def _names(text: str, valid: Iterable[str]) -> tuple[str, ...]:
    """Names in the order of the valid ones."""
    names = text.split(",")
    for name in names:
        if name not in valid:
            expected = ", ".join(valid)
            raise argparse.ArgumentTypeError(f"unknown {name!r}: expected some of {expected}")
    return tuple(name for name in valid if name in names)


def cpu_count() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
