"""Convolutions with attention pooling guided by a Tree-LSTM."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from graphsent._names import check_choice
from graphsent.cells import NaryTreeLSTM
from graphsent.errors import ModelError
from graphsent.models.batches.guided import GuidedBatch
from graphsent.models.batches.shape import to_binary
from graphsent.models.encoders.guided_stack import GuidedStack
from graphsent.models.encoders.tree import TreeEncoder
from graphsent.propagation.feats import IndexedFeat

__all__ = ["APDCNNEncoder"]

_BRANCHES = ("both", "tree", "convolution")


class APDCNNEncoder(TreeEncoder):
    """Stacks of convolutions over the words below each node, guided by a Tree-LSTM.

    See :class:`~graphsent.models.encoders.guided_stack.GuidedStack` for the stacks.

    Args:
        in_feats: Size of the word vectors.
        hidden: Number of channels of the last convolution and size of the Tree-LSTM state.
        widths: Filter widths of the layers of each stack, in words.
        branches: ``"both"``; ``"tree"``, the Tree-LSTM only; or ``"convolution"``, the stacks only,
            with k-max pooling of the last layer.
        convolution: ``"full"``, over all channels, as in the paper; or ``"rowwise"``, as in the
            DCNN.
        row_maps: Number of feature maps of each layer with ``"rowwise"``.
        pool: Pooling between layers, ``"kmax"`` or ``"none"``. Without pooling, each position
            covers a fixed window of words, so that its attention weight can be visualized.
        readout: How the positions of the last layer become one vector: ``"sum"``, their
            attention-weighted sum; or ``"kmax"``, the ``k_top`` largest values of each channel of
            the weighted positions.
        k_top: Minimum number of values that k-max pooling keeps.
        temperature: Temperature of the attention, the divisor of the cosine similarities.

    Raises:
        ModelError: Sizes or choices are invalid, or there is no stack.
    """

    def __init__(
        self,
        in_feats: int,
        hidden: int,
        *,
        widths: tuple[tuple[int, ...], ...] = ((7, 5),),
        branches: str = "both",
        convolution: str = "full",
        row_maps: tuple[int, ...] = (6, 14),
        pool: str = "kmax",
        readout: str = "sum",
        k_top: int = 4,
        temperature: float = 1.0,
    ) -> None:
        check_choice("branches", branches, _BRANCHES, ModelError)
        super().__init__(shape=to_binary)
        if branches != "tree" and not widths:
            raise ModelError("widths: expected at least one stack")
        self.branches = branches
        stacks = [
            GuidedStack(
                in_feats,
                hidden,
                each,
                convolution=convolution,
                row_maps=row_maps,
                pool=pool,
                readout="kmax" if branches == "convolution" else readout,
                k_top=k_top,
                temperature=temperature,
            )
            for each in (() if branches == "tree" else widths)
        ]
        self.stacks: Any = nn.ModuleList(stacks)
        self.tree = NaryTreeLSTM(in_feats, hidden) if branches != "convolution" else None
        self.num_convolved = sum(stack.num_features for stack in stacks)
        self.num_features = self.num_convolved + (0 if self.tree is None else hidden)

    def forward(  # type: ignore[override]  # of units, which are not all nodes
        self, batch: GuidedBatch, rows: Tensor, words: Tensor | None, *, engine: str = "auto"
    ) -> Tensor:
        """The concatenated vectors of each unit, that of the tree last.

        Args:
            batch: Units of trees.
            rows: (num_rows, in_feats), the word vectors.
            words: (num_words,) int64, the row of each word; None if they are in order.
            engine: One of :data:`graphsent.propagation.ENGINES`.

        Returns:
            (num_units, num_features).
        """
        guides = self._guides(batch, rows, words, engine)
        parts = [stack(rows, batch.ranges, guides, words) for stack in self.stacks]
        return torch.cat(parts if guides is None else [*parts, guides], 1)

    def position_weights(
        self, batch: GuidedBatch, rows: Tensor, words: Tensor | None, *, engine: str = "auto"
    ) -> list[list[np.ndarray]]:
        """The attention weights per stack and unit; arguments as in :meth:`forward`."""
        guides = self._guides(batch, rows, words, engine)
        of_stacks = []
        for stack in self.stacks:
            weights, counts = stack.weights(rows, batch.ranges, guides, words)
            wide = torch.promote_types(weights.dtype, torch.float32)  # numpy has no bfloat16
            parts = weights.to("cpu", wide).split(counts.tolist())
            of_stacks.append([part.numpy() for part in parts])
        return of_stacks

    def _guides(
        self, batch: GuidedBatch, rows: Tensor, words: Tensor | None, engine: str
    ) -> Tensor | None:
        """The Tree-LSTM's h of each unit, (num_units, hidden)."""
        if self.tree is None:
            return None
        index = batch.word_of_node
        if words is not None:
            index = torch.where(index < 0, -1, words[index])
        return self.tree(batch.graph, IndexedFeat(rows, index), engine=engine)[batch.nodes]
