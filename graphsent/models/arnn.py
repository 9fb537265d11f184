"""The attentive recursive network over dependency trees, and the baselines without attention."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from graphsent._dgl import dgl
from graphsent._names import nearest, unknown
from graphsent.cells import (
    AttentiveTreeGRU,
    AttentiveTreeLSTM,
    ChildSumTreeGRU,
    ChildSumTreeLSTM,
)
from graphsent.cells.feats import IndexedFeat
from graphsent.errors import ModelError
from graphsent.graphs import root_nodes, word_ranges
from graphsent.layers import SequenceEncoder
from graphsent.models.arguments import check_sizes
from graphsent.models.base.inference import evaluating
from graphsent.models.batches.trees import TreeBatch
from graphsent.models.heads.classification import TreeClassifier
from graphsent.models.heads.edge_weights import weights_of_edges
from graphsent.vocabulary import Vocabulary

__all__ = ["ARNNClassifier", "ARNNEncoder"]

_CELLS = {
    ("lstm", False): ChildSumTreeLSTM,
    ("lstm", True): AttentiveTreeLSTM,
    ("gru", False): ChildSumTreeGRU,
    ("gru", True): AttentiveTreeGRU,
}
_ATTENTION = ("static", "dynamic", "none")
# Options that not every cell has, where they change nothing.
_DEFAULTS = {"memory": "per_child", "gate_output": True, "reset": "per_child"}


class ARNNEncoder(nn.Module):
    """States of all nodes of trees of words, with attention over the children.

    *An Attention-based Recursive Neural Network for Semantic Representation* (Zhou, Liu and Pan).
    With dynamic attention the vector that a sentence's nodes attend by is the last state of a
    sequential LSTM or GRU over the same word vectors, with parameters of its own. Without
    attention the cells are the child-sum Tree-LSTM and Tree-GRU that the paper compares with.

    Args:
        in_feats: Length of a word vector.
        hidden: Length of h.
        cell: ``"lstm"`` or ``"gru"``.
        attention: ``"static"``, ``"dynamic"`` or ``"none"``.
        memory: See :class:`~graphsent.cells.AttentiveTreeLSTM`.
        gate_output: See :class:`~graphsent.cells.AttentiveTreeLSTM`.
        reset: See :class:`~graphsent.cells.AttentiveTreeGRU`.

    Raises:
        ModelError: Cell or attention is unknown, or an option is set that the cell does not have.
    """

    def __init__(
        self,
        in_feats: int,
        hidden: int,
        *,
        cell: str,
        attention: str,
        memory: str = "per_child",
        gate_output: bool = True,
        reset: str = "per_child",
    ) -> None:
        super().__init__()
        if attention not in _ATTENTION:
            raise ModelError(unknown("attention", attention, _ATTENTION))
        attends = attention != "none"
        if (cell, attends) not in _CELLS:
            hint = nearest(cell, ("lstm", "gru"))
            raise ModelError(f"unknown cell {cell!r}: expected 'lstm' or 'gru'{hint}")
        cls = _CELLS[cell, attends]
        options = _options_of(cls, memory=memory, gate_output=gate_output, reset=reset)
        if attends:
            options["attention"] = attention
        self.cell = cls(in_feats, hidden, **options)
        self.attends = attends
        self.sequence: SequenceEncoder | None = None
        if attention == "dynamic":
            self.sequence = SequenceEncoder(in_feats, hidden, cell=cell)

    def forward(
        self,
        graph: dgl.DGLGraph,
        words: torch.Tensor | IndexedFeat,
        query: torch.Tensor | None = None,
        engine: str = "auto",
    ) -> torch.Tensor:
        """The h of each node, (num_nodes, hidden).

        Args:
            graph: A batch of trees, edges from child to parent.
            words: (num_nodes, in_feats), or as rows that nodes share.
            query: With dynamic attention the vector of each sentence, (batch_size, hidden); by
                default :meth:`queries`.
            engine: One of :data:`graphsent.propagation.ENGINES`.
        """
        vectors = self._attention_vectors(graph, words, query)
        return self.cell(graph, words, engine=engine, **vectors)

    def attention_weights(
        self, graph: dgl.DGLGraph, words: torch.Tensor | IndexedFeat, engine: str = "auto"
    ) -> torch.Tensor:
        """The weight of each child among its parent's children, by edge, (num_edges,)."""
        vectors = self._attention_vectors(graph, words, None)
        _, weights = self.cell(graph, words, return_attention=True, engine=engine, **vectors)
        return weights

    def queries(self, graph: dgl.DGLGraph, words: torch.Tensor | IndexedFeat) -> torch.Tensor:
        """The attention vector of each sentence, (batch_size, hidden), with dynamic attention."""
        assert self.sequence is not None
        nodes, ranges = word_ranges(graph)
        sentences = ranges[root_nodes(graph)]
        rows, index = words, nodes
        if isinstance(words, IndexedFeat):
            rows, index = words.rows, words.index[nodes]
        return self.sequence(rows, sentences.to(rows.device), index.to(rows.device))

    def _attention_vectors(
        self, graph: dgl.DGLGraph, words: torch.Tensor | IndexedFeat, query: torch.Tensor | None
    ) -> dict[str, torch.Tensor]:
        if self.sequence is None:
            return {}
        return {"query": self.queries(graph, words) if query is None else query}


