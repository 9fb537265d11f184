"""The attentive Tree-LSTM and Tree-GRU over dependency trees."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from graphsent._dgl import dgl
from graphsent.cells.attention import ChildAttention
from graphsent.cells.base import TreeCell
from graphsent.cells.errors import CellError
from graphsent.cells.recursion import State
from graphsent.cells.treegru import PooledTreeGRU
from graphsent.cells.treelstm import PooledTreeLSTM
from graphsent.cells.validation import check_choice, check_query
from graphsent.propagation.feats import IndexedFeat
from graphsent.propagation.pointwise import lstm_state
from graphsent.propagation.untraced import untraced

_QUERY = "query"


class AttentiveCell(TreeCell):
    """Base of the attentive cells: they take an attention vector and give attention weights."""

    attention: ChildAttention

    def add_attention(self, attention: str, attention_feats: int | None) -> None:
        """Adds the parameters of the attention; to be called before ``reset_parameters``."""
        check_choice("attention", attention, ("static", "dynamic"))
        size = self.hidden_feats if attention_feats is None else attention_feats
        self.attention = ChildAttention(self.hidden_feats, size, static=attention == "static")
        if attention == "dynamic":
            self.input_names = (*self.input_names, _QUERY)

    def reset_parameters(self) -> None:
        """Draws the parameters of the attention and all others anew."""
        super().reset_parameters()
        self.attention.reset_parameters()

    def node_inputs(  # type: ignore[override]  # not any **extra
        self,
        graph: dgl.DGLGraph,
        feat: Tensor | IndexedFeat,
        initial_state: Tensor | Sequence[Tensor] | None = None,
        *,
        query: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """The node data that the DGL functions read; arguments as in :meth:`forward`."""
        return super().node_inputs(graph, feat, initial_state, query=query)

    def extra_inputs(
        self, graph: dgl.DGLGraph, device: torch.device, query: Tensor | None = None
    ) -> dict[str, Tensor]:
        r""":math:`W_a q` of all nodes, with dynamic attention."""
        if _QUERY in self.input_names:
            return {_QUERY: self._node_queries(graph, query, device)}
        if query is not None:
            raise CellError('query needs attention="dynamic": static attention has its own vector')
        return {}

    @untraced
    def forward(
        self,
        graph: dgl.DGLGraph,
        feat: Tensor | IndexedFeat,
        initial_state: Tensor | Sequence[Tensor] | None = None,
        *,
        query: Tensor | None = None,
        return_cell: bool = False,
        return_attention: bool = False,
        engine: str = "auto",
    ) -> Tensor | State:
        """Runs the recursion over a graph, which is left as it was.

        Args:
            graph: as in :meth:`TreeCell.forward`, as are the other arguments not named here.
            feat: inputs of all nodes, (num_nodes, in_feats).
            initial_state: state of the missing predecessor at nodes without incoming edges.
            query: with dynamic attention the attention vector q of each graph of the batch,
                (batch_size, attention_feats), or of each node, (num_nodes, attention_feats).
            return_cell: return the memory cells too.
            return_attention: return the weight of each edge too, (num_edges,). It is computed
                after the recursion, from the states.
            engine: ``"auto"`` or one of :data:`graphsent.propagation.ENGINES`.

        Returns:
            ``h`` of shape (num_nodes, hidden_feats), or a tuple of ``h``, ``c`` and the attention
            weights, as far as they are asked for.

        Raises:
            CellError: if graph, features, initial state or attention vectors do not fit the cell.
            PropagationError: if the graph has a cycle, or there is no such engine.
        """
        self._check_return_cell(return_cell)
        self.check_call(graph, feat)
        state = self.run(graph, feat, initial_state, engine=engine, memory=return_cell, query=query)
        results = state if return_cell else state[:1]
        if return_attention:
            queries = self.extra_inputs(graph, feat.device, query).get(_QUERY)
            weights = self.attention.edge_weights(graph, state[0], queries)
            results = (*results, weights)
        return results[0] if len(results) == 1 else results

    def start(self, x: Tensor, query: Tensor | None = None) -> State:
        """State of a leaf: there is nothing to attend to."""
        return super().start(x)

    def _node_queries(
        self, graph: dgl.DGLGraph, query: Tensor | None, device: torch.device
    ) -> Tensor:
        sizes = graph.batch_num_nodes().to(device)
        check_query(query, (len(sizes), graph.num_nodes()), self.attention.attention_feats)
        queries = self.attention.query(query)
        if len(queries) == len(sizes):
            return queries.repeat_interleave(sizes, 0, output_size=graph.num_nodes())
        return queries


class AttentiveTreeLSTM(AttentiveCell, PooledTreeLSTM):
    r"""Attentive Tree-LSTM, for any number of unordered children.

    *An Attention-based Recursive Neural Network for Semantic Representation* (Zhou, Liu and Pan;
    followed by `Modelling Sentence Pairs with Tree-structured Attentive Encoder
    <https://aclanthology.org/C16-1274>`_ of the same authors, 2016):

    .. math::
        a &= \mathrm{softmax}_k(w^\top \tanh(W_c h_k + W_a q)) \\
        h_S &= \textstyle\sum_k a_k h_k \\
        i &= \sigma(W_i x + U_i h_S + b_i) \\
        o &= \sigma(W_o x + U_o h_S + b_o) \\
        u &= \tanh(W_u x + U_u h_S + b_u) \\
        f_k &= \sigma(W_f x + U_f h_k + b_f) \\
        c &= i * u + \textstyle\sum_k f_k * c_k \\
        h &= o * \tanh(c)

    With one child it is the child-sum Tree-LSTM. With several children :math:`h_S` is their mean
    where the weights are equal, not their sum.

    The paper does not say how the children's memory enters. ``memory`` selects a reading:
    ``"per_child"`` is the above, as in the authors' code of the later paper; ``"attended"`` has
    one :math:`f = \sigma(W_f x + U_f h_S + b_f)` and :math:`c = i * u + f * \sum_k a_k c_k`;
    ``"both"`` has :math:`c = i * u + \sum_k a_k f_k * c_k`.

    The attention vector q is a parameter (``attention="static"``), or an argument of the call
    (``"dynamic"``), such as the last state of a sequential LSTM over the sentence.

    Every node may have an input, and any number of successors: any directed acyclic graph will do.
    The rows of ``W`` are those of i, o, u, f, in this order, the rows of ``U`` those of i, o, u.

    Args:
        in_feats: size of the inputs.
        hidden_feats: size of h and c.
        attention: ``"static"`` or ``"dynamic"``.
        attention_feats: size of q; ``hidden_feats`` by default.
        memory: ``"per_child"``, ``"attended"`` or ``"both"``.
        gate_output: with False there is no output gate, :math:`h = \tanh(c)`.
        forget_bias: value of :math:`b_f` at the start; the other biases start at zero.

    Shapes:
        - ``feat``: (num_nodes, in_feats)
        - q: (attention_feats,)
        - h, c: (num_nodes, hidden_feats)
        - a: (num_edges,)

    Example:
        >>> import torch
        >>> from graphsent import dgl
        >>> graph = dgl.graph(([1, 2], [0, 0]))  # node 0 has the children 1 and 2
        >>> cell = AttentiveTreeLSTM(4, 3, attention="dynamic", attention_feats=5)
        >>> feat, query = torch.randn(3, 4), torch.randn(1, 5)
        >>> h, weights = cell(graph, feat, query=query, return_attention=True)
        >>> h.shape, weights.shape
        (torch.Size([3, 3]), torch.Size([2]))
    """

    def __init__(
        self,
        in_feats: int,
        hidden_feats: int,
        *,
        attention: str = "static",
        attention_feats: int | None = None,
        memory: str = "per_child",
        gate_output: bool = True,
        forget_bias: float = 0.0,
    ) -> None:
        super().__init__(in_feats, hidden_feats, gate_output=gate_output, forget_bias=forget_bias)
        check_choice("memory", memory, ("per_child", "attended", "both"))
        self.memory = memory
        self.add_attention(attention, attention_feats)
        self.reset_parameters()

    def combine(self, children: State, x: Tensor, query: Tensor | None = None) -> State:
        """State from the children's h and c, (nodes, children, hidden_feats)."""
        h, c = children
        weights = self.attention(h, query).unsqueeze(-1)  # (nodes, children, 1)
        pooled = (weights * h).sum(1)
        update, forget = self.split_inputs(x)
        if self.memory == "attended":
            forgotten = torch.sigmoid(forget + self.U_f(pooled)) * (weights * c).sum(1)
        else:
            gates = torch.sigmoid(forget.unsqueeze(1) + self.U_f(h))
            gates = gates * weights if self.memory == "both" else gates
            forgotten = (gates * c).sum(1)
        return lstm_state(update + self.U(pooled), forgotten, self.gate_output)

    def extra_repr(self) -> str:
        """The sizes, and the options that are not the default."""
        options = "" if self.memory == "per_child" else f", memory={self.memory!r}"
        return super().extra_repr() + options


