"""DGL's own example of a Tree-LSTM, ``examples/pytorch/tree_lstm``, trained as its authors do.

The N-ary Tree-LSTM, whose functions have less to do than those of our cell: inputs are multiplied
at all nodes, too, but inner nodes do not add them, and children are taken in the order of the
mailbox. Where only leaves have inputs, and all other nodes two children, the states are those of
our cell. A step puts graphs together that were made before, one a tree; has dropout on words and
states; and AdaGrad over all parameters as torch has it by default, the whole word table included.
What its authors print every fifth step, which takes long, is left out.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from graphsent._dgl import dgl
from graphsent.cells import NaryTreeLSTM
from graphsent.graphs import constituency_graph
from graphsent.models import TreeLSTMClassifier
from graphsent.training import TrainingOptions

from .measuring import Contender
from .subnormals import flushed
from .trainees import Portion

LEARNING_RATE, OF_WORDS, WEIGHT_DECAY, DROPOUT = 0.05, 0.005, 1e-4, 0.5


class ExampleFunctions(nn.Module):
    """The three functions, with the weights of an N-ary cell of default options."""

    def __init__(self, cell: NaryTreeLSTM) -> None:
        super().__init__()
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


class Network(nn.Module):
    """The example's model with the weights of ours."""

    def __init__(self, model: TreeLSTMClassifier) -> None:
        super().__init__()
        self.words = nn.Embedding.from_pretrained(model.embedding.weight.detach().clone(), False)
        self.functions = ExampleFunctions(model.cell)
        self.output = nn.Linear(*reversed(model.output.weight.shape))
        self.output.load_state_dict(model.output.state_dict())
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, graph: dgl.DGLGraph) -> Tensor:
        """The logits of all nodes."""
        functions, mask = self.functions, graph.ndata["mask"]
        words = self.dropout(self.words(graph.ndata["x"] * mask))
        graph.ndata["sums"] = functions.leaf_sums(words) * mask.float().unsqueeze(1)
        for state in ("h", "c"):
            graph.ndata[state] = torch.zeros(graph.num_nodes(), functions.size)
        dgl.prop_nodes_topo(
            graph, functions.message, functions.reduce, apply_node_func=functions.apply
        )
        return self.output(self.dropout(graph.ndata.pop("h")))


class DglExample(Contender):
    """The example.

    Args:
        model: with an ``NaryTreeLSTM`` of default options.
        training: not asked: its authors' way is another one.
        flush: whether subnormal numbers are flushed.
    """

    name = "DGL's own example"
    users_flush = False

    def __init__(self, model: TreeLSTMClassifier, training: TrainingOptions, flush: bool) -> None:
        self.flush = flush
        self.vocab, self.shape_tree = model.vocab, model.shape_tree
        self.network = Network(model)
        others = [*self.network.functions.parameters(), *self.network.output.parameters()]
        groups = [
            {"params": others, "lr": LEARNING_RATE, "weight_decay": WEIGHT_DECAY},
            {"params": self.network.words.parameters(), "lr": OF_WORDS},
        ]
        self.optimizer = torch.optim.Adagrad(groups)

    def prepare(self, batch: Portion) -> list[dgl.DGLGraph]:
        """A graph for each tree, with the data that its authors' have."""
        return [self._graph(self.shape_tree(tree)) for tree in batch.examples]

    def _graph(self, tree: Any) -> dgl.DGLGraph:
        full = constituency_graph(tree, vocab=self.vocab)
        graph = dgl.graph(full.edges(), num_nodes=full.num_nodes())
        token = full.ndata["token"]
        graph.ndata.update({"x": token, "y": full.ndata["label"], "mask": (token >= 0).long()})
        return graph

    def step(self, graphs: list[dgl.DGLGraph]) -> None:
        """See :class:`Contender`."""
        with flushed(self.flush):
            loss = self._loss(*self._logits(graphs))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def take(self, other: DglExample) -> None:
        """Goes on from where another one is."""
        self.network.load_state_dict(other.network.state_dict())
        self.optimizer.load_state_dict(deepcopy(other.optimizer.state_dict()))

    def outcome(self, graphs: list[dgl.DGLGraph]) -> tuple[np.ndarray, float]:
        """See :class:`Contender`."""
        self.network.eval()
        with torch.no_grad():
            logits, labels = self._logits(graphs)
            loss = self._loss(logits, labels) / len(graphs)  # theirs is the sum
        self.network.train()
        return logits.numpy(), float(loss)

    def _logits(self, graphs: list[dgl.DGLGraph]) -> tuple[Tensor, Tensor]:
        graph = dgl.batch(graphs)
        return self.network(graph), graph.ndata["y"]

    def _loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        logarithms = functional.log_softmax(logits, 1)
        return functional.nll_loss(logarithms, labels, reduction="sum", ignore_index=-1)
