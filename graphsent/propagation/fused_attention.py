"""The pointwise part of the attentive Tree-LSTM and Tree-GRU: from sums to states, and back."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from graphsent.propagation.fused import Block
from graphsent.propagation.fused_edges import EdgeLevel
from graphsent.propagation.fused_gru import ChildSumGRU
from graphsent.propagation.fused_lstm import ChildSumLSTM
from graphsent.propagation.pointwise import logistic_derivative
from graphsent.propagation.segments import Segments


def attention(edges: EdgeLevel, segments: Segments) -> Tensor:
    r"""The weights :math:`\mathrm{softmax}_k(w^\top \tanh(a_k))` of the edges, (edges, 1).

    The first gates of the edges are :math:`\sigma(2 a_k)`, the first vector is w. As
    :math:`\tanh(a) = 2 \sigma(2 a) - 1`, what enters the softmax is :math:`2 w^\top \sigma(2 a_k)`,
    but for a term that is the same for all k.
    """
    scores = torch.mv(edges.gates[0], edges.vectors[0]).mul_(2)
    target, num_nodes = segments.target, len(segments.offsets)
    highest = scores.new_full((num_nodes,), -torch.inf)
    highest.scatter_reduce_(0, target, scores, "amax")
    weights = scores.sub_(highest.index_select(0, target)).exp_()
    weights = weights.unsqueeze(1)
    totals = segments.sum(weights, out=weights.new_empty(num_nodes, 1))
    return weights.div_(totals.index_select(0, target))


def attention_backward(
    edges: EdgeLevel, segments: Segments, weights: Tensor, dpooled: Tensor, into: EdgeLevel
) -> None:
    r"""Through :math:`\sum_k a_k h_k`; fills the gradient of h, and that of the first gate.

    Args:
        edges: as ``pool`` left them.
        segments: their targets.
        weights: a, (edges, 1).
        dpooled: gradient of the sums, (nodes, size).
        into: to be filled.
    """
    target, (w,), (dw,) = segments.target, edges.vectors, into.vectors
    gate, dgate, dh = edges.gates[0], into.gates[0], into.sources[0]
    segments.expand(dpooled, out=dh)
    dweights = (dh * edges.sources[0]).sum(1, keepdim=True).mul_(weights)
    mean = segments.sum(dweights, out=dweights.new_empty(len(segments.offsets), 1))
    dscores = dweights.addcmul_(weights, mean.index_select(0, target), value=-1)
    dw.addmv_(gate.t(), dscores.squeeze(1), alpha=2)
    logistic_derivative(gate, out=dgate)
    dgate.mul_(w).mul_(dscores).mul_(4)
    dh.mul_(weights)


class AttentiveLSTM(ChildSumLSTM):
    r"""Rule of the attentive Tree-LSTM, for ``run_edges``.

    It is that of :class:`ChildSumLSTM` with :math:`\sum_k a_k h_k` in place of
    :math:`\sum_k h_k`. The inputs are those of :class:`ChildSumLSTM` and the query. The weight of
    the edges gives what is added to the query, and f; the vector is w of :func:`attention`.

    Args:
        size: of a state.
        gate_output: whether there is an output gate; :math:`h = \tanh(c)` otherwise.
    """

    compiled = "attentive lstm"

    def __init__(self, size: int, *, gate_output: bool = True) -> None:
        super().__init__(size, gate_output=gate_output)
        forget = len(self.order)
        self.edge_order = (Block(0, forget + 1, 2.0), Block(1, forget))

    def pool(self, edges: EdgeLevel, segments: Segments, pooled: Sequence[Tensor]) -> None:
        """See ``EdgeRule``."""
        h, c = edges.sources
        edges.sums.sigmoid_()
        segments.sum(attention(edges, segments) * h, out=pooled[0])
        segments.sum(edges.gates[1] * c, out=pooled[1])

    def pool_backward(
        self, edges: EdgeLevel, segments: Segments, dpooled: Sequence[Tensor], into: EdgeLevel
    ) -> None:
        """See ``EdgeRule``."""
        weights = attention(edges, segments)
        attention_backward(edges, segments, weights, dpooled[0], into)
        forget, dforget, dc = edges.gates[1], into.gates[1], into.sources[1]
        segments.expand(dpooled[1], out=dc)
        logistic_derivative(forget, out=dforget)
        dforget.mul_(edges.sources[1]).mul_(dc)
        dc.mul_(forget)


class AttentiveGRU(ChildSumGRU):
    r"""Rule of the attentive Tree-GRU, for ``run_edges``: :math:`h_S = \sum_k a_k h_k`.

    The inputs are those of :class:`ChildSumGRU` and the query. The weight of the edges gives what
    is added to the query, and r; the vector is w of :func:`attention`.
    """

    edge_order = (Block(0, 3, 2.0), Block(1, 0))
    compiled = "attentive gru"

    def pool(self, edges: EdgeLevel, segments: Segments, pooled: Sequence[Tensor]) -> None:
        """See ``EdgeRule``."""
        (h,) = edges.sources
        edges.sums.sigmoid_()
        segments.sum(attention(edges, segments) * h, out=pooled[0])
        segments.sum(edges.gates[1] * h, out=pooled[1])

    def pool_backward(
        self, edges: EdgeLevel, segments: Segments, dpooled: Sequence[Tensor], into: EdgeLevel
    ) -> None:
        """See ``EdgeRule``."""
        weights = attention(edges, segments)
        attention_backward(edges, segments, weights, dpooled[0], into)
        self.reset_backward(edges, segments, dpooled[1], into)
