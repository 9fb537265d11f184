"""The attentive recursive network over trees, and its variants without attention."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import nn

from graphsent._dgl import dgl
from graphsent._names import check_choice
from graphsent.cells import (
    AttentiveTreeGRU,
    AttentiveTreeLSTM,
    ChildSumTreeGRU,
    ChildSumTreeLSTM,
)
from graphsent.errors import ModelError
from graphsent.graphs import root_nodes, word_ranges
from graphsent.layers import SequenceEncoder
from graphsent.models.encoders.tree import TreeEncoder
from graphsent.propagation.feats import IndexedFeat

__all__ = ["ARNNEncoder"]

_CELLS = {
    ("lstm", False): ChildSumTreeLSTM,
    ("lstm", True): AttentiveTreeLSTM,
    ("gru", False): ChildSumTreeGRU,
    ("gru", True): AttentiveTreeGRU,
}
_ATTENTION = ("static", "dynamic", "none")


class ARNNEncoder(TreeEncoder):
    """Encodes the nodes of trees, with attention over the children of each node.

    *An Attention-based Recursive Neural Network for Semantic Representation* (Zhou, Liu and Pan).
    With dynamic attention, the attention vector of a sentence is the last state of a separate
    sequential LSTM or GRU over the same word vectors. Without attention, the cells are the
    child-sum Tree-LSTM and Tree-GRU, the paper's baselines.

    Args:
        in_feats: Size of the word vectors.
        hidden: Size of the hidden state h.
        cell: Type of the cell, ``"lstm"`` or ``"gru"``.
        attention: The attention vector: ``"static"``, a learned parameter; ``"dynamic"``, the last
            state of a sequential network over the sentence; or ``"none"`` for no attention, the
            child-sum Tree-LSTM or Tree-GRU.
        memory: How the attentive LSTM combines the children's cell states: ``"per_child"``, with a
            forget gate per child; ``"attended"``, with one forget gate on their attention-weighted
            sum; or ``"both"``, weighted and with a gate per child. See
            :class:`~graphsent.cells.AttentiveTreeLSTM`.
        gate_output: Whether the LSTM has an output gate; without it, h is tanh(c).
        reset: Reset gates of the GRU: ``"per_child"``, a gate per child; or ``"literal"``, a single
            gate after the matrix product, as the paper's text reads. See
            :class:`~graphsent.cells.AttentiveTreeGRU`.

    Raises:
        ModelError: Cell or attention is unknown, or an option is set that the cell does not have.
    """

    edge_weight_name = "attention"

    def __init__(
        self,
        in_feats: int,
        hidden: int,
        *,
        cell: str = "lstm",
        attention: str = "static",
        memory: str = "per_child",
        gate_output: bool = True,
        reset: str = "per_child",
    ) -> None:
        check_choice("attention", attention, _ATTENTION, ModelError)
        check_choice("cell", cell, ("lstm", "gru"), ModelError)
        attends = attention != "none"
        cls = _CELLS[cell, attends]
        options = _options_of(cls, memory=memory, gate_output=gate_output, reset=reset)
        if attends:
            options["attention"] = attention
        super().__init__(cls(in_feats, hidden, **options))
        self.attends = attends
        self.sequence: SequenceEncoder | None = None
        if attention == "dynamic":
            self.sequence = SequenceEncoder(in_feats, hidden, cell=cell)

    def forward(
        self,
        graph: dgl.DGLGraph,
        words: torch.Tensor | IndexedFeat,
        query: torch.Tensor | None = None,
        *,
        engine: str = "auto",
    ) -> torch.Tensor:
        """The h of each node, (num_nodes, hidden).

        Args:
            graph: A batch of trees, edges from child to parent.
            words: (num_nodes, in_feats), or rows shared between nodes.
            query: With dynamic attention, the attention vector of each sentence, (batch_size,
                hidden); :meth:`queries` by default.
            engine: One of :data:`graphsent.propagation.ENGINES`.
        """
        vectors = self._attention_vectors(graph, words, query)
        return self.cell(graph, words, engine=engine, **vectors)

    def edge_weights(
        self, graph: dgl.DGLGraph, words: torch.Tensor | IndexedFeat, *, engine: str = "auto"
    ) -> torch.Tensor:
        """The attention weight of each node among its parent's children, (num_edges,).

        Raises:
            ModelError: There is no attention.
        """
        if not self.attends:
            raise ModelError("no attention weights: the model was built with attention='none'")
        vectors = self._attention_vectors(graph, words, None)
        _, weights = self.cell(graph, words, return_attention=True, engine=engine, **vectors)
        return weights

    def queries(self, graph: dgl.DGLGraph, words: torch.Tensor | IndexedFeat) -> torch.Tensor:
        """The dynamic attention vector of each sentence, (batch_size, hidden)."""
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


def _options_of(cls: type[nn.Module], **options: Any) -> dict[str, Any]:
    """The options that a cell has; all others must have their default values."""
    known = inspect.signature(cls).parameters
    defaults = inspect.signature(ARNNEncoder).parameters
    for name, value in options.items():
        if name not in known and value != defaults[name].default:
            raise ModelError(f"{name}={value!r}: the cell {cls.__name__} has no such option")
    return {name: value for name, value in options.items() if name in known}
