"""Attention over the children of a node."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graphsent._dgl import dgl
from graphsent.cells.initialization import uniform_


class ChildAttention(nn.Module):
    r"""How much each child counts, given an attention vector q of size ``attention_feats``.

    .. math::
        a = \mathrm{softmax}_k(w^\top \tanh(W_c h_k + W_a q))

    Without vectors from outside (``static=True``) q is a parameter, the same for all nodes.

    Args:
        hidden_feats: size of the children's states.
        attention_feats: size of q.
        static: whether q is a parameter.
    """

    def __init__(self, hidden_feats: int, attention_feats: int, *, static: bool) -> None:
        super().__init__()
        self.hidden_feats = hidden_feats
        self.attention_feats = attention_feats
        self.W_c = nn.Linear(hidden_feats, hidden_feats, bias=False)
        self.W_a = nn.Linear(attention_feats, hidden_feats, bias=False)
        self.w = nn.Linear(hidden_feats, 1, bias=False)
        self.q = nn.Parameter(torch.empty(attention_feats)) if static else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws q from U(-0.05, 0.05), the rest from U(-1/sqrt(n), 1/sqrt(n)), n its columns."""
        for linear in (self.W_c, self.W_a, self.w):
            uniform_(linear.weight, linear.in_features)
        if self.q is not None:
            nn.init.uniform_(self.q, -0.05, 0.05)

    def query(self, vectors: Tensor | None = None) -> Tensor:
        """:math:`W_a q` of attention vectors (..., attention_feats), or of the parameter."""
        return self.W_a(self.q if vectors is None else vectors)

    def scores(self, h: Tensor, query: Tensor) -> Tensor:
        """What enters the softmax: (..., hidden_feats) -> (...)."""
        return self.w(torch.tanh(self.W_c(h) + query)).squeeze(-1)

    def forward(self, h: Tensor, query: Tensor | None = None) -> Tensor:
        """Weights of the children: (nodes, children, hidden_feats) -> (nodes, children).

        Args:
            h: states of the children.
            query: :math:`W_a q` of each node, (nodes, hidden_feats); of the parameter by default.
        """
        query = self.query() if query is None else query.unsqueeze(1)
        return torch.softmax(self.scores(h, query), -1).to(h.dtype)

    def edge_weights(self, graph: dgl.DGLGraph, h: Tensor, query: Tensor | None = None) -> Tensor:
        """The weights again, by edge: (num_edges,), those of the edges to one node sum to one.

        Args:
            graph: the graph, edges from child to parent.
            h: final states of all nodes, (num_nodes, hidden_feats).
            query: :math:`W_a q` of all nodes, (num_nodes, hidden_feats), or the default.
        """
        children, parents = (nodes.long().to(h.device) for nodes in graph.edges())
        scores = self.scores(h[children], self.query() if query is None else query[parents])
        # The weights do not depend on what is subtracted, so neither do the gradients.
        highest = scores.new_zeros(graph.num_nodes()).scatter_reduce(
            0, parents, scores.detach(), "amax", include_self=False
        )
        exponentials = torch.exp(scores - highest[parents])
        totals = scores.new_zeros(graph.num_nodes()).index_add(0, parents, exponentials)
        return exponentials / totals[parents]

    def extra_repr(self) -> str:
        """The sizes, and whether the vector is a parameter."""
        return f"{self.hidden_feats}, {self.attention_feats}, static={self.q is not None}"
