"""Attention over children; the attentive Tree-LSTM and Tree-GRU."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from graphsent._dgl import dgl
from graphsent._names import check_choice
from graphsent._numbers import check_sizes
from graphsent.cells.base import State, TreeCell
from graphsent.cells.errors import CellError
from graphsent.cells.initialization import uniform_
from graphsent.cells.treegru import PooledTreeGRU
from graphsent.cells.treelstm import PooledTreeLSTM, lstm_state
from graphsent.propagation.feats import IndexedFeat

_QUERY = "query"


class ChildAttention(nn.Module):
    r"""Attention weights of the children of a node, given an attention vector q.

    .. math::
        a = \mathrm{softmax}_k(w^\top \tanh(W_c h_k + W_a q))

    With ``static=True``, q is a parameter, the same for all nodes.

    Args:
        hidden_feats: Size of the children's states.
        attention_feats: Size of q.
        static: Whether q is a parameter; otherwise it is an argument of each call.
    """

    def __init__(self, hidden_feats: int, attention_feats: int, *, static: bool) -> None:
        super().__init__()
        check_sizes(CellError, hidden_feats=hidden_feats, attention_feats=attention_feats)
        self.hidden_feats = hidden_feats
        self.attention_feats = attention_feats
        self.W_c = nn.Linear(hidden_feats, hidden_feats, bias=False)
        self.W_a = nn.Linear(attention_feats, hidden_feats, bias=False)
        self.w = nn.Linear(hidden_feats, 1, bias=False)
        self.q = nn.Parameter(torch.empty(attention_feats)) if static else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weights from U(-1/sqrt(n), 1/sqrt(n)), n their columns; q from U(-0.05, 0.05)."""
        uniform_(self.W_c, self.W_a, self.w)
        if self.q is not None:
            nn.init.uniform_(self.q, -0.05, 0.05)

    def query(self, vectors: Tensor | None = None) -> Tensor:
        """:math:`W_a q` of attention vectors (..., attention_feats), by default the parameter."""
        return self.W_a(self.q if vectors is None else vectors)

    def scores(self, h: Tensor, query: Tensor) -> Tensor:
        """Attention scores, the inputs of the softmax: (..., hidden_feats) -> (...)."""
        return self.w(torch.tanh(self.W_c(h) + query)).squeeze(-1)

    def forward(self, h: Tensor, query: Tensor | None = None) -> Tensor:
        """Attention weights of the children, (num_nodes, num_children).

        Args:
            h: States of the children, (num_nodes, num_children, hidden_feats).
            query: :math:`W_a q` per node, (num_nodes, hidden_feats); by default, of the parameter.
        """
        query = self.query() if query is None else query.unsqueeze(1)
        return torch.softmax(self.scores(h, query), -1).to(h.dtype)

    def edge_weights(self, graph: dgl.DGLGraph, h: Tensor, query: Tensor | None = None) -> Tensor:
        """Attention weights per edge, (num_edges,); they sum to one over the edges to a node.

        Args:
            graph: The graph, with edges from child to parent.
            h: Final states of all nodes, (num_nodes, hidden_feats).
            query: :math:`W_a q` per node, (num_nodes, hidden_feats); by default, of the parameter.
        """
        children, parents = (nodes.long().to(h.device) for nodes in graph.edges())
        scores = self.scores(h[children], self.query() if query is None else query[parents])
        # Neither weights nor gradients depend on what is subtracted.
        highest = scores.new_zeros(graph.num_nodes()).scatter_reduce(
            0, parents, scores.detach(), "amax", include_self=False
        )
        exponentials = torch.exp(scores - highest[parents])
        totals = scores.new_zeros(graph.num_nodes()).index_add(0, parents, exponentials)
        return exponentials / totals[parents]

    def extra_repr(self) -> str:
        """The sizes, and whether q is a parameter."""
        return f"{self.hidden_feats}, {self.attention_feats}, static={self.q is not None}"


class AttentiveCell(TreeCell):
    """Base class of attentive cells, which take attention vectors and return attention weights."""

    attention: ChildAttention

    def add_attention(self, attention: str, attention_feats: int | None) -> None:
        """Adds the attention module; to be called before ``reset_parameters``."""
        check_choice("attention", attention, ("static", "dynamic"), CellError)
        size = self.hidden_feats if attention_feats is None else attention_feats
        self.attention = ChildAttention(self.hidden_feats, size, static=attention == "static")
        if attention == "dynamic":
            self.input_names = (*self.input_names, _QUERY)

    def reset_parameters(self) -> None:
        """Draws all parameters anew, those of the attention last."""
        super().reset_parameters()  # type: ignore[misc]  # of the cell it is mixed into
        self.attention.reset_parameters()

    def extra_inputs(
        self, graph: dgl.DGLGraph, device: torch.device, query: Tensor | None = None
    ) -> dict[str, Tensor]:
        r"""With dynamic attention, :math:`W_a q` of each node, (num_nodes, hidden_feats)."""
        if _QUERY not in self.input_names:
            if query is not None:
                raise CellError('query needs attention="dynamic": static attention has a parameter')
            return {}
        num_nodes, size = graph.num_nodes(), self.attention.attention_feats
        expected = (
            f"expected query of shape (batch_size, attention_feats) = {(graph.batch_size, size)} "
            f"or (num_nodes, attention_feats) = {(num_nodes, size)}"
        )
        if query is None:
            raise CellError(f"{expected}: dynamic attention needs attention vectors")
        if query.shape not in ((graph.batch_size, size), (num_nodes, size)):
            raise CellError(f"{expected}, got {tuple(query.shape)}")
        queries = self.attention.query(query)
        if len(queries) == graph.batch_size:
            sizes = graph.batch_num_nodes().to(device)
            queries = queries.repeat_interleave(sizes, 0, output_size=num_nodes)
        return {_QUERY: queries}

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
        """Runs the recursion over a graph, without modifying the graph.

        Takes the arguments of :meth:`TreeCell.forward` and, with dynamic attention, ``query``: the
        attention vector q of each graph of the batch, (batch_size, attention_feats), or of each
        node, (num_nodes, attention_feats). With ``return_attention``, also returns the attention
        weights per edge, (num_edges,), which are computed from the states after the recursion.

        Returns:
            ``h`` of shape (num_nodes, hidden_feats), or a tuple of ``h`` and what else was
            requested: ``c``, the attention weights.

        Raises:
            CellError: As in :meth:`TreeCell.forward`, or if ``query`` does not fit the cell.
            PropagationError: As in :meth:`TreeCell.forward`.
        """
        self.check_call(graph, feat, return_cell)
        results = self.run(
            graph, feat, initial_state, return_cell=return_cell, engine=engine, query=query
        )
        if return_attention:
            queries = self.extra_inputs(graph, feat.device, query).get(_QUERY)
            results = (*results, self.attention.edge_weights(graph, results[0], queries))
        return results[0] if len(results) == 1 else results

    def start(self, x: Tensor, query: Tensor | None = None) -> State:
        """States of leaves, which have nothing to attend to, (num_nodes, hidden_feats) each."""
        return super().start(x)


