"""Encoders of trees: from word vectors to a vector per node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from graphsent._dgl import dgl
from graphsent.errors import ModelError
from graphsent.graphs import BOTTOM_UP
from graphsent.propagation.feats import IndexedFeat
from graphsent.trees import DependencyTree, Tree

__all__ = ["TreeEncoder"]

Shape = Callable[[Tree | DependencyTree], Tree | DependencyTree]


class TreeEncoder(nn.Module):
    """A cell over the nodes of trees, independent of the head.

    Args:
        cell: Called as ``cell(graph, words, engine=...)``, like those of :mod:`graphsent.cells`;
            None for an encoder that overrides ``forward``.
        shape: Converts a tree to the shape that the cell reads, see
            :mod:`graphsent.models.batches.shape`.
        direction: Direction of the graphs' edges, one of :data:`graphsent.graphs.DIRECTIONS`.
        both_ways: Whether there is also a pass against the edges.

    Attributes:
        edge_weight_name: Name of the :meth:`edge_weights`, for the legend of a picture.
    """

    edge_weight_name = "weight"

    def __init__(
        self,
        cell: nn.Module | None = None,
        *,
        shape: Shape | None = None,
        direction: str = BOTTOM_UP,
        both_ways: bool = False,
    ) -> None:
        super().__init__()
        self.cell: Any = cell
        self.shape = shape
        self.direction = direction
        self.both_ways = both_ways

    def shape_tree(self, tree: Tree | DependencyTree) -> Tree | DependencyTree:
        """Converts a tree to the shape that the cell reads, keeping its words and all its spans.

        Raises:
            ModelError: The cell cannot read the tree.
        """
        return tree if self.shape is None else self.shape(tree)

    def forward(
        self, graph: dgl.DGLGraph, words: torch.Tensor | IndexedFeat, *, engine: str = "auto"
    ) -> torch.Tensor:
        """The vector of each node, (num_nodes, num_features).

        Args:
            graph: A batch of trees.
            words: (num_nodes, in_feats), or rows shared between nodes.
            engine: One of :data:`graphsent.propagation.ENGINES`.
        """
        return self.cell(graph, words, engine=engine)

    def edge_weights(
        self, graph: dgl.DGLGraph, words: torch.Tensor | IndexedFeat, *, engine: str = "auto"
    ) -> torch.Tensor:
        """The encoder's edge weights, (num_edges,); arguments as in :meth:`forward`.

        Raises:
            ModelError: The encoder has no edge weights.
        """
        raise ModelError("this model has no edge weights")
