"""DGL's own Tree-LSTM example, ``examples/pytorch/tree_lstm``, trained as by its authors.

Its functions do less than those of our N-ary cell: inner nodes add no inputs, and children are in
mailbox order. If only leaves have inputs and all other nodes have two children, the states equal
those of our cell. A step batches graphs that were built beforehand, one per tree; it has dropout on
words and states, and AdaGrad over all parameters, including the whole word table. The logging of
every fifth step, which is slow, is left out.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import torch
from harness.measuring import Contender
from harness.trainees import Portion, flushed
from torch import Tensor, nn
from torch.nn import functional

from graphsent._dgl import dgl
from graphsent.graphs import constituency_graph
from graphsent.models import TreeLSTMClassifier
from graphsent.training import TrainingOptions

LEARNING_RATE, OF_WORDS, WEIGHT_DECAY, DROPOUT = 0.05, 0.005, 1e-4, 0.5


class Network(nn.Module):
    """The example's model with the weights of ours at default options."""

    def __init__(self, model: TreeLSTMClassifier) -> None:
        super().__init__()
        cell = model.encoder.cell
        count, size, updates = cell.num_children, cell.hidden_feats, 3 * cell.hidden_feats
        self.size = size
        self.words = nn.Embedding.from_pretrained(model.embedding.weight.detach().clone(), False)
        self.leaf_sums = nn.Linear(cell.in_feats, updates, bias=False)
        self.inner_sums = nn.Linear(count * size, updates, bias=False)
        self.forget_sums = nn.Linear(count * size, count * size)
        self.bias = nn.Parameter(cell.W.bias[:updates].detach().clone())
        self.output = deepcopy(model.output)
        self.dropout = nn.Dropout(DROPOUT)
        with torch.no_grad():
            self.leaf_sums.weight.copy_(cell.W.weight[:updates])
            self.inner_sums.weight.copy_(cell.U.weight[:updates])
            self.forget_sums.weight.copy_(cell.U.weight[updates:])
            self.forget_sums.bias.copy_(cell.W.bias[updates:].repeat(count))

    def message_func(self, edges: Any) -> dict[str, Tensor]:
        return {"h": edges.src["h"], "c": edges.src["c"]}

    def reduce_func(self, nodes: Any) -> dict[str, Tensor]:
        h, c = nodes.mailbox["h"].flatten(1), nodes.mailbox["c"]
        forget = torch.sigmoid(self.forget_sums(h)).view_as(c)
        return {"sums": self.inner_sums(h), "c": (forget * c).sum(1)}

    def apply_node_func(self, nodes: Any) -> dict[str, Tensor]:
        i, o, u = (nodes.data["sums"] + self.bias).split(self.size, 1)
        c = torch.sigmoid(i) * torch.tanh(u) + nodes.data["c"]
        return {"h": torch.sigmoid(o) * torch.tanh(c), "c": c}

    def forward(self, graph: dgl.DGLGraph) -> Tensor:
        """The logits of all nodes."""
        mask = graph.ndata["mask"]
        words = self.dropout(self.words(graph.ndata["x"] * mask))
        graph.ndata["sums"] = self.leaf_sums(words) * mask.float().unsqueeze(1)
        for state in ("h", "c"):
            graph.ndata[state] = torch.zeros(graph.num_nodes(), self.size)
        functions = (self.message_func, self.reduce_func)
        dgl.prop_nodes_topo(graph, *functions, apply_node_func=self.apply_node_func)
        return self.output(self.dropout(graph.ndata.pop("h")))


class DglExample(Contender):
    """The example; it ignores ``training`` and has its own settings."""

    name = "DGL's own example"
    models = ("treelstm",)
    users_flush = False

    def __init__(self, model: TreeLSTMClassifier, training: TrainingOptions, flush: bool) -> None:
        self.flush = flush
        self.vocab, self.shape_tree = model.vocab, model.shape_tree
        self.network = Network(model)
        words = self.network.words.weight
        others = [each for each in self.network.parameters() if each is not words]
        groups = [
            {"params": others, "lr": LEARNING_RATE, "weight_decay": WEIGHT_DECAY},
            {"params": [words], "lr": OF_WORDS},
        ]
        self.optimizer = torch.optim.Adagrad(groups)

    def prepare(self, batch: Portion) -> list[dgl.DGLGraph]:
        """One graph per tree, with the same data as in the example."""
        return [self._graph(self.shape_tree(tree)) for tree in batch.examples]

    def _graph(self, tree: Any) -> dgl.DGLGraph:
        full = constituency_graph(tree, vocab=self.vocab)
        graph = dgl.graph(full.edges(), num_nodes=full.num_nodes())
        token = full.ndata["token"]
        graph.ndata.update({"x": token, "y": full.ndata["label"], "mask": (token >= 0).long()})
        return graph

    def step(self, graphs: list[dgl.DGLGraph]) -> None:
        with flushed(self.flush):
            _, loss = self._outcome(graphs)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def take(self, other: DglExample) -> None:
        """Copies the weights and the optimizer state of another contender."""
        self.network.load_state_dict(other.network.state_dict())
        self.optimizer.load_state_dict(deepcopy(other.optimizer.state_dict()))

    def outcome(self, graphs: list[dgl.DGLGraph]) -> tuple[np.ndarray, float]:
        self.network.eval()
        with torch.no_grad():
            logits, loss = self._outcome(graphs)
        self.network.train()
        return logits.numpy(), float(loss) / len(graphs)  # the example's loss is a sum

    def _outcome(self, graphs: list[dgl.DGLGraph]) -> tuple[Tensor, Tensor]:
        graph = dgl.batch(graphs)
        logits = self.network(graph)
        loss = functional.cross_entropy(logits, graph.ndata["y"], reduction="sum", ignore_index=-1)
        return logits, loss
