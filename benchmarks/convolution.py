"""How fast convolution and pooling of the DCNN run over batches of sentences of mixed lengths.

    python benchmarks/convolution.py --data-dir DATA [--rounds 7] [--json FILE] [--markdown FILE]

Takes sentences and, as the paper trains on them, phrases of ``sst/train.txt`` (or the embedded
``sentiment/train.txt``) in batches of 50, at the sizes of Kalchbrenner et al. 2014 for five and two
classes, in float32. The contenders take turns within a round, and ratios are medians over the
rounds, so that they hold on a machine that others use, too. For the same reason the clock is the
processor's by default.

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
import platform
import random
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from graphsent.layers import (
    BiasActivation,
    DynamicKMaxPooling,
    WideConv1d,
    dynamic_k,
    time_mask,
    zero_beyond,
)
from graphsent.layers.selection import by_sorting, by_threshold
from graphsent.tasks.data_dir import resolve_data_dir
from graphsent.trees import Tree, read_trees
from graphsent.vocabulary import Vocabulary

FILES = ("sst/train.txt", "sentiment/train.txt")
BATCH_SIZE, ROWS, NUM_CLASSES = 50, 48, 5
FILTER_WIDTHS = (4, 8, 12, 16, 20, 24, 32, 48)
CLOCKS = {"cpu": time.process_time, "wall": time.perf_counter}


class Sizes(NamedTuple):
    """Of a network with two layers."""

    widths: tuple[int, int]
    maps: tuple[int, int]
    k_top: int


SIZES = {"five classes": Sizes((10, 7), (6, 12), 5), "two classes": Sizes((7, 5), (6, 14), 4)}


class Network(nn.Module):
    """The DCNN, twice: over a batch, and over one sentence."""

    def __init__(self, sizes: Sizes, num_words: int) -> None:
        super().__init__()
        self.sizes = sizes
        self.table = nn.Embedding(num_words, ROWS)
        (width, next_width), (maps, next_maps), k_top = sizes
        half = ROWS // 2
        self.convolutions = nn.ModuleList([
            WideConv1d(ROWS, ROWS * maps, width, rows=ROWS, fold=True),
            WideConv1d(half * maps, half * next_maps, next_width, rows=half, fold=True),
        ])  # fmt: skip
        self.poolings = nn.ModuleList([DynamicKMaxPooling(k_top, 1, 2)])
        self.poolings.append(DynamicKMaxPooling(k_top, 2, 2))
        self.activations = nn.ModuleList(
            BiasActivation(convolution.out_channels) for convolution in self.convolutions
        )
        self.output = nn.Linear(self.convolutions[1].out_channels * k_top, NUM_CLASSES)

    def over_batch(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Logits of a padded batch of sentences."""
        x, steps = self.table(words).transpose(1, 2), lengths
        parts = zip(self.convolutions, self.poolings, self.activations, strict=True)
        for convolve, pool, activate in parts:
            x, steps = convolve(x, steps)
            x, steps = pool(x, steps, lengths)
            x = activate(x, steps)
        return self.output(x.flatten(1))

    def over_sentence(self, words: Tensor) -> Tensor:
        """Logits of one sentence, with torch's operations."""
        x = self.table(words).t()
        for layer, convolve in enumerate(self.convolutions, start=1):
            padding = convolve.width - 1
            x = functional.conv1d(x, convolve.weight, padding=padding, groups=convolve.rows)
            first, second = x.unflatten(0, (convolve.rows // 2, 2, -1)).unbind(1)
            x = (first + second).flatten(0, 1)
            k = dynamic_k(torch.tensor(len(words)), self.sizes.k_top, layer, 2)
            kept = x.topk(int(k), 1).indices.sort(1).values
            bias = self.activations[layer - 1].bias
            x = torch.tanh(x.gather(1, kept) + bias[:, None])
        return self.output(x.flatten())


class Batch(NamedTuple):
    """Sentences one by one, and padded."""

    sentences: list[Tensor]
    words: Tensor
    lengths: Tensor
    labels: Tensor


def make_batches(parts: Sequence[tuple[list[int], int]], num_batches: int) -> list[Batch]:
    """Batches of random sentences, without those of no words."""
    chosen = random.Random(0).sample(list(parts), min(len(parts), BATCH_SIZE * num_batches))
    batches = []
    for first in range(0, len(chosen) - BATCH_SIZE + 1, BATCH_SIZE):
        words, labels = zip(*chosen[first : first + BATCH_SIZE], strict=True)
        sentences = [torch.tensor(numbers) for numbers in words]
        lengths = torch.tensor([len(sentence) for sentence in sentences])
        padded = pad_sequence(sentences, batch_first=True)
        batches.append(Batch(sentences, padded, lengths, torch.tensor(labels)))
    if not batches:
        raise SystemExit(f"error: expected at least {BATCH_SIZE} sentences, got {len(chosen)}")
    return batches


def loss(network: Network, batch: Batch, contender: str) -> Tensor:
    """Cross-entropy of a batch."""
    if contender == "layers":
        logits = network.over_batch(batch.words, batch.lengths)
    else:
        logits = torch.stack([network.over_sentence(words) for words in batch.sentences])
    return functional.cross_entropy(logits, batch.labels)


def check_equal(network: Network, batch: Batch) -> float:
    """The largest difference of gradients in float64."""
    network = network.double()
    parameters = list(network.parameters())
    found = [torch.autograd.grad(loss(network, batch, name), parameters) for name in CONTENDERS]
    network.float()
    return max((a - b).abs().max().item() for a, b in zip(*found, strict=True))


CONTENDERS = ("per sentence", "layers")
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


def layer_inputs(network: Network, batch: Batch) -> list[tuple[WideConv1d, Tensor, Tensor]]:
    """Each convolution with what it gets in the network."""
    first, second = network.convolutions
    with torch.no_grad():
        x = zero_beyond(network.table(batch.words).transpose(1, 2), batch.lengths).contiguous()
        y, steps = network.poolings[0](*first(x, batch.lengths), batch.lengths)
        y = network.activations[0](y, steps).contiguous()
    return [(first, x.requires_grad_(), batch.lengths), (second, y.requires_grad_(), steps)]


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
    batches = make_batches(parts, 4)
    for classes, sizes in SIZES.items():
        torch.manual_seed(0)
        network = Network(sizes, num_words)
        difference = check_equal(network, batches[0])
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
    """A Markdown table for each kind of run: milliseconds, and how many times as fast."""
    lines = []
    for table in dict.fromkeys(row.table for row in rows):
        chosen = [row for row in rows if row.table == table]
        first, *names = chosen[0].seconds
        lines += [
            f"| {table} | {first}, ms (min - max) | " + " | ".join(names) + " |",
            "| --- | --- |" + " --- |" * len(names),
        ]
        for row in chosen:
            base = [1000 * value for value in row.seconds[first]]
            spread = f"{statistics.median(base):.1f} ({min(base):.1f} - {max(base):.1f})"
            ratios = " | ".join(f"{row.ratio(name):.2f}" for name in names)
            lines.append(f"| {row.setting} | {spread} | {ratios} |")
        lines.append("")
    return "\n".join(lines)


def load_trees(data_dir: Path) -> list[Tree]:
    """The trees of the first of FILES that is there."""
    for name in FILES:
        if (data_dir / name).is_file():
            return read_trees(data_dir / name)
    raise SystemExit(f"error: no {' or '.join(FILES)} in {data_dir}")


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", help="default: GRAPHSENT_DATA, else the embedded data")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--clock", choices=CLOCKS, default="cpu")
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--markdown", type=Path, help="file for the tables")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    trees = load_trees(resolve_data_dir(arguments.data_dir))
    vocab = Vocabulary.from_trees(trees)
    sentences, phrases = [], []
    for tree in trees:
        words = [vocab[word] for word in tree.words]
        parts = [
            (words[begin:end], int(label))
            for (begin, end), label in zip(tree.spans.tolist(), tree.labels, strict=True)
        ]
        sentences.append(parts[0])
        phrases += parts
    rows = []
    for name, parts in (("sentences", sentences), ("phrases", phrases)):
        clock = CLOCKS[arguments.clock]
        rows += measure(name, parts, len(vocab), arguments.rounds, clock)
    text = (
        f"{platform.machine()}, torch {torch.__version__}, {arguments.threads} thread(s), "
        f"{arguments.clock} clock, {arguments.rounds} rounds; batches of {BATCH_SIZE}; "
        f"times as fast as the first contender\n\n{tables(rows)}"
    )
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(text)
    if arguments.json:
        figures = [row._asdict() for row in rows]
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
