"""How fast graphsent trains, beside others; and how fast its cells are.

    python benchmarks/propagation.py --data-dir DATA [--vectors FILE] [--quick]
        [--only NAME[,NAME]] [--out DIRECTORY] [--docs docs/performance.md README.md]

The section ``training`` comes first: whole steps of ``graphsent train`` after some training, see
``benchmarks/harness/training.py``. All others call cells that have fresh weights, over the
constituency trees of ``sst/train.txt`` (or the embedded ``sentiment/train.txt``) at 300 / 150 in
float32, words at the leaves: there a step is look-up, propagation, a linear output on every node,
cross-entropy, gradients and AdaGrad, and graphs are made before. ``benchmarks/harness/engines.py``
says what their contenders are.

In each comparison contenders have the same weights, their results are compared with those of the
first, and they take turns, so that ratios hold on a machine that others use, too; for the same
reason the clock is the processor's. There is one thread unless asked otherwise.
``pip install 'graphsent[bench]'`` brings the packages of others; one that is missing is
reported, and the rest measured.

Writes ``propagation.json`` after each comparison, and ``propagation.md`` at the end, to
the output directory, also when it is interrupted. ``--docs`` has the tables written into the marked
blocks of documents, too.
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
from harness.report import Report, check_documents
from harness.sections import run_all

from graphsent.errors import GraphsentError

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark."""
    options, files = parse(arguments, __doc__)
    if files.docs:
        check_documents(files.docs, options.sections)
    try:
        corpus = Corpus(options.data_dir, options.trees_a_round)
    except GraphsentError as error:
        raise SystemExit(f"error: {error}") from error
    vectors = [Path(path).name for path in options.vectors]
    about = {**asdict(options), "data_dir": None, "vectors": vectors, "corpus": corpus.name}
    results = Results(machine(), about)
    bench = Bench(options, corpus, results, files.out / "propagation.json")
    status = 0
    try:
        run_all(bench)
    except KeyboardInterrupt:
        bench.say("interrupted; what was measured is kept")
        status = INTERRUPTED
    finally:
        bench.save()
        report = Report(results, files.out)
        print(report.write())
        for document in files.docs:
            report.update(document)
        bench.say(f"results in {files.out}; {time.process_time():.0f} s of processor time")
    return status


if __name__ == "__main__":
    sys.exit(main())
