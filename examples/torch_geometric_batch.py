"""A cell in a PyTorch Geometric model: one line converts the batch for the cell.

    python examples/torch_geometric_batch.py [--steps 40]

Needs ``pip install torch_geometric``. The graphs are random and acyclic; the label of a graph is
whether it has a path of at least eight edges, which a single convolution cannot see.
"""

from __future__ import annotations

import argparse
import random

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GCNConv, global_max_pool

from graphsent import dgl
from graphsent.cells import ChildSumTreeGRU

SIZE = 16
DEEP = 8


def example(rng: random.Random) -> Data:
    """A graph with edges from lower to higher node numbers, labelled by whether it is deep."""
    count = rng.randint(4, 24)
    edges, depth = [], [0] * count
    for node in range(1, count):
        for before in rng.sample(range(max(0, node - 3), node), k=min(node, rng.randint(1, 2))):
            edges.append((before, node))
            depth[node] = max(depth[node], depth[before] + 1)
    label = torch.tensor([int(max(depth) >= DEEP)])
    return Data(x=torch.ones(count, 1), edge_index=torch.tensor(edges).T, y=label)


class Model(nn.Module):
    """A convolution, a cell along the edges, and the maximum over all nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = GCNConv(1, SIZE)
        self.cell = ChildSumTreeGRU(SIZE, SIZE)
        self.output = nn.Linear(SIZE, 2)

    def forward(self, batch: Batch) -> Tensor:
        """Logits, (num_graphs, 2)."""
        x = torch.relu(self.convolution(batch.x, batch.edge_index))
        graph = dgl.graph(tuple(batch.edge_index), num_nodes=batch.num_nodes)
        h = self.cell(graph, x)  # a plain tensor, one row per node
        return self.output(global_max_pool(h, batch.batch))


def main() -> None:
    """Trains for some steps, and evaluates on new graphs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=40)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    rng, model = random.Random(0), Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(arguments.steps):
        batch = Batch.from_data_list([example(rng) for _ in range(64)])
        loss = nn.functional.cross_entropy(model(batch), batch.y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step}: loss {loss.item():.3f}")
    with torch.no_grad():
        batch = Batch.from_data_list([example(rng) for _ in range(512)])
        right = (model(batch).argmax(1) == batch.y).float().mean()
    print(f"new graphs: {float(right):.1%} correct")


if __name__ == "__main__":
    main()
