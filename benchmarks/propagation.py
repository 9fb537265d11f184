"""How fast states are propagated over batches of trees: DGL, others, our engine, and the limit.

    python benchmarks/propagation.py --data-dir DATA [--quick] [--only NAME[,NAME]]
        [--out DIRECTORY] [--docs docs/performance.md]

Everything runs over the constituency trees of ``sst/train.txt`` (or the embedded
``sentiment/train.txt``) at 300 / 150 in float32 with one thread, words at the leaves. A step is
look-up, propagation, a linear output on every node, cross-entropy, gradients and AdaGrad. Graphs
are made before; the section ``batching`` says what that costs. In each comparison contenders have
the same weights, their states are compared with DGL's before, and they take turns, so that ratios
hold on a machine that others use, too; for the same reason the clock is the processor's.

What the contenders are is told in ``benchmarks/harness/engines.py`` and, for the packages of
others, in ``dynet38.py`` and ``tree_lstm_package.py`` beside it. ``pip install 'graphsent[bench]'``
brings these; a package that is missing is reported, and the rest measured.

Writes ``propagation.json`` after each comparison, and ``propagation.md`` with plots at the end, to
the output directory, also when it is interrupted. ``--docs`` has the tables written into the marked
blocks of a document, too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict

from harness.bench import Bench
from harness.data import Corpus
from harness.machine import machine
from harness.measuring import Results
from harness.options import parse
from harness.report import Report, check_document
from harness.sections import run_all

from graphsent.errors import GraphsentError

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark."""
    options, files = parse(arguments, __doc__)
    if files.docs:
        check_document(files.docs, options.sections)
    try:
        corpus = Corpus(options.data_dir, options.trees_a_round)
    except GraphsentError as error:
        raise SystemExit(f"error: {error}") from error
    about = {**asdict(options), "data_dir": None, "corpus": corpus.name}
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
        if files.docs:
            report.update(files.docs)
        bench.say(f"results in {files.out}; {time.process_time():.0f} s of processor time")
    return status


if __name__ == "__main__":
    sys.exit(main())
