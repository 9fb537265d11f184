"""How fast convolution and pooling of the DCNN run over batches of sentences of mixed lengths.

    python benchmarks/convolution.py --data-dir DATA [--vectors FILE ...] [--rounds 7]
        [--training-only] [--json FILE] [--markdown FILE]

Takes sentences and, as the paper trains on them, phrases of ``sst/train.txt`` (or the embedded
``sentiment/train.txt``) in batches of 50, at the sizes of Kalchbrenner et al. 2014 for five and two
classes, in float32. The contenders take turns within a round, and ratios are medians over the
rounds, so that they hold on a machine that others use, too. For the same reason the clock is the
processor's by default.

* Training steps: whole steps of ``kimcnn``, ``dcnn`` and ``apdcnn`` on ``sst5``, with vectors of
  300 numbers and each model's own defaults, so with labelled phrases: batch, loss, gradients,
  optimizers, dropout. ``compiled`` has the kernels in C, ``torch`` the same without.
* Network: word vectors, two layers of convolution, folding, k-max pooling, bias and tanh, a linear
  output, cross-entropy; and gradients of all parameters. ``layers`` is the batch at once,
  ``per sentence`` one sentence after another without padding, with torch's own operations. Both
  give the same loss and gradients, which is checked first.
* Convolution: both layers of it alone, forward and with gradients. ``conv1d`` is torch's
  convolution of the padded batch, one group a row, and nothing else; ``conv1d, folded`` the same
  with two rows a group, which saves the addition; ``direct`` and ``fft`` are the layer, with masks
  and lengths.
* Filters: the first layer with other widths, ``direct`` against ``fft`` and ``auto``.
* Pooling: which values are kept, by torch's stable ``sort`` and by ``threshold``.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from harness.data import Corpus
from harness.dcnn import (
    BATCH_SIZE,
    CONTENDERS,
    ROWS,
    SIZES,
    Batch,
    Network,
    largest_difference,
    layer_inputs,
    loss,
    make_batches,
)
from harness.machine import machine
from harness.options import CLOCKS
from harness.steps import training_calls
from harness.tables import grid, spread
from torch import Tensor
from torch.nn import functional

from graphsent._files import atomic_path
from graphsent.errors import GraphsentError
from graphsent.layers import WideConv1d, dynamic_k, time_mask
from graphsent.layers.selection import by_sorting, by_threshold

TRAINED = ("kimcnn", "dcnn", "apdcnn")
FILTER_WIDTHS = (4, 8, 12, 16, 20, 24, 32, 48)
NUM_BATCHES = 4


Calls = dict[str, Callable[[], object]]


def take_turns(calls: Calls, rounds: int, clock: Callable[[], float]) -> dict[str, list[float]]:
    """Seconds of each call in each round, after a round that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds + 1):
        for name, call in calls.items():
            start = clock()
            call()
            if number:
                seconds[name].append(clock() - start)
    return seconds


def network_calls(network: Network, batches: list[Batch], train: bool) -> Calls:
    """Losses of all batches, or gradients."""
    parameters = list(network.parameters())

    def run(name: str) -> None:
        with torch.set_grad_enabled(train):
            for batch in batches:
                value = loss(network, batch, name)
                if train:
                    torch.autograd.grad(value, parameters)

    return {name: lambda name=name: run(name) for name in CONTENDERS}


Convolution = Callable[[Tensor, Tensor], Tensor]


