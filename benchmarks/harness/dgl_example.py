"""``dgl, example``: the functions that DGL's own example of a Tree-LSTM has.

They have less to do than those of our cell, and so are faster on ``dgl.prop_nodes_topo``: inputs
are multiplied at all nodes, too, but inner nodes do not add them, and children are taken in the
order of the mailbox. Where only leaves have inputs, and all other nodes two children, the states
are those of our N-ary cell.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from graphsent._dgl import dgl
from graphsent.cells import NaryTreeLSTM

from .engines import GraphContender
from .model import Model


class ExampleFunctions(nn.Module):
    """The three functions, with the weights of an N-ary cell of default options."""

    def __init__(self, cell: NaryTreeLSTM) -> None:
        super().__init__()
        self.in_feats, self.out_feats = cell.in_feats, cell.out_feats
        count, size, updates = cell.num_children, cell.hidden_feats, 3 * cell.hidden_feats
        self.size = size
        self.leaf_sums = nn.Linear(cell.in_feats, updates, bias=False)
        self.inner_sums = nn.Linear(count * size, updates, bias=False)
        self.forget_sums = nn.Linear(count * size, count * size)
        self.bias = nn.Parameter(cell.W.bias[:updates].detach().clone())
        with torch.no_grad():
            self.leaf_sums.weight.copy_(cell.W.weight[:updates])
            self.inner_sums.weight.copy_(cell.U.weight[:updates])
            self.forget_sums.weight.copy_(cell.U.weight[updates:])
            self.forget_sums.bias.copy_(cell.W.bias[updates:].repeat(count))

    def message(self, edges: Any) -> dict[str, Tensor]:
        """The state of the child."""
        return {"h": edges.src["h"], "c": edges.src["c"]}

    def reduce(self, nodes: Any) -> dict[str, Tensor]:
        """The sums of the gates, and what is left of the children's memory."""
        h, c = nodes.mailbox["h"].flatten(1), nodes.mailbox["c"]
        forget = torch.sigmoid(self.forget_sums(h)).view_as(c)
        return {"sums": self.inner_sums(h), "c": (forget * c).sum(1)}

    def apply(self, nodes: Any) -> dict[str, Tensor]:
        """The state."""
        i, o, u = (nodes.data["sums"] + self.bias).split(self.size, 1)
        c = torch.sigmoid(i) * torch.tanh(u) + nodes.data["c"]
        return {"h": torch.sigmoid(o) * torch.tanh(c), "c": c}


class Example(GraphContender):
    """DGL's propagation with these functions.

    Args:
        model: with an ``NaryTreeLSTM`` of default options.
        table: see :meth:`Model.copy`.
    """

    name = "dgl, example"

    def __init__(self, model: Model, table: str = "frozen") -> None:
        super().__init__(model.with_cell(ExampleFunctions(model.cell)), table)

    def states(self, graph: dgl.DGLGraph) -> tuple[Tensor, Tensor]:
        """See :class:`TorchContender`."""
        functions, labels = self.model.cell, graph.ndata["label"]
        sums = functions.leaf_sums(self.model.table(graph.ndata["token"]))
        for data in (graph.ndata, graph.edata):
            for field in list(data):
                del data[field]
        zeros = torch.zeros(len(sums), functions.size)
        graph.ndata.update({"sums": sums, "h": zeros, "c": zeros})
        dgl.prop_nodes_topo(
            graph, functions.message, functions.reduce, apply_node_func=functions.apply
        )
        return graph.ndata["h"], labels
