"""How fast states are propagated over batches of trees, against DGL.

    python benchmarks/propagation.py --data-dir DATA [--rounds 7] [--json FILE] [--markdown FILE]

Runs the N-ary Tree-LSTM over the constituency trees of ``sst/train.txt`` (or the embedded
``sentiment/train.txt``) and the child-sum Tree-LSTM over the same trees' edges, at 300 / 150, in
float32, with a frozen word table and words at the leaves. A step is look-up, propagation, a linear
output on every node, cross-entropy, gradients and AdaGrad; the schedule is made anew in each.

The contenders take turns within a round, and ratios are medians over the rounds, so that they hold
on a machine that others use, too. For the same reason the clock is the processor's by default.

* ``dgl``: ``dgl.prop_nodes_topo`` with the cell's functions.
* ``drop-in``: ``graphsent``'s ``prop_nodes_topo`` with the same functions.
* ``levels``: the cell's recursion over the schedule, differentiated by autograd level by level.
* ``fused``: the fused engine, with inputs at all nodes, as in DGL.
* ``fused, words``: the fused engine, with inputs at the leaves alone, results by position.
* ``limit``: the products and pointwise work of the last, as if no node depended on another.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from graphsent import cells
from graphsent._dgl import dgl
from graphsent.cells.slots import SlottedCell
from graphsent.graphs import constituency_batch
from graphsent.propagation import prop_nodes_topo
from graphsent.propagation.fused_edges import run_edges
from graphsent.propagation.fused_lstm import ChildSumLSTM, NaryLSTM
from graphsent.propagation.fused_slots import make_slots, run_slots
from graphsent.propagation.levels import over_levels, run_levels
from graphsent.propagation.schedule import Schedule, schedule_of
from graphsent.tasks.data_dir import resolve_data_dir
from graphsent.trees import Tree, read_trees
from graphsent.vocabulary import Vocabulary

FILES = ("sst/train.txt", "sentiment/train.txt")
BATCH_SIZES = (1, 25, 256)
IN_FEATS, HIDDEN_FEATS, NUM_CLASSES = 300, 150, 5
CLOCKS = {"cpu": time.process_time, "wall": time.perf_counter}

State = tuple[Tensor, ...]


class Model(nn.Module):
    """Word table, cell and output."""

    def __init__(self, cell: cells.TreeCell, num_words: int) -> None:
        super().__init__()
        self.table = nn.Embedding(num_words, IN_FEATS).requires_grad_(False)
        self.cell = cell
        self.output = nn.Linear(HIDDEN_FEATS, NUM_CLASSES)
        parameters = [*cell.parameters(), *self.output.parameters()]
        self.optimizer = torch.optim.Adagrad(parameters, lr=0.05, foreach=True)

    def inputs(self, graph: dgl.DGLGraph) -> Tensor:
        """Word vectors at the leaves, zeros elsewhere."""
        token = graph.ndata["token"]
        leaves = torch.nonzero(token >= 0).squeeze(1)
        rows = torch.zeros(len(token), IN_FEATS)
        return rows.index_copy(0, leaves, self.table(token[leaves]))

    def words(self, graph: dgl.DGLGraph, schedule: Schedule) -> Tensor:
        """Word vectors of the leaves, by position."""
        return self.table(graph.ndata["token"][schedule.nodes[: schedule.num_sources]])


# Contenders: the states of all nodes, and their labels.

Run = Callable[[Model, dgl.DGLGraph], tuple[Tensor, Tensor]]


def by_functions(run: Callable[..., None]) -> Run:
    """Propagation with the cell's DGL functions."""

    def contender(model: Model, graph: dgl.DGLGraph) -> tuple[Tensor, Tensor]:
        cell, labels = model.cell, graph.ndata["label"]
        inputs = cell.node_inputs(graph, model.inputs(graph))
        for name in list(graph.ndata):
            del graph.ndata[name]
        graph.ndata.update(inputs)
        run(graph, cell.message_func, cell.reduce_func, False, cell.apply_node_func)
        return graph.ndata["h"], labels

    return contender


def recursion(
    cell: cells.TreeCell, graph: dgl.DGLGraph, schedule: Schedule
) -> Callable[..., State]:
    """The cell's recursion, not fused."""
    slots = None
    if isinstance(cell, SlottedCell):
        slots = make_slots(schedule, cell.num_slots, graph.edata.get(cell.slot_name))
    return lambda start, inputs: run_levels(cell.combine, schedule, start, inputs, slots)


def fused(cell: cells.TreeCell, graph: dgl.DGLGraph, schedule: Schedule) -> Callable[..., State]:
    """The fused recursion."""
    if isinstance(cell, cells.NaryTreeLSTM):
        slots = make_slots(schedule, cell.num_slots, graph.edata.get(cell.slot_name))
        rule = NaryLSTM(HIDDEN_FEATS, cell.num_slots)
        weights = [cell.U.weight]
        return lambda start, x: run_slots(rule, schedule, slots, start, x[0], weights)
    weights = [cell.U.weight]
    return lambda start, x: run_edges(
        ChildSumLSTM(HIDDEN_FEATS), schedule, start, x[0], cell.U_f.weight, weights
    )