class AttentiveTreeLSTM(AttentiveCell, PooledTreeLSTM):
    r"""Attentive Tree-LSTM, over any number of unordered children.

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

    With one child, it is the child-sum Tree-LSTM. With several and equal weights, :math:`h_S` is
    their mean, not their sum.

    The paper does not specify how the children's memory is combined. ``memory`` selects a reading:
    ``"per_child"``, the equations above, as in the authors' code of the later paper;
    ``"attended"``, with one :math:`f = \sigma(W_f x + U_f h_S + b_f)` and
    :math:`c = i * u + f * \sum_k a_k c_k`; or ``"both"``, with
    :math:`c = i * u + \sum_k a_k f_k * c_k`.

    The attention vector q is a parameter (``attention="static"``) or an argument of the call
    (``"dynamic"``), such as the last state of a sequential LSTM over the sentence.

    The graph may be any acyclic graph, with inputs at all nodes. The rows of ``W`` belong to i, o,
    u, f, in this order, those of ``U`` to i, o, u.

    Args:
        in_feats: Size of the inputs.
        hidden_feats: Size of h and c.
        attention: ``"static"`` or ``"dynamic"``.
        attention_feats: Size of q; ``hidden_feats`` by default.
        memory: ``"per_child"``, ``"attended"`` or ``"both"``.
        gate_output: Whether there is an output gate; otherwise :math:`h = \tanh(c)`.
        forget_bias: Initial value of :math:`b_f`; other biases are initialized to zero.

    Shapes:
        - ``feat``: (num_nodes, in_feats)
        - q: (attention_feats,); with dynamic attention, ``query`` is (batch_size, attention_feats)
          or (num_nodes, attention_feats)
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

    _defaults = (("gate_output", True), ("memory", "per_child"))

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
        check_choice("memory", memory, ("per_child", "attended", "both"), CellError)
        self.memory = memory
        self.add_attention(attention, attention_feats)
        self.reset_parameters()

    def combine(self, children: State, x: Tensor, query: Tensor | None = None) -> State:
        """States from the children's h and c, (num_nodes, num_children, hidden_feats)."""
        h, c = children
        weights = self.attention(h, query).unsqueeze(-1)  # (num_nodes, num_children, 1)
        pooled = (weights * h).sum(1)
        update, forget = self.split_inputs(x)
        if self.memory == "attended":
            forgotten = torch.sigmoid(forget + self.U_f(pooled)) * (weights * c).sum(1)
        else:
            gates = torch.sigmoid(forget.unsqueeze(1) + self.U_f(h))
            gates = gates * weights if self.memory == "both" else gates
            forgotten = (gates * c).sum(1)
        return lstm_state(update + self.U(pooled), forgotten, self.gate_output)


class AttentiveTreeGRU(AttentiveCell, PooledTreeGRU):
    r"""Attentive Tree-GRU, over any number of unordered children.

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

    ``reset="literal"`` follows the text of the paper: one reset gate, applied after the product:
    :math:`r = \sigma(W_r x + U_r h_S + b_r)`, :math:`\tilde h = \tanh(W x + r * U h_S + b)`.

    Attention is that of :class:`AttentiveTreeLSTM`. The graph may be any acyclic graph, with inputs
    at all nodes. The rows of ``W`` belong to r, z and the candidate, in this order.

    Args:
        in_feats: Size of the inputs.
        hidden_feats: Size of h.
        attention: ``"static"`` or ``"dynamic"``.
        attention_feats: Size of q; ``hidden_feats`` by default.
        reset: ``"per_child"``, the equations above, or ``"literal"``.

    Shapes:
        - ``feat``: (num_nodes, in_feats)
        - q: (attention_feats,); with dynamic attention, ``query`` is (batch_size, attention_feats)
          or (num_nodes, attention_feats)
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
        """States from the children's h, (num_nodes, num_children, hidden_feats)."""
        (h,) = children
        weights = self.attention(h, query).unsqueeze(-1)  # (num_nodes, num_children, 1)
        return self.update(h, (weights * h).sum(1), x)
