"""Training speed from shards on disk, against examples in memory.

    python benchmarks/streaming.py [--data-dir DATA] [--parses-dir DIR] [--only NAME] [--json FILE]

Trains as ``graphsent train`` does with and without ``--stream``: batches are drawn and collated,
and a model with its default settings takes steps. The shuffle window of the shards is a quarter of
the corpus. Both contenders take turns in one process, one slice of an epoch at a time, and CPU time
is measured, so that ratios (medians over the turns) hold on a shared machine. A first epoch, in
which the structures derived from trees are cached in memory, is not counted. ``--embedding-dim``
and ``--hidden`` choose smaller models, for which reading takes a larger share of the time.
"""

from __future__ import annotations

import argparse
import inspect
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from harness.machine import machine
from harness.options import CLOCKS, positive
from harness.tables import spread

from graphsent._files import write_json
from graphsent.errors import GraphsentError
from graphsent.models import Model, model_class
from graphsent.shards import ShardSet
from graphsent.tasks import Task, get_task
from graphsent.training import TrainingOptions
from graphsent.training.batching import batch_sampler
from graphsent.training.config import default_training
from graphsent.training.optimizers import build_optimizers, take_step
from graphsent.vocabulary import Vocabulary


class Setting(NamedTuple):
    """A task, a model, its kind of trees, and its options other than sizes."""

    task: str
    model: str
    tree_kind: str
    options: dict[str, Any]


SETTINGS = {
    "nbow": Setting("trec", "nbow", "words", {}),
    "kimcnn": Setting("trec", "kimcnn", "words", {}),
    "sequence": Setting("trec", "sequence", "words", {}),
    "treelstm, binary trees": Setting("sst5", "treelstm", "constituency", {}),
    "treelstm, parses": Setting("trec", "treelstm", "constituency", {}),
    "treelstm, dependency trees": Setting("trec", "treelstm", "dependency", {"cell": "childsum"}),
    "arnn": Setting("trec", "arnn", "dependency", {}),
}


class Trained:
    """A model that is trained one slice of an epoch at a time."""

    def __init__(
        self, model: Model, examples: Sequence[Any], options: TrainingOptions, window: int | None
    ) -> None:
        self._model = model
        self._examples = examples
        self._options = options
        self._window = window
        self._optimizers = build_optimizers(model, options)
        self._batches = self._epochs()

    def _epochs(self) -> Iterator[Any]:
        options = self._options
        sampler = batch_sampler(
            self._examples, options.batching, options.batch_size, options.seed, window=self._window
        )
        epoch = 0
        while True:
            sampler.set_epoch(epoch)
            for share in sampler:
                yield self._model.collate([self._examples[index] for index in share])
            epoch += 1

    def train(self, num_batches: int) -> int:
        """Takes ``num_batches`` steps and returns the number of their examples."""
        count = 0
        for _ in range(num_batches):
            batch = next(self._batches)
            loss = self._model.loss(self._model(batch), batch, self._options.loss_nodes)
            for optimizer in self._optimizers:
                optimizer.zero_grad()
            loss.backward()
            take_step(self._optimizers)
            self._model.after_step()
            count += len(batch.roots)
        return count


def build(setting: Setting, task: Task, vocab: Vocabulary, sizes: dict[str, int]) -> Model:
    """A new model of a setting."""
    cls = model_class(setting.model)
    known = inspect.signature(cls).parameters
    options = {name: value for name, value in sizes.items() if value and name in known}
    return cls(vocab, len(task.label_names), **setting.options, **options)


def speeds(
    setting: Setting, arguments: argparse.Namespace, directory: Path
) -> dict[str, list[float]]:
    """Examples per second of both contenders in each turn; shards are written to a directory."""
    clock = CLOCKS[arguments.clock]
    task = get_task(setting.task)
    places = {"tree_kind": setting.tree_kind, "parses_dir": arguments.parses_dir}
    sizes = {"embedding_dim": arguments.embedding_dim, "hidden": arguments.hidden}
    kept = task.load(arguments.data_dir, ("train",), **places).splits["train"]
    stream = task.stream(arguments.data_dir, ("train",), **places).splits["train"]
    reader = build(setting, task, Vocabulary(()), sizes)
    shard_set = ShardSet("benchmark", {})
    shard_set.directory = directory
    shards = shard_set.open(stream, reader.collate)
    options = default_training(setting.model)
    trained = {}
    for name, examples in (("shards", shards), ("memory", kept)):
        torch.manual_seed(0)
        model = build(setting, task, Vocabulary.from_trees(kept), sizes)
        window = len(kept) // 4 if name == "shards" else None
        if name == "shards":
            shards.number_words(model.vocab)
        trained[name] = Trained(model, examples, options, window)
    num_batches = -(-len(kept) // options.batch_size)
    for each in trained.values():
        each.train(num_batches)
    slices = max(1, num_batches // arguments.slices)
    found: dict[str, list[float]] = {name: [] for name in trained}
    for turn in range(arguments.turns):
        names = list(trained)
        for name in names if turn % 2 else names[::-1]:
            start = clock()
            count = trained[name].train(slices)
            found[name].append(count / (clock() - start))
    return found


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data-dir", help="default: GRAPHSENT_DATA, else the embedded data")
    add("--parses-dir", help="default: parses/ in or beside the data directory")
    add("--only", choices=SETTINGS, help="run only this setting")
    add("--turns", type=positive, default=20, help="turns of each contender (default: 20)")
    add("--slices", type=positive, default=10, help="turns per epoch (default: 10)")
    add("--embedding-dim", type=int, default=0, help="default: the model's own")
    add("--hidden", type=int, default=0, help="default: the model's own")
    add("--clock", choices=CLOCKS, default="cpu")
    add("--json", type=Path, help="write the figures to this file")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark."""
    options = parsed(arguments)
    torch.set_num_threads(1)
    rows = {}
    for name in [options.only] if options.only else SETTINGS:
        print(name, file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as directory:
            try:
                rows[name] = speeds(SETTINGS[name], options, Path(directory))
            except GraphsentError as error:
                raise SystemExit(f"error: {error}") from error
    about = machine()
    print(
        f"{about['processor']}, torch {torch.__version__}, examples/s by the {options.clock} clock"
    )
    print("\n| | shards | memory | shards / memory |\n| --- | ---: | ---: | ---: |")
    for name, found in rows.items():
        pairs = zip(found["shards"], found["memory"], strict=True)
        ratio = statistics.median(shards / memory for shards, memory in pairs)
        cells = " | ".join(spread(values) for values in found.values())
        print(f"| {name} | {cells} | {ratio:.2f} |")
    if options.json:
        write_json(options.json, {"machine": about, "rows": rows}, indent=2)


if __name__ == "__main__":
    main()
