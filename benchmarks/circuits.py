"""Speed of a cell on circuits, against the same model in PyTorch Geometric, level by level.

    python benchmarks/circuits.py [--rounds 21] [--quick] [--markdown FILE]

Needs torch_geometric (``pip install torch_geometric``). The circuits are random acyclic graphs with
16 inputs and 100 gates each; a gate has two to four predecessors among the 24 nodes before it, and
any number of successors. Both models are the child-sum Tree-LSTM with input and hidden size 128 in
float32 on one thread, with the same weights; their states are compared first.

The other model is written in the style of PyTorch Geometric: all inputs are projected at once; then
each level gathers the states of its predecessors, sums them with ``torch_geometric.utils.scatter``
and writes its rows of the states. Its levels are computed beforehand and not timed; likewise,
graphsent has already seen the graph. The contenders take turns, ratios are medians over the rounds,
and times are CPU times.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
from harness.measuring import take_turns
from harness.options import positive
from harness.tables import compared
from torch import Tensor

from graphsent._dgl import dgl
from graphsent._files import write_atomically
from graphsent.cells import ChildSumTreeLSTM

SIZE = 128
INPUTS, GATES, NEAR = 16, 100, 24
BATCHES = (1, 16, 128)


class Level(NamedTuple):
    """The nodes of a level, and their incoming edges."""

    nodes: Tensor  # (nodes,) int64
    sources: Tensor  # (edges,) int64
    targets: Tensor  # (edges,) int64, places in ``nodes``


def circuit(rng: random.Random) -> dgl.DGLGraph:
    """A random circuit, with edges from inputs to outputs."""
    edges = [
        (before, gate)
        for gate in range(INPUTS, INPUTS + GATES)
        for before in rng.sample(range(max(0, gate - NEAR), gate), rng.randint(2, 4))
    ]
    return dgl.graph(edges, num_nodes=INPUTS + GATES)


def levels_of(graph: dgl.DGLGraph) -> list[Level]:
    """The levels of a graph after the first."""
    number = torch.zeros(graph.num_nodes(), dtype=torch.int64)
    levels = list(dgl.topological_nodes_generator(graph))
    place = torch.zeros_like(number)
    for index, nodes in enumerate(levels):
        number[nodes], place[nodes] = index, torch.arange(len(nodes))
    sources, targets = graph.edges()
    of_level = [number[targets] == index for index in range(len(levels))]
    return [
        Level(nodes, sources[chosen], place[targets[chosen]])
        for nodes, chosen in zip(levels[1:], of_level[1:], strict=True)
    ]


def level_by_level(
    cell: ChildSumTreeLSTM, levels: Sequence[Level], first: Tensor, feat: Tensor
) -> Tensor:
    """The states of all nodes, with the weights of a cell, (num_nodes, SIZE)."""
    from torch_geometric.utils import scatter

    def state(update: Tensor, memory: Tensor | float) -> tuple[Tensor, Tensor]:
        i, o, u = update.chunk(3, -1)
        c = torch.sigmoid(i) * torch.tanh(u) + memory
        return torch.sigmoid(o) * torch.tanh(c), c

    update, forget = cell.W(feat).split([3 * SIZE, SIZE], -1)
    h, c = torch.zeros_like(forget), torch.zeros_like(forget)
    h[first], c[first] = state(update[first], 0.0)
    for nodes, sources, targets in levels:
        below = h[sources]
        total = scatter(below, targets, 0, len(nodes), reduce="sum")
        gate = torch.sigmoid(forget[nodes][targets] + cell.U_f(below))
        memory = scatter(gate * c[sources], targets, 0, len(nodes), reduce="sum")
        h[nodes], c[nodes] = state(update[nodes] + cell.U(total), memory)
    return h


def run(states: Callable[[], Tensor], leaves: Sequence[Tensor], train: bool) -> None:
    """Computes states and, in training, the gradients of leaves."""
    with torch.set_grad_enabled(train):
        h = states()
        if train:
            torch.autograd.grad(h.sum(), leaves)


def measure(batches: Sequence[int], rounds: int) -> dict[str, dict[str, list[float]]]:
    """The seconds of both contenders, by setting."""
    found = {}
    rng = random.Random(0)
    for size in batches:
        torch.manual_seed(0)
        cell = ChildSumTreeLSTM(SIZE, SIZE)
        graph = dgl.batch([circuit(rng) for _ in range(size)])
        levels, first = levels_of(graph), (graph.in_degrees() == 0).nonzero()[:, 0]
        feat = torch.randn(graph.num_nodes(), SIZE, requires_grad=True)
        contenders: dict[str, Callable[[], Tensor]] = {
            "graphsent": partial(cell, graph, feat),
            "level by level": partial(level_by_level, cell, levels, first, feat),
        }
        own, other = (each().detach() for each in contenders.values())
        torch.testing.assert_close(own, other, rtol=1e-4, atol=1e-5)
        leaves = [feat, *cell.parameters()]
        for train in (False, True):
            calls = {name: partial(run, each, leaves, train) for name, each in contenders.items()}
            what = "forward and backward" if train else "forward"
            setting = f"{what}, {size} x {INPUTS + GATES} nodes, {len(levels) + 1} levels"
            found[setting] = take_turns(calls, rounds, time.process_time)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=positive, default=21)
    parser.add_argument("--quick", action="store_true", help="one circuit, two rounds")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    options = parser.parse_args(arguments)
    try:
        import torch_geometric  # noqa: F401
    except ImportError as error:
        raise SystemExit("error: needs torch_geometric: pip install torch_geometric") from error
    torch.set_num_threads(1)
    batches, rounds = ((1,), 2) if options.quick else (BATCHES, options.rounds)
    text = compared(measure(batches, rounds), "speedup")
    print(text, end="")
    if options.markdown:
        write_atomically(options.markdown, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
