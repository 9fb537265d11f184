"""What the trees of a batch look like to a model."""

from __future__ import annotations

from typing import NamedTuple

import torch

from graphsent._dgl import dgl

__all__ = ["TreeBatch"]


class TreeBatch(NamedTuple):
    """A batch of trees, in which every node is a unit to classify.

    Attributes:
        graph: One batched graph of all trees with the node data of :mod:`graphsent.graphs.fields`.
        labels: (num_nodes,) int64, the class of each node, -1 where it has none.
        roots: (batch_size,) int64, the node of each sentence as a whole.
    """

    graph: dgl.DGLGraph
    labels: torch.Tensor
    roots: torch.Tensor

    def to(self, device: torch.device | str) -> TreeBatch:
        """The batch with its tensors on another device.

        The graph stays where it is: only its structure and small integers are read, and the DGL
        wheels that most people have know no other device than the CPU.
        """
        return TreeBatch(self.graph, self.labels.to(device), self.roots.to(device))
