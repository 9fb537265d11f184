"""Where the time of a training epoch goes.

    python benchmarks/epoch.py --data-dir DATA [--vectors FILE ...] [--batching depth] [--json FILE]

Trains the Tree-LSTM on ``sst5`` for two epochs, as ``graphsent train`` does, with one thread, and
prints the shares of CPU time in the second as a Markdown table. The first epoch is not counted:
before it, every tree is transformed for the model and gets its levels.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from graphsent._files import write_json
from graphsent.errors import GraphsentError
from graphsent.models import TreeLSTMClassifier
from graphsent.models.embeddings.table import WordEmbedding
from graphsent.training import RunConfig, TrainingOptions, data, module, train
from graphsent.training.batching import BATCHINGS
from graphsent.training.module import TrainingModule

PARTS = {
    "graphs and schedules": (data._Batches, "__getitem__"),
    "look-up of words": (WordEmbedding, "indexed"),
    "forward": (TreeLSTMClassifier, "forward"),
    "backward": (TrainingModule, "manual_backward"),
    "optimizers": (module, "take_step"),
}


class Shares:
    """The time spent in each part, excluding nested parts."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self.within = [0.0]

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wraps a function to add its time to a part."""

        def run(*args: Any, **kwargs: Any) -> Any:
            self.within.append(0.0)
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                taken = time.process_time() - start
                self.seconds[name] += taken - self.within.pop()
                self.within[-1] += taken

        return run


@contextmanager
def patched(shares: Shares) -> Iterator[None]:
    """Times the parts inside the block."""
    with ExitStack() as stack:
        for name, (owner, attribute) in PARTS.items():
            timed = shares.timed(name, getattr(owner, attribute))
            stack.enter_context(patch.object(owner, attribute, timed))
        yield


def measure(arguments: argparse.Namespace) -> dict[str, float]:
    """The seconds of each part of the second epoch, and of the ``rest``."""
    options = TrainingOptions(
        epochs=2, batch_size=arguments.batch_size, batching=arguments.batching, num_threads=1
    )
    config = RunConfig(
        task="sst5",
        model="treelstm",
        data_dir=arguments.data_dir,
        vectors=tuple(arguments.vectors),
        training=options,
    )
    shares, found, times = Shares(), {}, [0.0, 0.0]
    begin_epoch = TrainingModule.on_train_epoch_start
    end_epoch = TrainingModule.on_validation_epoch_start

    def begin(of: TrainingModule) -> None:
        shares.seconds = dict.fromkeys(PARTS, 0.0)
        times[0] = time.process_time()
        begin_epoch(of)

    def end(of: TrainingModule) -> None:
        times[1] = time.process_time()
        found.update(shares.seconds)
        end_epoch(of)

    with (
        tempfile.TemporaryDirectory() as directory,
        patched(shares),
        patch.object(TrainingModule, "on_train_epoch_start", begin),
        patch.object(TrainingModule, "on_validation_epoch_start", end),
    ):
        train(config, Path(directory) / "run", test=False)
    found["rest"] = times[1] - times[0] - sum(found.values())
    return found


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", help="directory with sst/ (default: the embedded data)")
    parser.add_argument("--vectors", nargs="+", default=[], help="files of word vectors")
    parser.add_argument("--batch-size", type=int, default=25)
    parser.add_argument("--batching", choices=BATCHINGS, default="shuffled")
    parser.add_argument("--json", type=Path, help="also write the seconds to this file")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    try:
        found = measure(arguments)
    except GraphsentError as error:
        raise SystemExit(f"error: {error}") from error
    total = sum(found.values())
    print(f"\nepoch: {total:.2f} s, batches of {arguments.batch_size}, {arguments.batching}\n")
    print("| part | seconds | share |\n| --- | --- | --- |")
    for name, seconds in found.items():
        print(f"| {name} | {seconds:.2f} | {seconds / total:.1%} |")
    if arguments.json:
        write_json(arguments.json, found, indent=2)


if __name__ == "__main__":
    main()
