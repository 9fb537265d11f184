"""Training speed of graphsent against other implementations, and speed of its cells.

    python benchmarks/propagation.py --data-dir DATA [--vectors FILE] [--quick]
        [--only NAME[,NAME]] [--out DIRECTORY] [--docs docs/performance.md README.md]

The section ``training`` comes first: whole steps of ``graphsent train`` after some training, see
``benchmarks/harness/training.py``. All other sections call cells with fresh weights, on the
constituency trees of ``sst/train.txt`` (or the embedded ``sentiment/train.txt``) with input size
300, hidden size 150 and float32, words at the leaves. There, a step consists of embedding look-up,
propagation, a linear output at every node, cross-entropy, gradients and AdaGrad; building graphs is
not timed. ``benchmarks/harness/engines.py`` describes the contenders.

In each comparison, the contenders have the same weights, their results are checked against those of
the first, and they take turns, so that ratios hold on a shared machine; for the same reason, CPU
time is measured. The default is one thread. ``pip install 'graphsent[bench]'`` installs the other
packages; a missing one is reported, and the rest measured.

Writes ``propagation.json`` to the output directory after each comparison, and ``propagation.md`` at
the end, even when interrupted. ``--docs`` also writes the tables into marked blocks of documents.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from harness.bench import Bench
from harness.data import Corpus
from harness.machine import machine
from harness.measuring import Results
from harness.options import parse
from harness.report import check_documents, report
from harness.sections import run_all

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark."""
    options, files = parse(arguments, __doc__)
    if files.docs:
        check_documents(files.docs, options.sections)
    corpus = Corpus(options.data_dir, options.trees_a_round)
    vectors = [Path(path).name for path in options.vectors]
    about = {**asdict(options), "data_dir": None, "vectors": vectors, "corpus": corpus.name}
    results = Results(machine(), about)
    bench = Bench(options, corpus, results, files.out / "propagation.json")
    status = 0
    try:
        run_all(bench)
    except KeyboardInterrupt:
        bench.say("interrupted; the measurements so far are kept")
        status = INTERRUPTED
    finally:
        bench.save()
        print(report(results, files.out, files.docs))
        bench.say(f"results in {files.out}; {time.process_time():.0f} s of CPU time")
    return status


if __name__ == "__main__":
    sys.exit(main())
