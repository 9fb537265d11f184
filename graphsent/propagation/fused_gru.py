"""The pointwise part of GRUs, over trees and over sequences: from sums to states, and back."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from graphsent.propagation.fused import Block, Product
from graphsent.propagation.fused_edges import EdgeLevel, NodeLevel
from graphsent.propagation.fused_slots import SlotLevel
from graphsent.propagation.pointwise import logistic_derivative
from graphsent.propagation.segments import Segments


class ChildSumGRU:
    r"""Rule of the child-sum Tree-GRU, for ``run_edges``.

    .. math::
        h_S = \textstyle\sum_k h_k, \qquad h_R = \textstyle\sum_k \sigma(r_k) * h_k, \qquad
        h = (1 - \sigma(z)) * \tanh(\tilde h) + \sigma(z) * h_S

    The inputs are r, z and :math:`\tilde h`, in this order. The weight of the edges gives r from
    :math:`h_k`, the first weight of the nodes z from :math:`h_S`, the second one :math:`\tilde h`
    from :math:`h_R`.

    Args:
        size: of a state.
    """

    num_parts = 1
    num_pooled = 2
    num_kept = 0
    edge_order: tuple[Block, ...] = (Block(0, 0),)
    order = (Block(0, 1), Block(0, 2, 2.0))  # tanh by the logistic function of twice the sum
    products = (Product(0, order[:1]), Product(1, order[1:], first=1))
    direct = (0,)
    compiled = "gru"

    def __init__(self, size: int) -> None:
        self.size = size

    def pool(self, edges: EdgeLevel, segments: Segments, pooled: Sequence[Tensor]) -> None:
        """See ``EdgeRule``."""
        (h,) = edges.sources
        segments.sum(h, out=pooled[0])
        segments.sum(edges.sums.sigmoid_() * h, out=pooled[1])

    def pool_backward(
        self, edges: EdgeLevel, segments: Segments, dpooled: Sequence[Tensor], into: EdgeLevel
    ) -> None:
        """See ``EdgeRule``."""
        segments.expand(dpooled[0], out=into.sources[0])
        self.reset_backward(edges, segments, dpooled[1], into)

    def update(self, nodes: NodeLevel, states: Sequence[Tensor]) -> None:
        """See ``EdgeRule``."""
        (h,) = states
        z, candidate = nodes.sums.sigmoid_().split(self.size, 1)
        torch.mul(candidate, 2, out=h).sub_(1)
        torch.lerp(h, nodes.pooled[0], z, out=h)

    def update_backward(
        self, nodes: NodeLevel, gradients: Sequence[Tensor], into: NodeLevel
    ) -> None:
        """See ``EdgeRule``."""
        (dh,) = gradients
        z, candidate = nodes.gates
        logistic_derivative(nodes.sums, out=into.sums)
        torch.mul(dh, z, out=into.pooled[0])
        difference = torch.add(nodes.pooled[0], candidate, alpha=-2).add_(1)
        into.gates[0].mul_(difference).mul_(dh)
        into.gates[1].mul_(torch.sub(dh, into.pooled[0])).mul_(4)

    def reset_backward(
        self, edges: EdgeLevel, segments: Segments, dpooled: Tensor, into: EdgeLevel
    ) -> None:
        """Through the sum of reset states, the last gate of the edges; adds to that of h."""
        r, dr = edges.gates[-1], into.gates[-1]
        dreset = dpooled.index_select(0, segments.target)
        into.sources[0].addcmul_(r, dreset)
        logistic_derivative(r, out=dr)
        dr.mul_(edges.sources[0]).mul_(dreset)


class SequenceGRU:
    r"""Rule of ``torch.nn.GRU``, which resets after the product, for ``run_slots`` with one slot.

    .. math::
        \tilde h = \tanh(x + \sigma(r) * s), \qquad
        h = (1 - \sigma(z)) * \tilde h + \sigma(z) * h_{t-1}

    The sums r, z, s are in this order in the rows of the weight; x, which is behind them in the
    bias, is of the inputs alone. The inputs are r, z, x.

    Args:
        size: of a state.
    """

    num_parts = 1
    num_kept = 0
    # tanh by the logistic function of twice the sum
    order = (Block(0, 0), Block(1, 1), Block(2, None, 2.0), Block(3, 2, 2.0))
    products = (Product(0, order[:3]),)
    late = None
    direct = (0,)
    compiled = "gru"

    def __init__(self, size: int) -> None:
        self.size = size

    def forward(self, level: SlotLevel, states: Sequence[Tensor]) -> None:
        """See ``SlotRule``."""
        (h,), before = states, level.slots[0][:, 0]
        r, z, s, x = level.gates
        level.sums[:, : 2 * self.size].sigmoid_()
        x.addcmul_(r, s).sigmoid_()
        torch.mul(x, 2, out=h).sub_(1)
        torch.lerp(h, before, z, out=h)

    def backward(self, level: SlotLevel, gradients: Sequence[Tensor], into: SlotLevel) -> None:
        """See ``SlotRule``."""
        (dh,), before, dbefore = gradients, level.slots[0][:, 0], into.slots[0][:, 0]
        r, z, s, candidate = level.gates
        dr, dz, ds, dx = into.gates
        torch.mul(dh, z, out=dbefore)
        logistic_derivative(z, out=dz)
        dz.mul_(torch.add(before, candidate, alpha=-2).add_(1)).mul_(dh)
        logistic_derivative(candidate, out=dx)
        dx.mul_(torch.sub(dh, dbefore)).mul_(4)
        torch.mul(dx, r, out=ds)
        logistic_derivative(r, out=dr)
        dr.mul_(s).mul_(dx).mul_(0.5)  # s comes doubled