def by_levels(make: Callable[..., Callable[..., State]]) -> Run:
    """Propagation over the schedule, inputs and results in the graph's order."""

    def contender(model: Model, graph: dgl.DGLGraph) -> tuple[Tensor, Tensor]:
        cell, schedule = model.cell, schedule_of(graph)
        x = cell.project(model.inputs(graph))
        run = make(cell, graph, schedule)
        return over_levels(schedule, [x], cell.start, run)[0], graph.ndata["label"]

    return contender


def with_words_alone(model: Model, graph: dgl.DGLGraph) -> tuple[Tensor, Tensor]:
    """The fused engine where inner nodes have no input, in the schedule's order."""
    cell, schedule = model.cell, schedule_of(graph)
    start = cell.start(cell.project(model.words(graph, schedule)))
    states = fused(cell, graph, schedule)(start, (cell.W.bias,))
    return states[0], graph.ndata["label"][schedule.nodes]


def limit(model: Model, graph: dgl.DGLGraph) -> tuple[Tensor, Tensor]:
    """All inner nodes at once, with any states for children."""
    cell, schedule = model.cell, schedule_of(graph)
    h, c = cell.start(cell.project(model.words(graph, schedule)))
    num_inner = schedule.num_nodes - len(h)
    slots = torch.arange(2 * num_inner) % len(h)
    children = tuple(part[slots].unflatten(0, (num_inner, 2)) for part in (h, c))
    inner, _ = cell.combine(children, cell.W.bias.expand(num_inner, -1))
    return torch.cat((h, inner)), graph.ndata["label"][schedule.nodes]


CONTENDERS: dict[str, Run] = {
    "dgl": by_functions(dgl.prop_nodes_topo),
    "drop-in": by_functions(prop_nodes_topo),
    "levels": by_levels(recursion),
    "fused": by_levels(fused),
    "fused, words": with_words_alone,
    "limit": limit,
}
CELLS = {"NaryTreeLSTM": cells.NaryTreeLSTM, "ChildSumTreeLSTM": cells.ChildSumTreeLSTM}


class Setting(NamedTuple):
    """What is measured with all contenders."""

    cell: str
    batch_size: int
    train: bool


def step(run: Run, model: Model, graph: dgl.DGLGraph, train: bool) -> None:
    """One forward pass, or one training step."""
    graph = graph.local_var()  # a new object: its schedule is not known yet
    with torch.set_grad_enabled(train):
        h, labels = run(model, graph)
        loss = functional.cross_entropy(model.output(h), labels, reduction="sum")
    if train:
        model.optimizer.zero_grad()
        loss.backward()
        model.optimizer.step()


def measure(
    setting: Setting, trees: Sequence[Tree], rounds: int, clock: Callable[[], float]
) -> dict[str, list[float]]:
    """Seconds of each contender in each round, after a round that does not count."""
    vocab = Vocabulary.from_trees(trees)
    graph = constituency_batch(trees[: setting.batch_size], vocab=vocab)
    model = Model(CELLS[setting.cell](IN_FEATS, HIDDEN_FEATS), len(vocab))
    seconds: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    for number in range(rounds + 1):
        for name, run in CONTENDERS.items():
            start = clock()
            step(run, model, graph, setting.train)
            if number:
                seconds[name].append(clock() - start)
    return seconds


def ratio(seconds: dict[str, list[float]], name: str) -> float:
    """How many times as fast as DGL: the median over the rounds."""
    pairs = zip(seconds["dgl"], seconds[name], strict=True)
    return statistics.median(theirs / ours for theirs, ours in pairs)


def table(results: dict[Setting, dict[str, list[float]]]) -> str:
    """A row for each setting: milliseconds of DGL, and how many times as fast the others are."""
    names = [name for name in CONTENDERS if name != "dgl"]
    lines = [
        "| cell | batch | | dgl, ms (min - max) | " + " | ".join(names) + " |",
        "| --- | --- | --- | --- |" + " --- |" * len(names),
    ]
    for setting, seconds in results.items():
        base = [1000 * value for value in seconds["dgl"]]
        spread = f"{statistics.median(base):.1f} ({min(base):.1f} - {max(base):.1f})"
        ratios = " | ".join(f"{ratio(seconds, name):.2f}" for name in names)
        kind = "step" if setting.train else "forward"
        lines.append(f"| {setting.cell} | {setting.batch_size} | {kind} | {spread} | {ratios} |")
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
    parser.add_argument("--markdown", type=Path, help="file for the table")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    warnings.filterwarnings("ignore", "The input graph for the user-defined edge function")
    trees = load_trees(resolve_data_dir(arguments.data_dir))
    results = {}
    for cell in CELLS:
        for batch_size in BATCH_SIZES:
            for train in (False, True):
                torch.manual_seed(0)
                setting = Setting(cell, batch_size, train)
                clock = CLOCKS[arguments.clock]
                results[setting] = measure(setting, trees, arguments.rounds, clock)
    text = (
        f"{platform.machine()}, torch {torch.__version__}, DGL {dgl.__version__}, "
        f"{arguments.threads} thread(s), {arguments.clock} clock, {arguments.rounds} rounds; "
        f"times as fast as DGL\n\n{table(results)}"
    )
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(text + "\n")
    if arguments.json:
        rows = [{**setting._asdict(), "seconds": value} for setting, value in results.items()]
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
