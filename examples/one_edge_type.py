"""A cell over one edge type of a heterograph, convolutions over another.

    python examples/one_edge_type.py

The functions of a program call each other and are nested in each other: two relations over the same
nodes. Nesting is acyclic, so a cell can run from inner to outer functions; calls may be cyclic and
are left to a convolution.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graphsent import dgl
from graphsent.cells import ChildSumTreeLSTM

SIZE = 16


class Model(nn.Module):
    """A convolution over calls, and a cell over nesting."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = dgl.nn.GraphConv(SIZE, SIZE, allow_zero_in_degree=True)
        self.cell = ChildSumTreeLSTM(SIZE, SIZE)

    def forward(self, program: dgl.DGLGraph, feat: Tensor) -> Tensor:
        """States of the functions, (num_functions, SIZE)."""
        feat = torch.relu(self.convolution(program["calls"], feat))
        return self.cell(program["within"], feat)


def main() -> None:
    """Runs the model over one program."""
    torch.manual_seed(0)
    program = dgl.heterograph(
        {
            ("function", "within", "function"): ([1, 2, 3], [0, 0, 2]),  # inner to outer
            ("function", "calls", "function"): ([0, 1, 3, 3], [1, 3, 1, 3]),  # cyclic
        }
    )
    feat = torch.randn(program.num_nodes(), SIZE)
    states = Model()(program, feat)
    print("edge types:", program.etypes)
    print("states, one per function:", tuple(states.shape))


if __name__ == "__main__":
    main()
