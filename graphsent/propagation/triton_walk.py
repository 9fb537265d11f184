"""What the walks in Triton have in common."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from graphsent.propagation.schedule import Schedule, make_schedule


class Successors(NamedTuple):
    """The rows that read the state of each node: its places are ``rows[first:last]``.

    Attributes:
        first: (num_nodes,).
        last: (num_nodes,).
        rows: (num_rows,) those of one node side by side, in their order.
    """

    first: Tensor
    last: Tensor
    rows: Tensor

    @classmethod
    def of(cls, source: Tensor, sent_to: Tensor, num_nodes: int) -> Successors:
        """The inverse of who is read; the host does not wait.

        Args:
            source: (num_rows,) node that is read, ``num_nodes`` for none.
            sent_to: (num_nodes,) the row that reads each node, ``num_rows`` for none; no rows if
                some node is read by several.
            num_nodes: number of nodes.
        """
        if len(sent_to) == num_nodes:
            rows = torch.arange(len(source), device=source.device)
            return cls(sent_to, torch.clamp(sent_to + 1, max=len(source)), rows)
        nodes = torch.arange(num_nodes, device=source.device)
        readers, rows = source.sort(stable=True)
        last = torch.searchsorted(readers, nodes, right=True)
        return cls(torch.searchsorted(readers, nodes), last, rows)


def fit(*pairs: tuple[Tensor | None, tuple[int, ...]]) -> bool:
    """Whether tensors have these shapes; kernels would not notice."""
    return all(tensor is None or tuple(tensor.shape) == shape for tensor, shape in pairs)


def row_stride(inputs: Tensor) -> int:
    """From the inputs of one node to those of the next; 0 if all nodes have one row."""
    return inputs.shape[1] if inputs.dim() > 1 else 0


def small_schedule(num_predecessors: int) -> Schedule:
    """Of three nodes in three levels; the first has two successors, if the last may have two."""
    edges = [(0, 1), (1, 2), (0, 2)][: 1 + min(num_predecessors, 2)]
    source, target = np.array(edges).T
    return make_schedule(source, target, np.arange(3))
