"""The measurements of each section."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import torch

from . import engines
from .bench import Bench
from .data import Batch, chain, star
from .machine import cpu_count, free_gib
from .measuring import Contender
from .memory import measure_memory
from .options import SECTIONS, TREE_CELLS
from .training import run_training

# Name in the results: class, options, and the direction of its graphs.
CELLS: dict[str, tuple[str, dict[str, Any], str]] = {
    "RecursiveCell": ("RecursiveCell", {}, "bottom_up"),
    "NaryTreeLSTM": ("NaryTreeLSTM", {}, "bottom_up"),
    "NaryTreeLSTM, affine leaves": ("NaryTreeLSTM", {"leaf": "affine"}, "bottom_up"),
    "ChildSumTreeLSTM": ("ChildSumTreeLSTM", {}, "bottom_up"),
    "ChildSumTreeGRU": ("ChildSumTreeGRU", {}, "bottom_up"),
    "AttentiveTreeLSTM": ("AttentiveTreeLSTM", {}, "bottom_up"),
    "AttentiveTreeGRU": ("AttentiveTreeGRU", {}, "bottom_up"),
    "HeadLexicalizer": ("HeadLexicalizer", {}, "bottom_up"),
    "LexicalizedTreeLSTM": ("LexicalizedTreeLSTM", {}, "bottom_up"),
    "TopDownTreeLSTM": ("TopDownTreeLSTM", {}, "top_down"),
    "BiTreeLSTM": ("BiTreeLSTM", {}, "bottom_up"),
    "TreeNet": ("TreeNet", {}, "sibling"),
}
CHAINS_A_BATCH = (1, 25)
MOST_DGL_NODES = 20_000
MOST_DGL_ROWS = 4_000_000
"""Nodes times levels: DGL copies the states of all nodes at each level."""
BYTES_A_FEATURE = 100
"""Memory of a step per node and hidden feature; measured."""


def run_contenders(bench: Bench) -> None:
    """Every way to propagate."""
    for name in TREE_CELLS:
        model = bench.model(name)
        for size in bench.options.batch_sizes:
            contenders = [make(model) for make in bench.makers(name)]
            case = {"cell": name, "batch": size}
            bench.compare(case, contenders, bench.corpus.batches(size))


def run_cells(bench: Bench) -> None:
    """Every cell, on DGL and on our engine."""
    for shown, (name, options, direction) in CELLS.items():
        model = bench.model(name, **options)
        for size in bench.options.batch_sizes:
            contenders = [engines.Dgl(model), engines.Words(model)]
            case = {"cell": shown, "batch": size}
            bench.compare(case, contenders, bench.corpus.batches(size, direction))


def run_chains(bench: Bench) -> None:
    """Chains, one or several at once."""
    word = bench.corpus.vocab.words[-1]
    for count in CHAINS_A_BATCH:
        for depth in bench.options.depths:
            batch = bench.corpus.batch([chain(depth, word)] * count)
            case = {"cell": "NaryTreeLSTM", "chains": count, "depth": depth}
            _dgl_and_ours(bench, case, [batch], MOST_DGL_ROWS // depth)


def run_stars(bench: Bench) -> None:
    """One node with many children."""
    words = [word for tree in bench.corpus.trees for word in tree.words]
    for width in bench.options.widths:
        leaves = (words * (-(-width // len(words))))[:width]
        case = {"cell": "ChildSumTreeLSTM", "width": width}
        _dgl_and_ours(bench, case, [bench.corpus.batch([star(leaves)])])


def run_sizes(bench: Bench) -> None:
    """Batches of increasing size, as far as memory suffices."""
    for count in bench.options.node_counts:
        needed, free = count * bench.options.hidden_feats * BYTES_A_FEATURE / 2**30, free_gib()
        if free is not None and needed > free:
            note = f"{count:,} nodes are skipped: they need {needed:.0f} GiB, {free:.0f} are free"
            bench.results.note("sizes", note)
            continue
        batches = bench.corpus.of_nodes(count)
        case = {"cell": "NaryTreeLSTM", "nodes": count, "batches": len(batches)}
        _dgl_and_ours(bench, case, batches, MOST_DGL_NODES)


def _dgl_and_ours(
    bench: Bench, case: dict[str, Any], batches: Sequence[Batch], most_dgl_nodes: float = inf
) -> None:
    model = bench.model(case["cell"])
    makers = [engines.Dgl, engines.DropIn, engines.Words]
    if batches[0].graph.num_nodes() > most_dgl_nodes:
        makers = [engines.Words]
    bench.compare(case, [make(model) for make in makers], batches)


def run_threads(bench: Bench) -> None:
    """Steps with one and with two threads, in wall-clock time."""
    if cpu_count() < 2:
        bench.results.note("threads", "there is only one core")
        return
    model = bench.model("NaryTreeLSTM")
    for size in bench.options.batch_sizes:
        contenders = [
            with_threads(make(model), threads)
            for make in (engines.Dgl, engines.Words)
            for threads in (1, 2)
        ]
        case = {"cell": "NaryTreeLSTM", "batch": size}
        bench.compare(case, contenders, bench.corpus.batches(size), ["step"])
    torch.set_num_threads(bench.options.threads)


def with_threads(contender: Contender, threads: int) -> Contender:
    """The contender, setting the number of threads before each of its turns."""
    fresh = contender.fresh

    def fresh_with_threads(prepared: Any) -> Any:
        torch.set_num_threads(threads)
        return fresh(prepared)

    contender.fresh = fresh_with_threads
    contender.name += f", {threads} thread{'s' if threads > 1 else ''}"
    return contender


def run_memory(bench: Bench) -> None:
    """Peak memory of a step, each contender in its own process."""
    size = max(bench.options.batch_sizes)
    for name in bench.options.memory_cells:
        for make in bench.makers(name):
            bench.say(f"memory, {name}, batch {size}, {make.name}")
            measure_memory(bench, name, make.name, size)
            bench.save()


RUNS = (run_training, run_contenders, run_cells, run_chains, run_stars, run_sizes)
RUN = dict(zip(SECTIONS, (*RUNS, run_threads, run_memory), strict=True))


def run_all(bench: Bench) -> None:
    """Runs the requested sections."""
    for section in bench.options.sections:
        bench.section = section
        RUN[section](bench)
