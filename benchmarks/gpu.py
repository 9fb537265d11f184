"""Steps of ``graphsent train --device cuda``, beside the CPU and the overhead of launches.

    python benchmarks/gpu.py [--data-dir DATA] [--models treelstm,arnn] [--batch-sizes 25,256]

Whole steps of the program: collating, Lightning's loop, model, loss, gradients and optimizers, on
the next batches of a run after its first steps. The same batches with GRAPHSENT_KERNELS=0, level by
level in torch, and on the CPU of the same machine, in one thread and in several. Steps over trees
wait for launches rather than for arithmetic: so the number of kernels is counted by torch's
profiler, and the floor is the time of equally many minimal launches, back to back.

Exits with a message without a GPU.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, NamedTuple
from unittest.mock import patch

import torch
from harness.options import MODELS, TREE_MODELS, names_of, numbers, positive
from harness.trainees import Portion, Trainee, examples_of, portions
from harness.training import config_of
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from graphsent.training import TrainingOptions
from graphsent.training.setting import Setting, prepare

HEADER = """\
| model | batch | GPU | in torch | CPU, 1 thread | {threads} threads | launches | floor |
| --- | --- | --- | --- | --- | --- | --- | --- |"""
SMALLEST_LAUNCHES = 2000
TIMED = 5
"""Steps in a round."""


def gpu_name() -> str:
    """The name of the GPU; without one, exits with a message."""
    if not torch.cuda.is_available():
        raise SystemExit("error: torch finds no GPU, there is nothing to measure")
    return torch.cuda.get_device_name()


def num_kernels(events: Iterable[Any]) -> int:
    """Number of profiler events that are work on a GPU, not annotations of a time span."""
    on_gpu = (event for event in events if event.device_type == DeviceType.CUDA)
    return sum(
        not getattr(event, "is_user_annotation", False) and not event.name.startswith("Optimizer.")
        for event in on_gpu
    )


def launches(function: Callable[[], None]) -> int:
    """Number of kernels, copies and fills that a function launches."""
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        function()
        torch.cuda.synchronize()
    return num_kernels(profiler.events())


def seconds(function: Callable[[], None], device: str) -> float:
    """Seconds that a function takes until the device is done."""
    finish = torch.cuda.synchronize if device == "cuda" else bool
    finish()
    start = time.perf_counter()
    function()
    finish()
    return time.perf_counter() - start


def smallest_launch(device: str) -> float:
    """Seconds per launch of a one-element kernel, over many launches in a row."""
    number = torch.zeros(1, device=device)

    def several() -> None:
        for _ in range(SMALLEST_LAUNCHES):
            number.add_(1)

    several()
    return seconds(several, device) / SMALLEST_LAUNCHES


class Run(NamedTuple):
    """How a run trains."""

    device: str
    threads: int = 1
    kernels: str = "1"  # of GRAPHSENT_KERNELS

    def measure(
        self, setting: Setting, training: TrainingOptions, batches: Sequence[Portion], rounds: int
    ) -> tuple[float, int]:
        """Milliseconds per step, of the fastest round; launches in all of them.

        Only the last ``TIMED`` batches are timed.
        """
        training = replace(training, device=self.device, num_threads=self.threads)
        with (
            patch.dict(os.environ, GRAPHSENT_KERNELS=self.kernels),
            closing(Trainee(setting, training, self.device)) as trainee,
        ):
            for batch in batches[:-TIMED]:
                trainee.step(batch)

            def steps() -> None:
                for batch in batches[-TIMED:]:
                    trainee.step(batch)

            fastest = min(seconds(steps, self.device) for _ in range(rounds))
            count = launches(steps) if self.device == "cuda" else 0
        return 1000 * fastest / TIMED, count


def row(setting: Setting, name: str, size: int, options: argparse.Namespace, launch: float) -> str:
    """The measurements of one model, as a row of the table."""
    examples = examples_of(setting)
    training = replace(setting.config.training, batch_size=min(size, len(examples)))
    batches = portions(examples, training, options.steps + TIMED)
    runs = (Run("cuda"), Run("cuda", kernels="0"), Run("cpu"), Run("cpu", options.threads))
    found = [run.measure(setting, training, batches, options.rounds) for run in runs]
    count = found[0][1] / TIMED
    times = [f"{milliseconds:.1f}" for milliseconds, _ in found]
    floor = f"{1000 * count * launch:.1f}"
    return f"| {' | '.join([name, str(training.batch_size), *times, f'{count:.0f}', floor])} |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", help="directory with sst/ (default: the embedded data)")
    parser.add_argument("--models", type=names_of(MODELS), default=MODELS)
    parser.add_argument("--batch-sizes", type=numbers, default=(25, 256), help="of models of trees")
    parser.add_argument("--steps", type=positive, default=30, help="before timing")
    parser.add_argument("--rounds", type=positive, default=3, help="the fastest counts")
    parser.add_argument("--threads", type=positive, default=8)
    options = parser.parse_args(arguments)
    gpu = gpu_name()
    launch = smallest_launch("cuda")
    print(f"{gpu}, torch {torch.__version__}; milliseconds per step;")
    print(f"smallest launch: {launch * 1e6:.2f} microseconds\n")
    print(HEADER.format(threads=options.threads), flush=True)
    for name in options.models:
        setting = prepare(config_of(name, options.data_dir), lambda line: None)
        own_size = (setting.config.training.batch_size,)
        for size in options.batch_sizes if name in TREE_MODELS else own_size:
            print(row(setting, name, size, options, launch), flush=True)


if __name__ == "__main__":
    main()
