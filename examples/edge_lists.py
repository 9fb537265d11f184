"""A cell without a graph library: edge lists and inputs are plain tensors.

    python examples/edge_lists.py [--steps 60]

The graphs are circuits of NAND gates with two inputs: acyclic graphs in which a gate may feed
several others. A cell learns the value of every gate from those of the circuit's inputs.
"""

from __future__ import annotations

import argparse
import random

import torch
from torch import Tensor, nn

from graphsent import dgl
from graphsent.cells import ChildSumTreeGRU

SIZE = 24


def circuits(rng: random.Random, count: int, gates: int) -> tuple[Tensor, Tensor, Tensor]:
    """Sources and targets of all edges of random circuits, and the value of every node."""
    sources, targets, values = [], [], []
    for _ in range(count):
        first = len(values)
        values += [rng.randrange(2) for _ in range(4)]
        for _ in range(gates):
            pair = rng.sample(range(max(first, len(values) - 6), len(values)), 2)
            sources += pair
            targets += [len(values)] * 2
            values.append(1 - (values[pair[0]] & values[pair[1]]))
    return torch.tensor(sources), torch.tensor(targets), torch.tensor(values)


class Circuit(nn.Module):
    """Predicts the value of every node from the inputs and the wiring."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(3, SIZE)  # 0, 1, or a gate
        self.cell = ChildSumTreeGRU(SIZE, SIZE)
        self.output = nn.Linear(SIZE, 2)

    def forward(self, sources: Tensor, targets: Tensor, known: Tensor) -> Tensor:
        """Logits, (num_nodes, 2); ``known`` is the value of an input, or 2 for a gate."""
        graph = dgl.graph((sources, targets), num_nodes=len(known))
        return self.output(self.cell(graph, self.embedding(known)))


def main() -> None:
    """Trains on small circuits, and tests on larger ones too."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=60)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    rng, model = random.Random(0), Circuit()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def run(count: int, gates: int) -> tuple[Tensor, Tensor]:
        """Logits and values of the gates of new circuits."""
        sources, targets, values = circuits(rng, count, gates)
        is_gate = torch.zeros(len(values), dtype=torch.bool).index_fill(0, targets, True)
        logits = model(sources, targets, values.masked_fill(is_gate, 2))
        return logits[is_gate], values[is_gate]

    for step in range(arguments.steps):
        loss = nn.functional.cross_entropy(*run(64, 12))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step}: loss {loss.item():.3f}")
    with torch.no_grad():
        for gates in (12, 60):
            logits, values = run(100, gates)
            right = (logits.argmax(1) == values).float().mean()
            print(f"circuits of {gates} gates: {float(right):.1%} of the gates correct")


if __name__ == "__main__":
    main()
