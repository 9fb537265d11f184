"""Contenders that call the cells of graphsent: on DGL, on our engine, and the limit.

* ``dgl``: ``dgl.prop_nodes_topo`` with the cell's functions, inputs at all nodes.
* ``drop-in``: ``graphsent.propagation.prop_nodes_topo`` in its place, nothing else changed.
* ``levels``: ``cell(graph, feat, engine="levels")`` with the same inputs.
* ``levels, words``: the same with ``IndexedFeat``: one row for each word of the batch.
* ``levels, words, no kernels``: the same without compiled kernels, all in torch.
* ``limit``: ``levels, words`` as if no node depended on another: over a graph with the same words,
  leaves and inner nodes, and all inner nodes in one level.

All get a new graph for every step, made before its time is taken. So the schedule is a part of our
steps, though in training it can be made while batches are loaded; the limit needs none.
"""

from __future__ import annotations

import os
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor

from graphsent._dgl import dgl
from graphsent.kernels.library import SWITCH
from graphsent.propagation import prop_nodes_topo

from .data import Batch
from .measuring import Contender
from .model import Model


class TorchContender(Contender):
    """A contender with a model in torch.

    Args:
        model: it is copied.
    """

    def __init__(self, model: Model) -> None:
        self.model = model.copy()

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

    name = "limit"
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
