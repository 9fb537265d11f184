"""``pytorch-tree-lstm`` (PyPI), a child-sum Tree-LSTM that goes level by level.

The equations are those of our child-sum cell, and so are the weights. Inputs are at all nodes, as
with DGL. Evaluation orders are computed before, as the package wants it, and the trees batched:
neither is timed. It has no N-ary Tree-LSTM.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from treelstm import TreeLSTM, calculate_evaluation_orders

from .data import Batch
from .engines import TorchContender
from .model import Model


class PytorchTreeLSTM(TorchContender):
    """The package's module with the weights of a child-sum cell.

    Args:
        model: with a ``ChildSumTreeLSTM`` of default options.
    """

    name = "pytorch-tree-lstm"

    def __init__(self, model: Model) -> None:
        cell = model.cell
        theirs = TreeLSTM(cell.in_feats, cell.hidden_feats)
        theirs.in_feats, theirs.out_feats = cell.in_feats, cell.out_feats
        with torch.no_grad():
            size = 3 * cell.hidden_feats
            for part, rows in ((theirs.W_iou, slice(0, size)), (theirs.W_f, slice(size, None))):
                part.weight.copy_(cell.W.weight[rows])
                part.bias.copy_(cell.W.bias[rows])
            theirs.U_iou.weight.copy_(cell.U.weight)
            theirs.U_f.weight.copy_(cell.U_f.weight)
        super().__init__(model.with_cell(theirs))

    def prepare(self, batch: Batch) -> Any:
        """The graph, and what the package wants: orders of nodes and edges, and (parent, child)."""
        child, parent = (ends.numpy() for ends in batch.graph.edges(order="eid"))
        edges = np.stack((parent, child), 1)[np.argsort(parent, kind="stable")]
        orders = calculate_evaluation_orders(edges, batch.graph.num_nodes())
        nodes, edge_order = map(torch.from_numpy, orders)
        return batch.graph, nodes, torch.from_numpy(edges), edge_order

    def states(self, prepared: Any) -> tuple[Tensor, Tensor]:
        """See :class:`TorchContender`."""
        graph, *orders = prepared
        feat = self.model.table(graph.ndata["token"])
        h, _ = self.model.cell(feat, *orders)
        return h, graph.ndata["label"]
