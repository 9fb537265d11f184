"""Peak memory of a step, measured in a separate process."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import torch

from graphsent._machine import system_fields

from .bench import Bench
from .data import Corpus
from .measuring import Results, Row
from .options import Options

STEPS = 3


def measure_memory(bench: Bench, cell: str, contender: str, size: int) -> None:
    """Adds a row with the additional bytes at the peak of steps, or a note of a failure."""
    try:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            run = pool.submit(measure, bench.options, cell, contender, size)
            before, peak, nodes = run.result()
    except Exception as error:  # anything may end the other process
        bench.results.note("memory", f"{cell}, {contender} failed: {error!r}")
        return
    case = {"cell": cell, "batch": size, "what": "step", "before": before}
    row = Row("memory", case, contender, [peak - before], "bytes", size, nodes)
    bench.results.rows.append(row)


def measure(options: Options, cell: str, name: str, size: int) -> tuple[int, int, int]:
    """Bytes of this process before three steps and at their peak, and nodes of the batch.

    A warm-up step on a single tree loads what torch and the package load lazily.
    """
    torch.set_num_threads(options.threads)
    corpus = Corpus(options.data_dir, options.trees_a_round)
    bench = Bench(options, corpus, Results({}, {}), Path(os.devnull))
    make = next(make for make in bench.makers(cell) if make.name == name)
    contender = make(bench.model(cell))
    (single, *_), (batch, *_) = corpus.batches(1), corpus.batches(size)
    contender.step(contender.fresh(contender.prepare(single)))
    prepared = contender.prepare(batch)
    graphs = [contender.fresh(prepared) for _ in range(STEPS)]
    before = _bytes("VmRSS")
    for graph in graphs:
        contender.step(graph)
    return before, _bytes("VmHWM"), batch.graph.num_nodes()


def _bytes(name: str) -> int:
    """Memory of this process alone; getrusage would include the process that started it."""
    return int(system_fields("/proc/self/status")[name].removesuffix(" kB")) * 1024
