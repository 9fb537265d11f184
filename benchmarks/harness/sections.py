"""What is measured, section by section."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from . import engines
from .bench import TREE_CELLS, Bench
from .data import Batch, chain, star
from .machine import available_memory
from .measuring import Contender
from .memory import measure_memory
from .options import cpu_count
from .training import run_training

# Name in the results, class, options, and the direction of its graphs.
CELLS: tuple[tuple[str, str, dict[str, Any], str], ...] = (
    ("RecursiveCell", "RecursiveCell", {}, "bottom_up"),
    ("NaryTreeLSTM", "NaryTreeLSTM", {}, "bottom_up"),
    ("NaryTreeLSTM, affine leaves", "NaryTreeLSTM", {"leaf": "affine"}, "bottom_up"),
    ("ChildSumTreeLSTM", "ChildSumTreeLSTM", {}, "bottom_up"),
    ("ChildSumTreeGRU", "ChildSumTreeGRU", {}, "bottom_up"),
    ("AttentiveTreeLSTM", "AttentiveTreeLSTM", {}, "bottom_up"),
    ("AttentiveTreeGRU", "AttentiveTreeGRU", {}, "bottom_up"),
    ("HeadLexicalizer", "HeadLexicalizer", {}, "bottom_up"),
    ("LexicalizedTreeLSTM", "LexicalizedTreeLSTM", {}, "bottom_up"),
    ("TopDownTreeLSTM", "TopDownTreeLSTM", {}, "top_down"),
    ("BiTreeLSTM", "BiTreeLSTM", {}, "bottom_up"),
    ("TreeNet", "TreeNet", {}, "sibling"),
)
CHAINS_A_BATCH = (1, 25)
MOST_DGL_NODES = 20_000
MOST_DGL_ROWS = 4_000_000
"""Nodes times levels: it copies the states of all nodes at each level."""
BYTES_A_FEATURE = 100
"""Of memory that a node takes in a step, for each of the hidden features; measured."""


def run_contenders(bench: Bench) -> None:
    """Every way to propagate that there is, with the word table frozen."""
    for name in TREE_CELLS:
        model = bench.model(bench.cell(name))
        for size in bench.options.batch_sizes:
            case = {"cell": name, "batch": size}
            contenders = [make(model) for make in bench.makers(name)]
            bench.compare(case, contenders, bench.corpus.batches(size))


def run_cells(bench: Bench) -> None:
    """Every cell, on DGL and on our engine."""
    for shown, name, options, direction in CELLS:
        model = bench.model(bench.cell(name, **options))
        for size in bench.options.batch_sizes:
            makers = (engines.DglEngine, engines.Words)
            batches = bench.corpus.batches(size, direction)
            case = {"cell": shown, "batch": size}
            bench.compare(case, [make(model) for make in makers], batches)


def run_chains(bench: Bench) -> None:
    """Chains, one of them and several at once."""
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
    """Batches of more and more nodes; those that would not fit into memory are left out."""
    for count in bench.options.node_counts:
        needed, there = count * bench.options.hidden_feats * BYTES_A_FEATURE, available_memory()
        if there is not None and needed > there:
            bench.results.note(
                "sizes",
                f"{count:,} nodes are left out, they need about {needed / 2**30:.0f} GiB "
                f"and {there / 2**30:.0f} are free",
            )
            continue
        batches = bench.corpus.of_nodes(count)
        case = {"cell": "NaryTreeLSTM", "nodes": count, "batches": len(batches)}
        _dgl_and_ours(bench, case, batches, MOST_DGL_NODES)


def _dgl_and_ours(
    bench: Bench, case: dict[str, Any], batches: Sequence[Batch], most: int | None = None
) -> None:
    model = bench.model(bench.cell(case["cell"]))
    makers: Sequence[Callable[..., Contender]] = (engines.Functions, engines.DropIn, engines.Words)
    if most is not None and batches[0].graph.num_nodes() > most:
        makers = (engines.Words,)
    bench.compare(case, [make(model) for make in makers], batches)


def run_threads(bench: Bench) -> None:
    """Steps with one thread and with two, by the clock on the wall."""
    if cpu_count() < 2:
        bench.results.note("threads", "there is one core only")
        return
    model = bench.model(bench.cell("NaryTreeLSTM"))
    for size in bench.options.batch_sizes:
        contenders = [
            Threaded(make(model), threads)
            for make in (engines.Functions, engines.Words)
            for threads in (1, 2)
        ]
        case = {"cell": "NaryTreeLSTM", "batch": size}
        bench.compare(case, contenders, bench.corpus.batches(size), ["step"])
    torch.set_num_threads(bench.options.threads)


class Threaded(Contender):
    """A contender with a number of threads."""

    def __init__(self, contender: Contender, threads: int) -> None:
        self.contender = contender
        self.threads = threads
        self.name = f"{contender.name}, {threads} thread{'s' if threads > 1 else ''}"

    def prepare(self, batch: Batch) -> Any:
        """See :class:`Contender`."""
        return self.contender.prepare(batch)

    def forward(self, prepared: Any) -> None:
        """See :class:`Contender`."""
        self.contender.forward(prepared)

    def step(self, prepared: Any) -> None:
        """See :class:`Contender`."""
        self.contender.step(prepared)

    def outcome(self, prepared: Any) -> Any:
        """See :class:`Contender`."""
        return self.contender.outcome(prepared)

    def fresh(self, prepared: Any) -> Any:
        """See :class:`Contender`; also sets the number of threads of what comes next."""
        torch.set_num_threads(self.threads)
        return self.contender.fresh(prepared)


def run_memory(bench: Bench) -> None:
    """The largest memory of a step, each contender in a process of its own."""
    size, chosen = max(bench.options.batch_sizes), bench.options.memory_of
    for name in bench.options.memory_cells:
        for make in bench.makers(name):
            if make is engines.FlatWords or (chosen and make.name not in chosen):
                continue
            bench.say(f"memory, {name}, batch {size}, {make.name}")
            measure_memory(bench, name, make.name, size)
            bench.save()


RUN: dict[str, Callable[[Bench], None]] = {
    "training": run_training,
    "contenders": run_contenders,
    "cells": run_cells,
    "chains": run_chains,
    "stars": run_stars,
    "sizes": run_sizes,
    "threads": run_threads,
    "memory": run_memory,
}


def run_all(bench: Bench) -> None:
    """Runs the sections asked for."""
    for section in bench.options.sections:
        bench.section = section
        RUN[section](bench)
