"""Contenders that run the cells of graphsent: on DGL, on our engine, node by node, and the limit.

* ``dgl``: ``dgl.prop_nodes_topo`` with the cell's functions, inputs at all nodes.
* ``dgl, default AdaGrad``: the same with torch's default AdaGrad, where the word table is trained.
* ``drop-in``: ``graphsent.propagation.prop_nodes_topo`` in its place, nothing else changed.
* ``levels``: ``cell(graph, feat, engine="levels")`` with the same inputs.
* ``levels, words``: the same with ``IndexedFeat``: one row for each word of the batch.
* ``levels, words, no kernels``: the same without compiled kernels, all in torch.
* ``one by one``: plain torch, one tree at a time and node after node, each a call of the cell's
  equations.
* ``limit``: the products and pointwise work of ``levels, words`` in plain torch, as if no node
  depended on another: one product for all words, one for all inner nodes.
* ``limit, engine``: the same with our engine: a graph with the same words, leaves and inner nodes,
  and all inner nodes in one level.

All get a new graph for every step, made before its time is taken. So the schedule is a part of our
steps, though in training it can be made while batches are loaded; the limits need none.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor

from graphsent._dgl import dgl
from graphsent.cells import SlottedCell
from graphsent.propagation import prop_nodes_topo
from graphsent.propagation.compiled import SWITCH
from graphsent.trees import Tree

from .data import Batch
from .measuring import Contender
from .model import Model, children_of


class TorchContender(Contender):
    """A contender with a model in torch.

    Args:
        model: it is copied.
        table: see :meth:`Model.copy`.
    """

    trains_table = "dense"

    def __init__(self, model: Model, table: str = "frozen") -> None:
        self.model = model.copy(table)

    def states(self, prepared: Any) -> tuple[Tensor, Tensor]:
        """The states of all nodes, and the labels in the same order."""
        raise NotImplementedError

    def forward(self, prepared: Any) -> None:
        """See :class:`Contender`."""
        with torch.no_grad():
            self.model.loss(*self.states(prepared))

    def step(self, prepared: Any) -> None:
        """See :class:`Contender`."""
        self.model.update(self.model.loss(*self.states(prepared)))

    def outcome(self, prepared: Any) -> tuple[np.ndarray, float]:
        """See :class:`Contender`."""
        with torch.no_grad():
            h, labels = self.states(self.fresh(prepared))
            return h.numpy(), self.model.loss(h, labels).item()


class GraphContender(TorchContender):
    """A contender that runs over DGL graphs."""

    def prepare(self, batch: Batch) -> Batch:
        """The batch."""
        return batch

    def fresh(self, batch: Batch) -> dgl.DGLGraph:
        """A graph of which neither DGL nor we know anything but what its trees tell."""
        return batch.new_graph()


class Functions(GraphContender):
    """Propagation with the cell's message, reduce and apply functions."""

    name = "dgl"
    propagate = staticmethod(dgl.prop_nodes_topo)

    def states(self, graph: dgl.DGLGraph) -> tuple[Tensor, Tensor]:
        """See :class:`TorchContender`."""
        cell, labels = self.model.cell, graph.ndata["label"]
        inputs = cell.node_inputs(graph, self.model.table(graph.ndata["token"]))
        for field in list(graph.ndata):
            del graph.ndata[field]  # DGL would gather them at every level
        graph.ndata.update(inputs)
        self.propagate(
            graph, cell.message_func, cell.reduce_func, apply_node_func=cell.apply_node_func
        )
        return graph.ndata["h"], labels


class DefaultAdagrad(Functions):
    """The same with the optimizer of DGL's own example, for a word table that is trained."""

    name = "dgl, default AdaGrad"
    trains_table = "default"


class DropIn(Functions):
    """The same with graphsent's function."""

    name = "drop-in"
    propagate = staticmethod(prop_nodes_topo)


class DglEngine(GraphContender):
    """The cell's own call, on DGL; for cells that are more than one recursion."""

    name = "dgl"

    def states(self, graph: dgl.DGLGraph) -> tuple[Tensor, Tensor]:
        """See :class:`TorchContender`."""
        feat = self.model.table(graph.ndata["token"])
        return self.model.cell(graph, feat, engine="dgl"), graph.ndata["label"]


class Levels(GraphContender):
    """Our engine, with inputs at all nodes."""

    name = "levels"

    def states(self, graph: dgl.DGLGraph) -> tuple[Tensor, Tensor]:
        """See :class:`TorchContender`."""
        feat = self.model.table(graph.ndata["token"])
        return self.model.cell(graph, feat, engine="levels"), graph.ndata["label"]


class Words(GraphContender):
    """Our engine, with inputs by word."""

    name = "levels, words"
    trains_table = "rows"

    def states(self, graph: dgl.DGLGraph) -> tuple[Tensor, Tensor]:
        """See :class:`TorchContender`."""
        feat = self.model.table.indexed(graph.ndata["token"])
        return self.model.cell(graph, feat, engine="levels"), graph.ndata["label"]


