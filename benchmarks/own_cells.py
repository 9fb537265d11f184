"""Speed of custom cells, against the cells of graphsent and against plain torch.

    python benchmarks/own_cells.py [--data-dir DATA] [--rounds 21] [--quick] [--markdown FILE]

The cells are in ``benchmarks/users_cells.py``, with input size 300 and hidden size 150 in
float32 on one thread.

* The N-ary and the attentive Tree-LSTM on constituency trees of ``sst/train.txt`` (or the embedded
  treebank), words at the leaves, against ``NaryTreeLSTM`` and ``AttentiveTreeLSTM``.
* A GRU over the gated sum of its predecessors and one that attends to them, on random acyclic
  graphs with shared successors and a word at each node, against the same cells run level by level
  in torch.

Measured are the forward pass, and forward and backward passes with gradients of words and weights.
The contenders take turns, ratios are medians over the rounds, and times are CPU times.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from unittest.mock import patch

import torch
import users_cells
from harness.data import Corpus
from harness.engines import SWITCH
from harness.measuring import take_turns
from harness.options import positive
from harness.tables import compared
from torch import Tensor, nn

from graphsent._dgl import dgl
from graphsent._files import write_atomically
from graphsent.cells import AttentiveTreeLSTM, IndexedFeat, NaryTreeLSTM

SIZES = (300, 150)
BATCHES = (1, 25, 256)
NUM_WORDS = 2000


def words_of(graph: dgl.DGLGraph, at: Tensor) -> IndexedFeat:
    """Random words at some nodes, with a skewed frequency distribution."""
    words = (torch.rand(graph.num_nodes()) ** 3 * NUM_WORDS).long()
    known, index = torch.unique(words[at], return_inverse=True)
    rows = torch.full((graph.num_nodes(),), -1)
    rows[at] = index
    return IndexedFeat(torch.randn(len(known), SIZES[0]) / 4, rows)


def acyclic(rng: random.Random) -> dgl.DGLGraph:
    """A random graph of about 20 nodes, with up to three predecessors each."""
    edges = []
    for node in range(1, rng.randint(5, 35)):
        near = range(max(0, node - 8), node)
        edges += [(before, node) for before in rng.sample(near, min(len(near), rng.randint(1, 3)))]
    return dgl.graph(edges)


def problems(corpus: Corpus, size: int) -> Iterator[tuple[str, nn.Module, nn.Module, list]]:
    """Name, two cells, and graphs with inputs; if the cells are the same, one runs in torch."""
    torch.manual_seed(0)
    trees = [batch.graph for batch in corpus.batches(size)[:3]]
    data = [(graph, words_of(graph, graph.in_degrees() == 0)) for graph in trees]
    yield "N-ary Tree-LSTM", NaryTreeLSTM(*SIZES), users_cells.Nary(*SIZES), data
    data = [(graph, words_of(graph, graph.in_degrees() >= 0)) for graph in trees]
    yield "attentive Tree-LSTM", AttentiveTreeLSTM(*SIZES), users_cells.Attentive(*SIZES), data
    rng = random.Random(0)
    graphs = [dgl.batch([acyclic(rng) for _ in range(size)]) for _ in range(3)]
    data = [(graph, words_of(graph, graph.in_degrees() >= 0)) for graph in graphs]
    for name, kind in (("gated sum", "GatedSum"), ("attention, GRU", "AttentionGRU")):
        cell = getattr(users_cells, kind)(*SIZES)
        yield name, cell, cell, data


def run(cell: nn.Module, kernels: str, data: Iterator[tuple], train: bool) -> None:
    """Runs a cell on the next graph, with compiled kernels or without."""
    graph, feat = next(data)
    os.environ[SWITCH] = kernels
    feat = feat._replace(rows=feat.rows.requires_grad_(train))
    with torch.set_grad_enabled(train):
        h = cell(graph, feat)
        if train:
            torch.autograd.grad(h.sum(), [feat.rows, *cell.parameters()], allow_unused=True)


def measure(corpus: Corpus, sizes: Sequence[int], rounds: int) -> dict[str, dict[str, list[float]]]:
    """The seconds of both contenders, by setting."""
    found = {}
    for size in sizes:
        for name, first, second, data in problems(corpus, size):
            for train in (False, True):
                kernels = "0" if first is second else "1"
                calls = {
                    "graphsent or torch": partial(run, first, kernels, cycle(data), train),
                    "custom": partial(run, second, "1", cycle(data), train),
                }
                setting = f"{name}, {'step' if train else 'forward'}, batch {size}"
                with patch.dict(os.environ):
                    found[setting] = take_turns(calls, rounds, time.process_time)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", help="directory with sst/train.txt")
    parser.add_argument("--rounds", type=positive, default=21)
    parser.add_argument("--quick", action="store_true", help="batches of 1, two rounds")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    sizes, rounds = ((1,), 2) if options.quick else (BATCHES, options.rounds)
    found = measure(Corpus(options.data_dir, max(BATCHES)), sizes, rounds)
    text = compared(found, "ratio")
    print(text, end="")
    if options.markdown:
        write_atomically(options.markdown, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
