"""How many trees a second each cell handles.

    python benchmarks/cells.py --data-dir DATA [--trees 512] [--rounds 3] [--json FILE]

Runs the cells at 300 / 150 (TreeNet at 300 / 100) over the first trees of ``sst/train.txt`` (or the
embedded ``sentiment/train.txt``) and prints a Markdown table: median and range over the rounds,
wall clock, one thread. Graphs and random inputs are made before; a step is forward and backward.
The cells take turns within a round, so that their ratios hold on a machine that others use, too.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from graphsent import cells
from graphsent._dgl import dgl
from graphsent.graphs import constituency_batch
from graphsent.tasks.data_dir import resolve_data_dir
from graphsent.trees import Tree, read_trees

FILES = ("sst/train.txt", "sentiment/train.txt")
BATCH_SIZES = (25, 256)
IN_FEATS, HIDDEN_FEATS = 300, 150

# Name -> the cell, and the direction of its graphs.
CELLS = {
    "NaryTreeLSTM": (cells.NaryTreeLSTM(IN_FEATS, HIDDEN_FEATS), "bottom_up"),
    "NaryTreeLSTM, affine leaves": (
        cells.NaryTreeLSTM(IN_FEATS, HIDDEN_FEATS, leaf="affine"),
        "bottom_up",
    ),
    "ChildSumTreeLSTM": (cells.ChildSumTreeLSTM(IN_FEATS, HIDDEN_FEATS), "bottom_up"),
    "ChildSumTreeGRU": (cells.ChildSumTreeGRU(IN_FEATS, HIDDEN_FEATS), "bottom_up"),
    "RecursiveCell": (cells.RecursiveCell(IN_FEATS, HIDDEN_FEATS), "bottom_up"),
    "AttentiveTreeLSTM": (cells.AttentiveTreeLSTM(IN_FEATS, HIDDEN_FEATS), "bottom_up"),
    "AttentiveTreeGRU": (cells.AttentiveTreeGRU(IN_FEATS, HIDDEN_FEATS), "bottom_up"),
    "LexicalizedTreeLSTM": (cells.LexicalizedTreeLSTM(IN_FEATS, HIDDEN_FEATS), "bottom_up"),
    "TopDownTreeLSTM": (cells.TopDownTreeLSTM(IN_FEATS, HIDDEN_FEATS), "top_down"),
    "BiTreeLSTM": (cells.BiTreeLSTM(IN_FEATS, HIDDEN_FEATS), "bottom_up"),
    "TreeNet": (cells.TreeNet(IN_FEATS, 100), "sibling"),
}


def load_trees(data_dir: Path, num_trees: int) -> list[Tree]:
    """The first trees of the first of FILES that is there."""
    for name in FILES:
        if (data_dir / name).is_file():
            return read_trees(data_dir / name)[:num_trees]
    raise SystemExit(f"error: no {' or '.join(FILES)} in {data_dir}")


def make_batches(
    trees: Sequence[Tree], size: int, direction: str
) -> list[tuple[dgl.DGLGraph, torch.Tensor]]:
    """Graphs of ``size`` trees each, with random inputs for all nodes."""
    parts = [trees[first : first + size] for first in range(0, len(trees), size)]
    graphs = [constituency_batch(part, direction) for part in parts]
    return [(graph, torch.randn(graph.num_nodes(), IN_FEATS)) for graph in graphs]


def run(cell: torch.nn.Module, batches: list, engine: str) -> tuple[float, float]:
    """Seconds for all forward passes, and for all steps."""
    forward = step = 0.0
    for graph, feat in batches:
        start = time.perf_counter()
        h = cell(graph, feat, engine=engine)
        forward += time.perf_counter() - start
        h.sum().backward()
        step += time.perf_counter() - start
    return forward, step


def measure(trees: list[Tree], rounds: int, engine: str) -> dict[str, dict[str, list[float]]]:
    """Trees a second of each round, by cell and by what was timed."""
    batches = {
        (size, direction): make_batches(trees, size, direction)
        for size in BATCH_SIZES
        for direction in {direction for _, direction in CELLS.values()}
    }
    speeds: dict[str, dict[str, list[float]]] = {name: {} for name in CELLS}
    for _ in range(rounds):
        for size in BATCH_SIZES:
            for name, (cell, direction) in CELLS.items():
                times = run(cell, batches[size, direction], engine)
                for what, seconds in zip(("forward", "step"), times, strict=True):
                    key = f"{what}, batch {size}"
                    speeds[name].setdefault(key, []).append(len(trees) / seconds)
    return speeds


def table(speeds: dict[str, dict[str, list[float]]]) -> str:
    """A Markdown table of medians and ranges."""
    columns = [f"{what}, batch {size}" for size in BATCH_SIZES for what in ("forward", "step")]
    lines = [
        "| cell (trees/s) | parameters | " + " | ".join(columns) + " |",
        "|---|---:|" + "---:|" * len(columns),
    ]
    for name, (cell, _) in CELLS.items():
        size = sum(parameter.numel() for parameter in cell.parameters())
        values = [speeds[name][column] for column in columns]
        texts = [f"{statistics.median(v):,.0f} ({min(v):,.0f}-{max(v):,.0f})" for v in values]
        lines.append(f"| {name} | {size:,} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def main() -> None:
    """Reads the arguments, runs, prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", type=Path, help="directory with the corpora")
    parser.add_argument("--trees", type=int, default=512, help="number of trees (default 512)")
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds (default 3)")
    parser.add_argument("--engine", default="dgl", help="engine of the cells (default dgl)")
    parser.add_argument("--json", type=Path, help="file for the figures of every round")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    trees = load_trees(resolve_data_dir(arguments.data_dir), arguments.trees)
    speeds = measure(trees, arguments.rounds, arguments.engine)
    print(table(speeds))
    if arguments.json:
        arguments.json.write_text(json.dumps(speeds, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
