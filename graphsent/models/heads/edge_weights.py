"""What a model says about the edges of trees: attention, shares in head words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

from graphsent._dgl import dgl
from graphsent.models.base.inference import map_batches
from graphsent.models.batches.forms import as_trees
from graphsent.models.heads.classification import TreeClassifier

__all__ = ["weights_of_edges"]


def weights_of_edges(
    model: TreeClassifier,
    trees: Iterable[Any],
    batch_size: int,
    compute: Callable[[dgl.DGLGraph], torch.Tensor],
) -> list[np.ndarray]:
    """A number for each edge of each tree.

    Args:
        model: Makes the batches; in evaluation mode.
        trees: See :func:`~graphsent.models.batches.forms.as_trees`.
        batch_size: How many trees are computed at once.
        compute: Gives the numbers of a batched graph, (num_edges,).

    Returns:
        For each tree, in the order given, (num_edges,) float32, in the order of its graph's edges.
    """
    trees = as_trees(trees)

    def of_batch(chosen: list[Any]) -> list[np.ndarray]:
        graph = model.collate(chosen).graph
        ends = np.cumsum(graph.batch_num_edges().cpu().numpy())
        return np.split(compute(graph).float().cpu().numpy(), ends[:-1])

    return map_batches(trees, [tree.num_nodes for tree in trees], batch_size, of_batch)
