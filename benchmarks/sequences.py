"""Speed of LSTM and GRU on sentences of mixed lengths, against those of torch.

    python benchmarks/sequences.py [--data-dir DATA] [--rounds 7] [--json FILE] [--markdown FILE]

The contenders take turns within a round, and ratios are of medians over the rounds, so that they
hold on a shared machine. For the same reason, CPU time is measured by default.

* Layers with input size 300 and hidden size 168, float32: ``graphsent.layers.LSTM`` and ``GRU`` on
  a padded batch with its lengths (without lengths for a single sentence); torch's on the packed
  batch, including packing and unpacking; and torch's on the padded batch, with outputs beyond the
  lengths set to zero (its last states and its reverse direction do not match the sentences).
  Timed are the forward pass, and forward and backward passes with gradients of inputs and weights.
  The ratio is to the faster of torch's two.
* Model: training steps of ``sequence``, with the loss, the gradients and the AdaGrad of
  ``graphsent train``, on batches of 25 sentences of ``sst/train.txt`` (or the embedded treebank),
  with and without phrases, from new weights and after 100 steps. ``torch`` is the model without the
  engine: every sequence by itself in a packed batch of ``torch.nn.LSTM``.
"""

from __future__ import annotations

import argparse
import copy
import json
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any, NamedTuple

import torch
from harness.data import NUM_CLASSES, Corpus
from harness.machine import machine
from harness.measuring import take_turns
from harness.options import CLOCKS, positive
from harness.tables import grid, spread
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from graphsent._files import write_atomically
from graphsent.layers import GRU, LSTM, time_mask
from graphsent.models import model_class
from graphsent.training import TrainingOptions
from graphsent.training.optimizers import build_optimizers, take_step

SIZES = (300, 168)
# Number of sentences, minimum and maximum length. Torch takes half a minute for a packed batch of
# 256 long ones.
BATCHES = ((1, 3, 40), (25, 3, 40), (256, 3, 40), (1, 100, 400), (25, 100, 400))
CELLS = {"LSTM": (LSTM, nn.LSTM), "GRU": (GRU, nn.GRU)}
STEPS = 100
BATCH_SIZE = 25
NUM_BATCHES = 4

Calls = dict[str, Callable[[], object]]


class Row(NamedTuple):
    """Seconds of each contender in each round, graphsent first."""

    table: str
    setting: str
    seconds: dict[str, list[float]]

    def ratio(self) -> float:
        """Speedup of graphsent over the best of the others, from the medians over the rounds."""
        ours, *others = (statistics.median(values) for values in self.seconds.values())
        return min(others) / ours


def layer_calls(
    cell: str, bidirectional: bool, lengths: Tensor, train: bool
) -> tuple[Calls, float]:
    """The contenders on sentences of these lengths, and how far their outputs differ."""
    layers = [make(*SIZES, batch_first=True, bidirectional=bidirectional) for make in CELLS[cell]]
    ours, theirs = layers
    ours.load_state_dict(theirs.state_dict())
    longest, known = int(lengths.max()), lengths if len(lengths) > 1 else None
    x = torch.randn(len(lengths), longest, SIZES[0], requires_grad=train)
    own = time_mask(lengths, longest)[:, :, None]

    def packed() -> Tensor:
        batch = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(theirs(batch)[0], batch_first=True)[0]

    def padded() -> Tensor:
        return theirs(x)[0].masked_fill(~own, 0)

    def run(layer: nn.Module, output: Callable[[], Tensor]) -> None:
        with torch.set_grad_enabled(train):
            y = output()
            if train:
                torch.autograd.grad(y.sum(), [x, *layer.parameters()])

    calls = {
        "graphsent": partial(run, ours, lambda: ours(x, lengths=known)[0]),
        "packed": partial(run, theirs, packed),
        "padded": partial(run, theirs, padded),
    }
    with torch.no_grad():
        difference = float((ours(x, lengths=known)[0] - packed()).abs().max())
    return calls, difference


