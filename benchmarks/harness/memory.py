"""The largest memory of a step, measured in a process of its own.

    python -m harness.memory CELL CONTENDER BATCH_SIZE OPTIONS

prints how many bytes of memory the process had before the first step, and at most until the end of
the third, as JSON. The step before, of a single tree, loads what torch and the package load late.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from .measuring import Row

if TYPE_CHECKING:
    from .bench import Bench

STEPS = 3


def measure_memory(bench: Bench, cell: str, contender: str, size: int) -> None:
    """Adds a row of the bytes that steps take beyond those before; notes a failure."""
    arguments = [cell, contender, str(size), json.dumps(asdict(bench.options))]
    done = subprocess.run(
        [sys.executable, "-m", "harness.memory", *arguments],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2]
        bench.results.note("memory", f"{cell}, {contender} failed: {last}")
        return
    sizes = json.loads(done.stdout.splitlines()[-1])
    case = {"cell": cell, "batch": size, "what": "step", "before": sizes["before"]}
    values = [sizes["peak"] - sizes["before"]]
    row = Row("memory", case, contender, values, "bytes", size, sizes["nodes"])
    bench.results.rows.append(row)


def largest_bytes() -> int:
    """The most memory that this process has had so far."""
    peak = _status("VmHWM")  # what getrusage tells includes the process that started this one
    if peak is None:
        import resource  # not on every system

        unit = 1 if sys.platform == "darwin" else 1024
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return peak


def current_bytes() -> int:
    """The memory that this process has now; the most so far where the system does not say."""
    now = _status("VmRSS")
    return largest_bytes() if now is None else now


def _status(name: str) -> int | None:
    try:
        text = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return None
    found = re.search(rf"^{name}:\s*(\d+) kB$", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def main() -> None:
    """Measures, prints."""
    import torch

    from .bench import Bench
    from .data import Corpus
    from .measuring import Results
    from .options import Options

    cell, name, size, text = sys.argv[1:]
    options = Options(**json.loads(text))
    torch.set_num_threads(options.threads)
    corpus = Corpus(options.data_dir, options.trees_a_round)
    bench = Bench(options, corpus, Results({}, {}), Path(os.devnull))
    contender = bench.maker(cell, name)(bench.model(bench.cell(cell)))
    (single, *_), (batch, *_) = bench.corpus.batches(1), bench.corpus.batches(int(size))
    contender.step(contender.fresh(contender.prepare(single)))
    prepared = contender.prepare(batch)
    graphs = [contender.fresh(prepared) for _ in range(STEPS)]
    before = current_bytes()
    for graph in graphs:
        contender.step(graph)
    figures = {"before": before, "peak": largest_bytes(), "nodes": batch.graph.num_nodes()}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
