"""User code for type checkers: names of the package have types, mistakes are reported."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from typing_extensions import assert_type

import graphsent
from graphsent import ChildSumTreeLSTM, Tree, Vocabulary, load_pretrained, read_trees
from graphsent.cells import TreeCell
from graphsent.models import Model
from graphsent.tasks import Task, TaskData, get_task
from graphsent.training import RunConfig, TrainingOptions, load_model, train

assert_type(graphsent.__version__, str)
trees = read_trees("trees.txt")
assert_type(trees, list[Tree])
assert_type(graphsent.read_trees("trees.txt"), list[Tree])

cell = graphsent.ChildSumTreeLSTM(16, hidden_feats=32)
assert_type(cell, ChildSumTreeLSTM)
states = cell(graphsent.constituency_batch(trees), torch.randn(5, 16))
graph = graphsent.dgl.graph(([0, 1], [1, 2]))
total = graph.ndata["h"].sum() + 1  # DGL has no types

task = get_task("sst5")
assert_type(task, Task)
assert_type(task.load(), TaskData)
config = RunConfig("sst5", "treelstm", training=TrainingOptions(epochs=2))
results = train(config, "runs/a")
print(results["dev"])
for model in (load_pretrained("model"), load_model("runs/a")):
    assert_type(model, Model)
    assert_type(model.vocab, Vocabulary)

assert_type(graphsent.load().encode(["so good"]), np.ndarray)
assert_type(graphsent.load().encode(["so good"], convert_to_tensor=True), Tensor)


class Own(TreeCell):
    """Start and combine have the cell's inputs as parameters."""

    state_names = ("h",)

    def start(self, x: Tensor) -> tuple[Tensor]:
        return (torch.tanh(x),)

    def combine(self, children: tuple[Tensor, ...], x: Tensor) -> tuple[Tensor]:
        return (torch.tanh(x + children[0].sum(1)),)


graphsent.tree_lstm  # type: ignore[attr-defined]  # noqa: B018
read_trees(1)  # type: ignore[arg-type]
