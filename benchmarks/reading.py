"""Speed of reading trees and of building graphs from them.

    python benchmarks/reading.py --data-dir DATA [--json FILE]

Reads ``sst/train.txt`` (or the embedded ``sentiment/train.txt``) from the data directory and prints
a Markdown table: median and range of wall-clock times over the rounds, with one thread. The ways to
build graphs take turns within a round, so that their ratios hold on a shared machine.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch
from harness.data import Corpus
from harness.measuring import take_turns
from harness.options import positive

from graphsent._files import write_json
from graphsent.graphs import DIRECTIONS, batch, constituency_batch, constituency_graph
from graphsent.trees import Tree, read_trees

BATCH_SIZES = (25, 256)


def batches(trees: Sequence[Tree], size: int) -> Iterator[Sequence[Tree]]:
    """The trees in batches of ``size``."""
    for first in range(0, len(trees), size):
        yield trees[first : first + size]


def contenders(corpus: Corpus) -> dict[str, Callable[[], object]]:
    """What is timed, by name: each handles all trees once."""
    trees, vocab = corpus.trees, corpus.vocab

    def build(direction: str, size: int) -> None:
        for part in batches(trees, size):
            constituency_batch(part, direction, vocab)

    def build_one_by_one(size: int) -> None:
        for part in batches(trees, size):
            batch([constituency_graph(tree, "bottom_up", vocab) for tree in part])

    runs: dict[str, Callable[[], object]] = {"read the file": lambda: read_trees(corpus.path)}
    for size in BATCH_SIZES:
        for direction in DIRECTIONS:
            runs[f"{direction}, batch {size}"] = lambda d=direction, n=size: build(d, n)
        runs[f"one graph per tree, batch {size}"] = lambda n=size: build_one_by_one(n)
    return runs


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", help="default: GRAPHSENT_DATA, else the embedded data")
    parser.add_argument("--rounds", type=positive, default=5)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    corpus = Corpus(options.data_dir, 0)
    seconds = take_turns(contenders(corpus), options.rounds, time.perf_counter)

    count = len(corpus.trees)
    print(f"{count} trees of {corpus.name}, {platform.machine()}, one thread\n")
    print("| | seconds (min - max) | trees/s |\n| --- | --- | --- |")
    for name, times in seconds.items():
        median = statistics.median(times)
        print(
            f"| {name} | {median:.3f} ({min(times):.3f} - {max(times):.3f}) "
            f"| {count / median:,.0f} |"
        )
    if options.json:
        write_json(options.json, {"trees": count, "seconds": seconds}, indent=2)


if __name__ == "__main__":
    main()
