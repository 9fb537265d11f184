"""Time of an epoch of the N-ary Tree-LSTM on a GPU, against the launch overhead of its kernels.

    python benchmarks/gpu.py [--data-dir DATA] [--batch-size 256] [--epochs 5] [--dtype float32]

Each step is a forward pass, a backward pass and an AdaGrad step; an epoch covers all trees of
``sst/train.txt`` (or the embedded ``sentiment/train.txt``) with input size 300, hidden size 150 and
fixed word vectors. Graphs and schedules are built beforehand. Kernels are counted by torch's
profiler. The floor is the time of equally many minimal launches, back to back.

Exits with a message without a GPU.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import torch
from harness.data import Corpus
from harness.engines import Words
from harness.model import LEARNING_RATE, Model
from torch import Tensor
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from graphsent._dgl import dgl
from graphsent.cells import NaryTreeLSTM
from graphsent.propagation.schedule.schedule import schedule_of, to_device

SIZES = (300, 150)
SMALLEST_LAUNCHES = 2000


class Trained(Words):
    """A model on a device, with AdaGrad for all parameters but the word table."""

    def __init__(self, model: Model, device: torch.device, dtype: torch.dtype) -> None:
        super().__init__(model)
        self.model.to(device, dtype)
        parameters = [*self.model.cell.parameters(), *self.model.output.parameters()]
        self.model.optimizer = torch.optim.Adagrad(parameters, LEARNING_RATE, foreach=True)

    def states(self, graph: dgl.DGLGraph) -> tuple[Tensor, Tensor]:
        """See ``TorchContender``."""
        h, labels = super().states(graph)
        return h, to_device(labels, h.device)

    def epoch(self, graphs: Sequence[dgl.DGLGraph]) -> None:
        """Takes one step per graph."""
        for graph in graphs:
            self.step(graph)


def num_kernels(events: Iterable[Any]) -> int:
    """Number of profiler events that are work on a GPU, not annotations of a time span."""
    on_gpu = (event for event in events if event.device_type == DeviceType.CUDA)
    return sum(
        not getattr(event, "is_user_annotation", False) and not event.name.startswith("Optimizer.")
        for event in on_gpu
    )


def launches(function: Callable[[], None]) -> int:
    """Number of kernels, copies and fills that a function launches."""
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        function()
        torch.cuda.synchronize()
    return num_kernels(profiler.events())


def seconds(function: Callable[[], None], device: torch.device) -> float:
    """Seconds that a function takes until the device is done."""
    finish = torch.cuda.synchronize if device.type == "cuda" else bool
    finish()
    start = time.perf_counter()
    function()
    finish()
    return time.perf_counter() - start


def smallest_launch(device: torch.device) -> float:
    """Seconds per launch of a one-element kernel, over many launches in a row."""
    number = torch.zeros(1, device=device)

    def several() -> None:
        for _ in range(SMALLEST_LAUNCHES):
            number.add_(1)

    several()
    return seconds(several, device) / SMALLEST_LAUNCHES


def num_levels(graphs: Sequence[dgl.DGLGraph]) -> float:
    """Average number of levels of a graph, without that of the leaves."""
    return statistics.mean(schedule_of(graph).num_levels - 1 for graph in graphs)


def table(
    model: Model,
    graphs: Sequence[dgl.DGLGraph],
    device: torch.device,
    dtype: torch.dtype,
    epochs: int,
) -> str:
    """The measurements in Markdown; a first epoch is not counted."""
    levels, launch = num_levels(graphs), smallest_launch(device)
    lines = [
        f"smallest launch: {launch * 1e6:.2f} microseconds\n",
        "| s/epoch | slowest | launches/batch | launches/level | floor, s |",
        "| --- | --- | --- | --- | --- |",
    ]
    epoch = partial(Trained(model, device, dtype).epoch, graphs)
    epoch()
    times = [seconds(epoch, device) for _ in range(epochs)]
    total = launches(epoch)
    each = total / len(graphs)
    lines.append(
        f"| {statistics.median(times):.3f} | {max(times):.3f} | {each:.0f} "
        f"| {each / levels:.1f} | {total * launch:.3f} |"
    )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", help="directory with sst/ (default: the embedded data)")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--dtype", choices=("float32", "float64", "bfloat16"), default="float32")
    options = parser.parse_args(arguments)
    if not torch.cuda.is_available():
        raise SystemExit("error: torch finds no GPU, there is nothing to measure")
    device, dtype = torch.device("cuda"), getattr(torch, options.dtype)
    corpus, size = Corpus(options.data_dir, 0), options.batch_size
    starts = range(0, len(corpus.trees), size)
    graphs = [corpus.batch(corpus.trees[first : first + size]).graph for first in starts]
    torch.manual_seed(0)
    model = Model(NaryTreeLSTM(*SIZES), len(corpus.vocab))
    print(f"{torch.cuda.get_device_name(device)}, torch {torch.__version__}, {options.dtype}")
    print(f"{len(corpus.trees)} trees, batches of {size}, {num_levels(graphs):.1f} levels each")
    print(table(model, graphs, device, dtype, options.epochs))


if __name__ == "__main__":
    main()
