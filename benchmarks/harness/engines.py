"""Contenders that call the cells of graphsent, on DGL and on our engine.

* ``dgl``: ``cell(graph, feat, engine="dgl")``, which is ``dgl.prop_nodes_topo`` with the cell's
  functions, inputs at all nodes.
* ``drop-in``: ``graphsent.propagation.prop_nodes_topo`` with these functions.
* ``levels``: ``cell(graph, feat, engine="levels")`` with the same inputs.
* ``levels, words``: as ``levels``, with ``IndexedFeat``: one row per distinct word of the batch.
* ``levels, words, no kernels``: as ``levels, words``, with compiled kernels turned off.

Each step gets a new graph, built before timing starts. Our steps thus include computing the
schedule, which in training can be done while batches are loaded.
"""

from __future__ import annotations

import os
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor

from graphsent._dgl import dgl
from graphsent.propagation import prop_nodes_topo

from .measuring import Contender
from .model import Model

SWITCH = "GRAPHSENT_KERNELS"


class TorchContender(Contender):
    """A contender with a copy of a model in torch."""

    def __init__(self, model: Model) -> None:
        self.model = model.copy()

    def fresh(self, batch: Any) -> Any:
        """A graph on which neither DGL nor graphsent has cached anything."""
        return batch.new_graph()

    def states(self, prepared: Any) -> tuple[Tensor, Tensor]:
        """The states of all nodes, and their labels."""
        raise NotImplementedError

    def forward(self, prepared: Any) -> None:
        with torch.no_grad():
            self.model.loss(*self.states(prepared))

    def step(self, prepared: Any) -> None:
        self.model.update(self.model.loss(*self.states(prepared)))

    def outcome(self, prepared: Any) -> tuple[np.ndarray, float]:
        with torch.no_grad():
            h, labels = self.states(self.fresh(prepared))
            return h.numpy(), self.model.loss(h, labels).item()


class Levels(TorchContender):
    """A cell called on our engine, with inputs at all nodes."""

    name, engine = "levels", "levels"

    def inputs(self, token: Tensor) -> Any:
        """The inputs of a cell."""
        return self.model.table(token)

    def states(self, graph: dgl.DGLGraph) -> tuple[Tensor, Tensor]:
        feat = self.inputs(graph.ndata["token"])
        return self.model.cell(graph, feat, engine=self.engine), graph.ndata["label"]


class Dgl(Levels):
    """A cell called on DGL."""

    name, engine = "dgl", "dgl"


class DropIn(TorchContender):
    """A user's call of DGL's function, replaced by ours."""

    name = "drop-in"

    def states(self, graph: dgl.DGLGraph) -> tuple[Tensor, Tensor]:
        cell, feat = self.model.cell, self.model.table(graph.ndata["token"])
        graph.ndata.update(cell.node_inputs(graph, feat))
        prop_nodes_topo(graph, cell.message_func, cell.reduce_func, False, cell.apply_node_func)
        return graph.ndata["h"], graph.ndata["label"]


class Words(Levels):
    """Our engine, with inputs by word."""

    name = "levels, words"

    def inputs(self, token: Tensor) -> Any:
        return self.model.table.indexed(token)


class WordsInTorch(Words):
    """Our engine, with inputs by word, without compiled kernels."""

    name = "levels, words, no kernels"

    def states(self, graph: dgl.DGLGraph) -> tuple[Tensor, Tensor]:
        with patch.dict(os.environ, {SWITCH: "0"}):  # backward follows the choice of forward
            return super().states(graph)


ALL = (Dgl, DropIn, Levels, WordsInTorch, Words)
