"""The attentive recursive network over dependency trees, and the baselines without attention."""

from __future__ import annotations

import inspect
from typing import Any

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
from graphsent.models.batches.pairs import PairBatch
from graphsent.models.batches.trees import TreeBatch
from graphsent.models.encoders.tree import TreeEncoder
from graphsent.models.heads.classification import TreeClassifier
from graphsent.models.heads.relatedness import TreeRelatednessModel
from graphsent.vocabulary import Vocabulary

__all__ = ["ARNNClassifier", "ARNNEncoder", "ARNNRelatedness"]

_CELLS = {
    ("lstm", False): ChildSumTreeLSTM,
    ("lstm", True): AttentiveTreeLSTM,
    ("gru", False): ChildSumTreeGRU,
    ("gru", True): AttentiveTreeGRU,
}
_ATTENTION = ("static", "dynamic", "none")
# Options that not every cell has, where they change nothing.
_DEFAULTS = {"memory": "per_child", "gate_output": True, "reset": "per_child"}


class ARNNEncoder(TreeEncoder):
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
            words: (num_nodes, in_feats), or as rows that nodes share.
            query: With dynamic attention the vector of each sentence, (batch_size, hidden); by
                default :meth:`queries`.
            engine: One of :data:`graphsent.propagation.ENGINES`.
        """
        vectors = self._attention_vectors(graph, words, query)
        return self.cell(graph, words, engine=engine, **vectors)

    def edge_weights(
        self, graph: dgl.DGLGraph, words: torch.Tensor | IndexedFeat, *, engine: str = "auto"
    ) -> torch.Tensor:
        """The attention: how much each node counts among its parent's children, (num_edges,).

        Raises:
            ModelError: There is no attention.
        """
        if not self.attends:
            raise ModelError("there are no weights: the model was built with attention='none'")
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
        **options: Those of :class:`~graphsent.models.heads.classification.TreeClassifier`.

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
        **options: Any,
    ) -> None:
        check_sizes(hidden=hidden)
        super().__init__(
            vocab,
            num_classes,
            embedding_dim=embedding_dim,
            num_features=hidden,
            dropout=dropout,
            **options,
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


class ARNNRelatedness(TreeRelatednessModel):
    """Relatedness by attentive Tree-LSTMs or Tree-GRUs over dependency trees.

    *An Attention-based Recursive Neural Network for Semantic Representation* (Zhou, Liu and Pan).
    The vector of a sentence is the h of its root in :class:`~graphsent.models.arnn.ARNNEncoder`.

    Args:
        vocab: The words the model knows.
        num_classes: The highest score, or the number of classes; see
            :class:`~graphsent.models.heads.relatedness.RelatednessModel`.
        embedding_dim: Length of a word vector.
        hidden: Length of h.
        comparison: Length of the hidden layer of the head.
        cell: ``"lstm"`` or ``"gru"``.
        attention: As in :class:`~graphsent.models.arnn.ARNNClassifier`.
        attend_by: With dynamic attention: ``"own"``, every sentence attends by its own vector, or
            ``"other"``, by that of the other sentence, as in `Modelling Sentence Pairs with
            Tree-structured Attentive Encoder <https://aclanthology.org/C16-1274>`_.
        memory: See :class:`~graphsent.cells.AttentiveTreeLSTM`.
        gate_output: Whether the LSTM has an output gate. By default it has none, as in the authors'
            code and that of Tai et al. 2015 for this task; the GRU is the same either way.
        reset: See :class:`~graphsent.cells.AttentiveTreeGRU`.
        **options: Those of :class:`~graphsent.models.heads.relatedness.RelatednessModel`.

    Raises:
        ModelError: Cell, attention or ``attend_by`` is unknown, or an option is set that the cell
            or the attention does not have.
    """

    name = "arnn-relatedness"

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int = 5,
        embedding_dim: int = 300,
        hidden: int = 150,
        comparison: int = 50,
        *,
        cell: str = "lstm",
        attention: str = "static",
        attend_by: str = "own",
        memory: str = "per_child",
        gate_output: bool = False,
        reset: str = "per_child",
        **options: Any,
    ) -> None:
        check_sizes(hidden=hidden)
        super().__init__(
            vocab,
            num_classes,
            embedding_dim=embedding_dim,
            num_features=hidden,
            comparison=comparison,
            **options,
        )
        if attend_by not in ("own", "other"):
            hint = nearest(attend_by, ("own", "other"))
            raise ModelError(f"unknown attend_by {attend_by!r}: expected 'own' or 'other'{hint}")
        if attend_by == "other" and attention != "dynamic":
            raise ModelError("attend_by='other' needs attention='dynamic'")
        self.attend_by = attend_by
        self.encoder = ARNNEncoder(
            embedding_dim,
            hidden,
            cell=cell,
            attention=attention,
            memory=memory,
            gate_output=gate_output or cell == "gru",
            reset=reset,
        )

    def node_states(self, batch: TreeBatch) -> torch.Tensor:
        """The h of each node, (num_nodes, hidden).

        Raises:
            ModelError: Sentences attend by others, of which there are none here.
        """
        if self.attend_by == "other":
            raise ModelError(
                "with attend_by='other' a sentence has no vector of its own: it depends on the "
                "other sentence of a pair"
            )
        return super().node_states(batch)

    def pair_states(self, batch: PairBatch) -> torch.Tensor:
        """The h of each root, (2 * num_pairs, hidden): all first sentences, then all second."""
        if self.attend_by == "own":
            return super().pair_states(batch)
        graph = batch.sentences.graph
        words = self.embedding.of_nodes(graph)
        first, second = self.encoder.queries(graph, words).chunk(2)
        states = self.encoder(graph, words, torch.cat([second, first]), engine=self.engine)
        return states[batch.sentences.roots]


def _options_of(cls: type[nn.Module], **options: Any) -> dict[str, Any]:
    """The options that a cell has; the others must be at their defaults."""
    known = inspect.signature(cls).parameters
    for name, value in options.items():
        if name not in known and value != _DEFAULTS[name]:
            raise ModelError(f"{name}={value!r} is no choice of the cell {cls.__name__}")
    return {name: value for name, value in options.items() if name in known}