class AttentiveTreeGRU(AttentiveCell, PooledTreeGRU):
    r"""Attentive Tree-GRU, for any number of unordered children.

    *An Attention-based Recursive Neural Network for Semantic Representation* (Zhou, Liu and Pan;
    followed by `Modelling Sentence Pairs with Tree-structured Attentive Encoder
    <https://aclanthology.org/C16-1274>`_ of the same authors, 2016):

    .. math::
        a &= \mathrm{softmax}_k(w^\top \tanh(W_c h_k + W_a q)) \\
        h_S &= \textstyle\sum_k a_k h_k \\
        r_k &= \sigma(W_r x + U_r h_k + b_r) \\
        z &= \sigma(W_z x + U_z h_S + b_z) \\
        \tilde h &= \tanh(W x + U \textstyle\sum_k r_k * h_k + b) \\
        h &= (1 - z) * \tilde h + z * h_S

    ``reset="literal"`` reads the paper's text as one reset gate applied after the product:
    :math:`r = \sigma(W_r x + U_r h_S + b_r)`, :math:`\tilde h = \tanh(W x + r * U h_S + b)`.

    The attention vector q is a parameter (``attention="static"``), or an argument of the call
    (``"dynamic"``), such as the last state of a sequential GRU over the sentence.

    Every node may have an input, and any number of successors: any directed acyclic graph will do.
    The rows of ``W`` are those of r, z and the candidate, in this order.

    Args:
        in_feats: size of the inputs.
        hidden_feats: size of h.
        attention: ``"static"`` or ``"dynamic"``.
        attention_feats: size of q; ``hidden_feats`` by default.
        reset: ``"per_child"``, the equations above, or ``"literal"``.

    Shapes:
        - ``feat``: (num_nodes, in_feats)
        - q: (attention_feats,)
        - h: (num_nodes, hidden_feats)
        - a: (num_edges,)

    Example:
        >>> import torch
        >>> from graphsent import dgl
        >>> graph = dgl.graph(([1, 2], [0, 0]))  # node 0 has the children 1 and 2
        >>> AttentiveTreeGRU(4, 3)(graph, torch.randn(3, 4)).shape
        torch.Size([3, 3])
    """

    def __init__(
        self,
        in_feats: int,
        hidden_feats: int,
        *,
        attention: str = "static",
        attention_feats: int | None = None,
        reset: str = "per_child",
    ) -> None:
        super().__init__(in_feats, hidden_feats, reset=reset)
        self.add_attention(attention, attention_feats)
        self.reset_parameters()

    def combine(self, children: State, x: Tensor, query: Tensor | None = None) -> State:
        """State from the children's h, (nodes, children, hidden_feats)."""
        (h,) = children
        weights = self.attention(h, query).unsqueeze(-1)  # (nodes, children, 1)
        return self.update(h, (weights * h).sum(1), x)