def layer_rows(options: argparse.Namespace, clock: Callable[[], float]) -> Iterator[Row]:
    """One row per cell, direction, batch size, range of lengths and pass."""
    for size, low, high in options.batches:
        generator = torch.Generator().manual_seed(size)
        lengths = torch.randint(low, high + 1, (size,), generator=generator)
        for cell, both, train in product(CELLS, (False, True), (False, True)):
            torch.manual_seed(0)
            calls, difference = layer_calls(cell, both, lengths, train)
            if not difference < 1e-4:
                raise SystemExit(f"error: outputs differ by {difference:.1e}")
            words = int(lengths.sum())
            rounds = max(1, options.rounds * min(8, max(1, 4000 // words)) // (1 + words // 20000))
            setting = (
                f"{cell}, {'both directions, ' if both else ''}{size} x {low} to {high} words, "
                f"{'with gradients' if train else 'forward'}"
            )
            yield Row("layer", setting, take_turns(calls, rounds, clock))


class Trained:
    """A model that is trained on some batches in turn."""

    def __init__(self, corpus: Corpus, options: dict[str, Any], by_engine: bool) -> None:
        torch.manual_seed(0)
        self.model = model_class("sequence")(
            corpus.vocab, NUM_CLASSES, sparse_embedding=True, **options
        ).train()
        if not by_engine:
            before_the_engine(self.model)
        self.optimizers = build_optimizers(self.model, TrainingOptions())

    def step(self, batch: Any) -> float:
        """Takes a step on a batch and returns the loss."""
        loss = self.model.loss(self.model(batch), batch, "all")
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        loss.backward()
        take_step(self.optimizers)
        return float(loss.detach())


def before_the_engine(model: nn.Module) -> None:
    """Makes a model look up every occurrence of a word, and run torch's layers."""
    model.encoder.cell.engine = "torch"
    model.node_states = lambda batch: model.encoder(model.embedding(batch.tokens), batch.ranges)


def model_rows(
    corpus: Corpus, options: argparse.Namespace, clock: Callable[[], float]
) -> Iterator[Row]:
    """Steps of the model, from new weights and after some steps of training."""
    for phrases, (cell, both) in product((False, True), options.models):
        choice = {"phrases": phrases, "cell": cell, "bidirectional": both}
        models = {
            name: Trained(corpus, choice, name == "graphsent") for name in ("graphsent", "torch")
        }
        collate = models["graphsent"].model.collate
        trees = (corpus.trees * 2)[: BATCH_SIZE * NUM_BATCHES]
        batches = [
            collate(trees[first : first + BATCH_SIZE]) for first in range(0, len(trees), BATCH_SIZE)
        ]
        for steps in (0, options.steps):
            if steps:
                train_both(models, batches, steps)
            calls = {name: partial(steps_of, model, batches) for name, model in models.items()}
            name = f"{cell}, {'both directions, ' if both else ''}"
            name += f"{'phrases' if phrases else 'sentences'}, after {steps} steps"
            yield Row("model", name, take_turns(calls, options.rounds, clock))


def train_both(models: dict[str, Trained], batches: list[Any], steps: int) -> None:
    """Trains the first model, and copies its weights to the others."""
    first, *others = models.values()
    for number in range(steps):
        first.step(batches[number % len(batches)])
    for other in others:
        other.model.load_state_dict(first.model.state_dict())
        for ours, theirs in zip(other.optimizers, first.optimizers, strict=True):
            ours.load_state_dict(copy.deepcopy(theirs.state_dict()))


def steps_of(model: Trained, batches: list[Any]) -> None:
    """Takes one step per batch."""
    for batch in batches:
        model.step(batch)


def tables(rows: list[Row]) -> str:
    """One table per kind of run: milliseconds per batch, and the speedup of graphsent."""
    texts = []
    for table in dict.fromkeys(row.table for row in rows):
        chosen = {row.setting: row for row in rows if row.table == table}
        names = list(next(iter(chosen.values())).seconds)
        batches = NUM_BATCHES if table == "model" else 1

        def text(
            setting: str, name: str, chosen: dict[str, Row] = chosen, batches: int = batches
        ) -> str:
            row = chosen[setting]
            if name == "speedup":
                return f"{row.ratio():.2f}"
            return spread([1000 * value / batches for value in row.seconds[name]], 1)

        texts.append(grid(f"{table}, ms", chosen, [*names, "speedup"], text))
    return "\n\n".join(texts) + "\n"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", help="default: GRAPHSENT_DATA, else the embedded data")
    parser.add_argument("--rounds", type=positive, default=7)
    parser.add_argument("--threads", type=positive, default=1)
    parser.add_argument("--clock", choices=CLOCKS, default="cpu")
    parser.add_argument("--only", choices=("layer", "model"), help="run only this table")
    parser.add_argument("--steps", type=positive, default=STEPS, help="steps before the last rows")
    parser.add_argument("--quick", action="store_true", help="one batch, one model, one round")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file")
    options = parser.parse_args(arguments)
    options.models, options.batches = list(product(("lstm", "gru"), (False, True))), BATCHES
    if options.quick:
        options.rounds, options.steps = 1, 4
        options.batches, options.models = options.batches[:1], options.models[:1]
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark."""
    options = parse(arguments)
    torch.set_num_threads(options.threads)
    clock = CLOCKS[options.clock]
    corpus = Corpus(options.data_dir, 0)
    rows, found = [], {"model": model_rows(corpus, options, clock)}
    found["layer"] = layer_rows(options, clock)
    for row in chain(*(rows for name, rows in found.items() if options.only in (None, name))):
        print(f"{row.table}: {row.setting}: {row.ratio():.2f}", file=sys.stderr, flush=True)
        rows.append(row)
    about = machine()
    text = (
        f"{about['processor']}, torch {torch.__version__}, {options.threads} thread(s), "
        f"{options.clock} clock, {options.rounds} rounds or more; {corpus.name}; speedup over "
        f"the best of the others\n\n{tables(rows)}"
    )
    print(text)
    figures = {"machine": about, "corpus": corpus.name, "rows": [row._asdict() for row in rows]}
    for path, content in (
        (options.markdown, text),
        (options.json, json.dumps(figures, indent=2) + "\n"),
    ):
        if path:
            write_atomically(path, content)


if __name__ == "__main__":
    main()
