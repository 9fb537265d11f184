"""``pytorch-tree-lstm`` (PyPI), a child-sum Tree-LSTM that runs level by level.

It has the equations of our child-sum cell and uses its weights. Inputs are at all nodes, as with
DGL. Trees are batched and evaluation orders computed beforehand, as the package expects; neither is
timed. It has no N-ary Tree-LSTM.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import torch
from harness.data import Batch
from harness.engines import TorchContender
from harness.model import Model
from torch import Tensor
from treelstm import TreeLSTM, calculate_evaluation_orders


class PytorchTreeLSTM(TorchContender):
    """The package's module with the weights of a ``ChildSumTreeLSTM`` of default options."""

    name = "pytorch-tree-lstm"

    def __init__(self, model: Model) -> None:
        cell = model.cell
        theirs = TreeLSTM(cell.in_feats, cell.hidden_feats)
        with torch.no_grad():
            size = 3 * cell.hidden_feats
            for part, rows in ((theirs.W_iou, slice(0, size)), (theirs.W_f, slice(size, None))):
                part.weight.copy_(cell.W.weight[rows])
                part.bias.copy_(cell.W.bias[rows])
            theirs.U_iou.weight.copy_(cell.U.weight)
            theirs.U_f.weight.copy_(cell.U_f.weight)
        model = deepcopy(model)
        model.cell = theirs
        super().__init__(model)

    def prepare(self, batch: Batch) -> Any:
        """The graph, its edges as (parent, child), and the evaluation orders of nodes and edges."""
        child, parent = (ends.numpy() for ends in batch.graph.edges(order="eid"))
        edges = np.stack((parent, child), 1)[np.argsort(parent, kind="stable")]
        orders = calculate_evaluation_orders(edges, batch.graph.num_nodes())
        nodes, edge_order = map(torch.from_numpy, orders)
        return batch.graph, nodes, torch.from_numpy(edges), edge_order

    def fresh(self, prepared: Any) -> Any:
        """The same, since the package caches nothing."""
        return prepared

    def states(self, prepared: Any) -> tuple[Tensor, Tensor]:
        graph, *orders = prepared
        feat = self.model.table(graph.ndata["token"])
        h, _ = self.model.cell(feat, *orders)
        return h, graph.ndata["label"]