def convolutions(convolve: WideConv1d) -> dict[str, Convolution]:
    """Ways to convolve with the filters of a layer."""
    pairs = convolve.weight.detach().unflatten(0, (convolve.rows // 2, 2, -1)).transpose(1, 2)
    folded = pairs.flatten(2, 3).flatten(0, 1).contiguous().requires_grad_()
    padding = convolve.width - 1

    def by_layer(x: Tensor, lengths: Tensor, method: str) -> Tensor:
        convolve.method = method
        return convolve(x, lengths)[0]

    return {
        "conv1d": lambda x, _: functional.conv1d(
            x, convolve.weight, padding=padding, groups=convolve.rows
        ),
        "conv1d, folded": lambda x, _: functional.conv1d(
            x, folded, padding=padding, groups=convolve.rows // 2
        ),
        "direct": lambda x, lengths: by_layer(x, lengths, "direct"),
        "fft": lambda x, lengths: by_layer(x, lengths, "fft"),
        "auto": lambda x, lengths: by_layer(x, lengths, "auto"),
    }


def convolution_calls(
    cases: list[tuple[WideConv1d, Tensor, Tensor]], names: Sequence[str], train: bool
) -> Calls:
    """Results, or gradients, of layers for their inputs and lengths."""
    ways = [(convolutions(convolve), x, lengths) for convolve, x, lengths in cases]

    def run(name: str) -> None:
        with torch.set_grad_enabled(train):
            for way, x, lengths in ways:
                y = way[name](x, lengths)
                if train:
                    y.backward(torch.ones_like(y))

    return {name: lambda name=name: run(name) for name in names}


def selection_calls(network: Network, batches: list[Batch]) -> Calls:
    """Which values of the first layer are kept."""
    cases = []
    for batch in batches:
        convolve, x, lengths = layer_inputs(network, batch)[0]
        y, steps = convolve(x.detach(), lengths)
        y = y.detach().masked_fill(~time_mask(steps, y.shape[2])[:, None], -torch.inf).contiguous()
        k = torch.minimum(dynamic_k(lengths, network.sizes.k_top, 1, 2), steps)
        cases.append((y, k, int(k.max())))
        assert torch.equal(by_sorting(*cases[-1]), by_threshold(*cases[-1]))
    methods = {"sort": by_sorting, "threshold": by_threshold}
    return {
        name: lambda select=select: [select(*case) for case in cases]
        for name, select in methods.items()
    }


class Row(NamedTuple):
    """One line of a table: what was run, and the seconds of each contender in each round."""

    table: str
    setting: str
    seconds: dict[str, list[float]]

    def ratio(self, name: str) -> float:
        """How many times as fast as the first contender: the median over the rounds."""
        base = next(iter(self.seconds.values()))
        pairs = zip(base, self.seconds[name], strict=True)
        return statistics.median(theirs / ours for theirs, ours in pairs)


def measure(
    name: str, parts: Sequence, num_words: int, rounds: int, clock: Callable[[], float]
) -> list[Row]:
    """All rows for one kind of input."""
    rows = []
    batches = make_batches(parts, NUM_BATCHES)
    for classes, sizes in SIZES.items():
        torch.manual_seed(0)
        network = Network(sizes, num_words)
        difference = largest_difference(network, batches[0])
        if not difference < 1e-10:
            raise SystemExit(f"error: gradients differ by {difference:.1e}")
        inputs = [case for batch in batches for case in layer_inputs(network, batch)]
        ways = list(convolutions(network.convolutions[0]))[:4]
        for train in (False, True):
            setting = f"{name}, {classes}, {'gradients' if train else 'forward'}"
            calls = network_calls(network, batches, train)
            rows.append(Row("network", setting, take_turns(calls, rounds, clock)))
            calls = convolution_calls(inputs, ways, train)
            rows.append(Row("convolution", setting, take_turns(calls, rounds, clock)))
        calls = selection_calls(network, batches)
        rows.append(Row("pooling", f"{name}, {classes}", take_turns(calls, rounds, clock)))
    return rows + measure_widths(name, batches, rounds, clock)


def measure_training(
    data_dir: str | None, vectors: Sequence[str], rounds: int, clock: Callable[[], float]
) -> list[Row]:
    """Whole training steps of the models."""
    return [
        Row("training steps", model, take_turns(calls, rounds, clock))
        for model in TRAINED
        for calls in [training_calls(model, data_dir, tuple(vectors), NUM_BATCHES)]
    ]


def measure_widths(
    name: str, batches: list[Batch], rounds: int, clock: Callable[[], float]
) -> list[Row]:
    """The first layer with filters of other widths."""
    rows = []
    for width in FILTER_WIDTHS:
        convolve = WideConv1d(ROWS, ROWS * 6, width, rows=ROWS, fold=True)
        inputs = [
            (convolve, torch.randn(BATCH_SIZE, ROWS, batch.words.shape[1]), batch.lengths)
            for batch in batches
        ]
        calls = convolution_calls(inputs, ("direct", "fft", "auto"), True)
        rows.append(Row("filters", f"{name}, width {width}", take_turns(calls, rounds, clock)))
    return rows


def tables(rows: list[Row]) -> str:
    """A table for each kind of run: milliseconds a batch, and how many times as fast."""
    texts = []
    for table in dict.fromkeys(row.table for row in rows):
        chosen = {row.setting: row for row in rows if row.table == table}
        first, *names = next(iter(chosen.values())).seconds
        column = f"{first}, ms"

        def text(setting: str, name: str, chosen=chosen, first=first, column=column) -> str:
            row = chosen[setting]
            if name == column:
                return spread([1000 * value / NUM_BATCHES for value in row.seconds[first]], 1)
            return f"{row.ratio(name):.2f}"

        texts.append(grid(table, chosen, [column, *names], text))
    return "\n\n".join(texts) + "\n"


def samples(corpus: Corpus) -> dict[str, list[tuple[list[int], int]]]:
    """Words and label of all sentences, and of all phrases."""
    phrases = []
    sentences = []
    for tree in corpus.trees:
        words = [corpus.vocab[word] for word in tree.words]
        spans = zip(tree.spans.tolist(), tree.labels, strict=True)
        parts = [(words[begin:end], int(label)) for (begin, end), label in spans]
        sentences.append(parts[0])
        phrases += parts
    return {"sentences": sentences, "phrases": phrases}


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The arguments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", help="default: GRAPHSENT_DATA, else the embedded data")
    parser.add_argument("--vectors", nargs="+", default=[], help="of words, for training steps")
    parser.add_argument("--training-only", action="store_true", help="training steps alone")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--clock", choices=CLOCKS, default="cpu")
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--markdown", type=Path, help="file for the tables")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark."""
    options = parse(arguments)
    torch.set_num_threads(options.threads)
    try:
        corpus = Corpus(options.data_dir, 0)
    except GraphsentError as error:
        raise SystemExit(f"error: {error}") from error
    clock = CLOCKS[options.clock]
    rows = measure_training(options.data_dir, options.vectors, options.rounds, clock)
    for name, parts in () if options.training_only else samples(corpus).items():
        rows += measure(name, parts, len(corpus.vocab), options.rounds, clock)
    about = machine()
    text = (
        f"{about['processor']}, torch {torch.__version__}, {options.threads} thread(s), "
        f"{options.clock} clock, {options.rounds} rounds; {corpus.name}, batches of {BATCH_SIZE}; "
        f"times as fast as the first contender\n\n{tables(rows)}"
    )
    print(text)
    figures = {"machine": about, "corpus": corpus.name, "rows": [row._asdict() for row in rows]}
    for path, content in (
        (options.markdown, text),
        (options.json, json.dumps(figures, indent=2) + "\n"),
    ):
        if path:
            with atomic_path(path) as temporary:
                temporary.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
