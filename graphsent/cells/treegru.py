"""The child-sum Tree-GRU."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graphsent._names import check_choice
from graphsent.cells.base import State, TreeCell
from graphsent.cells.errors import CellError
from graphsent.cells.initialization import uniform_


class PooledTreeGRU(TreeCell):
    r"""Base class of Tree-GRUs, which pool the children's states to one vector :math:`h_S`.

    A subclass computes :math:`h_S` in ``combine``, and calls :meth:`reset_parameters` at the end of
    its constructor. See :class:`ChildSumTreeGRU` for the equations.
    """

    state_names = ("h",)
    _defaults = (("reset", "per_child"),)

    def __init__(self, in_feats: int, hidden_feats: int, *, reset: str) -> None:
        super().__init__(in_feats, hidden_feats)
        check_choice("reset", reset, ("per_child", "literal"), CellError)
        self.reset = reset
        self.W = nn.Linear(in_feats, 3 * hidden_feats)
        self.U_r = nn.Linear(hidden_feats, hidden_feats, bias=False)
        self.U_z = nn.Linear(hidden_feats, hidden_feats, bias=False)
        self.U = nn.Linear(hidden_feats, hidden_feats, bias=False)

    def reset_parameters(self) -> None:
        """Draws weights from U(-1/sqrt(n), 1/sqrt(n)), n their columns; sets biases to zero."""
        uniform_(self.W, self.U_r, self.U_z, self.U)

    def project(self, feat: Tensor) -> Tensor:
        """:math:`W x + b` of r, z and the candidate, (num_nodes, 3 * hidden_feats)."""
        return self.W(feat)

    def start(self, x: Tensor) -> State:
        """States of leaves, (num_nodes, hidden_feats)."""
        _, z, candidate = x.chunk(3, -1)
        return ((1 - torch.sigmoid(z)) * torch.tanh(candidate),)

    def update(self, h: Tensor, pooled: Tensor, x: Tensor) -> State:
        """States from the children's h, (num_nodes, num_children, hidden_feats), and h_S."""
        reset_sum, update_sum, candidate_sum = x.chunk(3, -1)
        if self.reset == "per_child":
            r = torch.sigmoid(reset_sum.unsqueeze(1) + self.U_r(h))
            candidate = torch.tanh(candidate_sum + self.U((r * h).sum(1)))
        else:
            r = torch.sigmoid(reset_sum + self.U_r(pooled))
            candidate = torch.tanh(candidate_sum + r * self.U(pooled))
        z = torch.sigmoid(update_sum + self.U_z(pooled))
        return ((1 - z) * candidate + z * pooled,)


class ChildSumTreeGRU(PooledTreeGRU):
    r"""Child-sum Tree-GRU, over any number of unordered children.

    The baseline of the attentive Tree-GRU in *An Attention-based Recursive Neural Network for
    Semantic Representation* (Zhou, Liu and Pan):

    .. math::
        h_S &= \textstyle\sum_k h_k \\
        r_k &= \sigma(W_r x + U_r h_k + b_r) \\
        z &= \sigma(W_z x + U_z h_S + b_z) \\
        \tilde h &= \tanh(W x + U \textstyle\sum_k r_k * h_k + b) \\
        h &= (1 - z) * \tilde h + z * h_S

    ``reset="literal"`` follows the text of the paper, which has one reset gate, applied after the
    product as in its sequential GRU: :math:`r = \sigma(W_r x + U_r h_S + b_r)`,
    :math:`\tilde h = \tanh(W x + r * U h_S + b)`.

    The graph may be any acyclic graph, with inputs at all nodes. The rows of ``W`` belong to r, z
    and the candidate, in this order.

    Args:
        in_feats: Size of the inputs.
        hidden_feats: Size of h.
        reset: ``"per_child"``, the equations above, or ``"literal"``.

    Shapes:
        - ``feat``: (num_nodes, in_feats)
        - h: (num_nodes, hidden_feats)

    Example:
        >>> import torch
        >>> from graphsent import dgl
        >>> graph = dgl.graph(([1, 2], [0, 0]))  # node 0 has the children 1 and 2
        >>> ChildSumTreeGRU(4, 3)(graph, torch.randn(3, 4)).shape
        torch.Size([3, 3])
    """

    def __init__(self, in_feats: int, hidden_feats: int, *, reset: str = "per_child") -> None:
        super().__init__(in_feats, hidden_feats, reset=reset)
        self.reset_parameters()

    def combine(self, children: State, x: Tensor) -> State:
        """States from the children's h, (num_nodes, num_children, hidden_feats)."""
        (h,) = children
        return self.update(h, h.sum(1), x)