class ARNNClassifier(TreeClassifier):
    r"""Attentive Tree-LSTM or Tree-GRU over dependency trees that classifies every node.

    *An Attention-based Recursive Neural Network for Semantic Representation* (Zhou, Liu and Pan):

    .. math::
        \hat p_t = \mathrm{softmax}(W h_t + b)

    with dropout on :math:`h_t` of :class:`ARNNEncoder`. Constituency trees are read as well; words
    then enter at the leaves.

    Args:
        vocab: The words the model knows.
        num_classes: Number of classes.
        embedding_dim: Length of a word vector.
        hidden: Length of h.
        cell: ``"lstm"`` or ``"gru"``.
        attention: ``"static"``, by a learnt vector; ``"dynamic"``, by the last state of a
            sequential network over the sentence; or ``"none"``, the dependency Tree-LSTM or
            Tree-GRU.
        memory: See :class:`~graphsent.cells.AttentiveTreeLSTM`.
        gate_output: See :class:`~graphsent.cells.AttentiveTreeLSTM`.
        reset: See :class:`~graphsent.cells.AttentiveTreeGRU`.
        dropout: Dropout on :math:`h_t`.
        embedding_dropout: Dropout on word vectors.
        sparse_embedding: Whether the gradient of the word table holds only the rows in use.
        label_names: Names of the classes; by default their numbers.

    Raises:
        ModelError: Cell or attention is unknown, or an option is set that the cell does not have.
    """

    name = "arnn"
    tree_kind = "dependency"

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int,
        embedding_dim: int = 300,
        hidden: int = 150,
        *,
        cell: str = "lstm",
        attention: str = "static",
        memory: str = "per_child",
        gate_output: bool = True,
        reset: str = "per_child",
        dropout: float = 0.5,
        embedding_dropout: float = 0.0,
        sparse_embedding: bool = False,
        label_names: Sequence[str] | None = None,
    ) -> None:
        check_sizes(hidden=hidden)
        super().__init__(
            vocab,
            num_classes,
            embedding_dim=embedding_dim,
            num_features=hidden,
            dropout=dropout,
            embedding_dropout=embedding_dropout,
            sparse_embedding=sparse_embedding,
            label_names=label_names,
        )
        self.encoder = ARNNEncoder(
            embedding_dim,
            hidden,
            cell=cell,
            attention=attention,
            memory=memory,
            gate_output=gate_output,
            reset=reset,
        )

    def node_states(self, batch: TreeBatch) -> torch.Tensor:
        """The h of each node, (num_nodes, hidden)."""
        words = self.embedding.of_nodes(batch.graph)
        return self.encoder(batch.graph, words, engine=self.engine)

    def edge_weights(self, trees: Iterable[Any], batch_size: int = 64) -> list[np.ndarray]:
        """The attention weights: how much each node counts among its parent's children.

        Args:
            trees: See :func:`~graphsent.models.batches.forms.as_trees`.
            batch_size: How many trees are computed at once.

        Returns:
            For each tree one weight for each node but the root, in node order.

        Raises:
            ModelError: The model has no attention, or something is no tree.
        """
        if not self.encoder.attends:
            raise ModelError("there are no weights: the model was built with attention='none'")
        with evaluating(self) as model:
            return weights_of_edges(model, trees, batch_size, model._attention_weights)

    def _attention_weights(self, graph: dgl.DGLGraph) -> torch.Tensor:
        words = self.embedding.of_nodes(graph)
        return self.encoder.attention_weights(graph, words, self.engine)


def _options_of(cls: type[nn.Module], **options: Any) -> dict[str, Any]:
    """The options that a cell has; the others must be at their defaults."""
    known = inspect.signature(cls).parameters
    for name, value in options.items():
        if name not in known and value != _DEFAULTS[name]:
            raise ModelError(f"{name}={value!r} is no choice of the cell {cls.__name__}")
    return {name: value for name, value in options.items() if name in known}