class WordsInTorch(Words):
    """Our engine, with inputs by word, without compiled kernels."""

    name = "levels, words, no kernels"

    def states(self, graph: dgl.DGLGraph) -> tuple[Tensor, Tensor]:
        """See :class:`TorchContender`."""
        # Gradients take the way that the forward pass took.
        with patch.dict(os.environ, {SWITCH: "0"}):
            return super().states(graph)


class FlatWords(Words):
    """Our engine over a graph without depth."""

    name = "limit, engine"
    comparable = False

    def prepare(self, batch: Batch) -> dgl.DGLGraph:
        """The same nodes; the children of inner nodes are leaves, each as often as others."""
        graph = batch.graph
        degrees = graph.in_degrees()
        parents = torch.repeat_interleave(torch.arange(len(degrees)), degrees)
        leaves = torch.nonzero(degrees == 0).squeeze(1)
        children = leaves[torch.arange(len(parents)) % len(leaves)]
        flat = dgl.graph((children, parents), num_nodes=len(degrees))
        flat.ndata.update({name: graph.ndata[name] for name in ("token", "label")})
        first = torch.cumsum(degrees, 0) - degrees
        flat.edata["child_index"] = torch.arange(len(parents)) - first[parents]
        return flat

    def fresh(self, graph: dgl.DGLGraph) -> dgl.DGLGraph:
        """The same: a limit needs no schedule."""
        return graph


class Limit(TorchContender):
    """All inner nodes at once, with any leaves for children; inner nodes of one in-degree."""

    name = "limit"
    comparable = False
    trains_table = "rows"

    def prepare(self, batch: Batch) -> dgl.DGLGraph:
        """The graph."""
        return batch.graph

    def states(self, graph: dgl.DGLGraph) -> tuple[Tensor, Tensor]:
        """See :class:`TorchContender`."""
        cell, token = self.model.cell, graph.ndata["token"]
        feat = self.model.table.indexed(token[token >= 0])
        index = feat.index
        leaves = cell.start(cell.project(feat.rows).index_select(0, index))
        num_inner = len(token) - len(index)
        degree = graph.num_edges() // max(num_inner, 1)
        if degree * num_inner != graph.num_edges():
            raise ValueError("expected inner nodes of one in-degree")
        sources = torch.arange(graph.num_edges()) % len(index)
        children = tuple(
            part.index_select(0, sources).unflatten(0, (num_inner, degree)) for part in leaves
        )
        inner = cell.combine(children, cell.W.bias.expand(num_inner, -1))
        return torch.cat((leaves[0], inner[0])), graph.ndata["label"]


class PlainTree(NamedTuple):
    """A tree as numbers.

    Attributes:
        token: words of all nodes, -1 where there is none.
        label: classes of all nodes.
        children: of all nodes, from left to right; parents come before children.
    """

    token: list[int]
    label: list[int]
    children: list[list[int]]

    @classmethod
    def of(cls, batch: Batch) -> list[PlainTree]:
        """The trees of a batch."""
        sizes = [tree.num_nodes for tree in batch.trees]
        parts = (batch.graph.ndata[name].split(sizes) for name in ("token", "label"))
        return [
            cls(token.tolist(), label.tolist(), _children(tree))
            for tree, token, label in zip(batch.trees, *parts, strict=True)
        ]


def _children(tree: Tree) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in range(tree.num_nodes)]
    for node, parent in enumerate(tree.parents.tolist()):
        if parent >= 0:
            children[parent].append(node)
    return children


class OneByOne(TorchContender):
    """Node after node, tree after tree; the gradients of a batch are summed."""

    name = "one by one"

    def prepare(self, batch: Batch) -> list[PlainTree]:
        """The trees as numbers."""
        return PlainTree.of(batch)

    def forward(self, trees: list[PlainTree]) -> None:
        """See :class:`Contender`."""
        with torch.no_grad():
            for tree in trees:
                self.model.loss(*self.states([tree]))

    def step(self, trees: list[PlainTree]) -> None:
        """See :class:`Contender`."""
        self.model.zero_grad()
        for tree in trees:
            self.model.loss(*self.states([tree])).backward()
        for optimizer in self.model.optimizers:
            optimizer.step()

    def states(self, trees: list[PlainTree]) -> tuple[Tensor, Tensor]:
        """See :class:`TorchContender`."""
        rows = [row for tree in trees for row in self._tree(tree)]
        return torch.stack(rows), torch.tensor([label for tree in trees for label in tree.label])

    def _tree(self, tree: PlainTree) -> list[Tensor]:
        cell = self.model.cell
        token = torch.tensor(tree.token)
        inputs = cell.project(self.model.table(token)).unsqueeze(1).unbind()
        num_slots = cell.num_slots if isinstance(cell, SlottedCell) else None
        states: list[Any] = [None] * len(tree.token)
        for node in reversed(range(len(states))):
            below = [states[child] for child in tree.children[node]]
            if below:
                parts = tuple(
                    children_of(list(part), num_slots) for part in zip(*below, strict=True)
                )
                state = cell.combine(parts, inputs[node])
            else:
                state = cell.start(inputs[node])
            states[node] = tuple(part[0] for part in state)
        return [state[0] for state in states]
