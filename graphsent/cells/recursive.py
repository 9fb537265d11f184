"""The plain recursive cell."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graphsent.cells.base import State
from graphsent.cells.initialization import uniform_
from graphsent.cells.slots import SlottedCell


class RecursiveCell(SlottedCell):
    r"""Recursive neural network without gates, over at most N ordered children.

    `Parsing Natural Scenes and Natural Language with Recursive Neural Networks
    <https://icml.cc/2011/papers/125_icmlpaper.pdf>`_ (Socher et al. 2011), with N children
    instead of two, and an input at every node:

    .. math::
        h = \tanh(W x + \textstyle\sum_l U_l h_l + b)

    The states of missing children are zero. In the paper, inner nodes have no input (here: rows of
    zeros), and the states of leaves are the word vectors themselves; here they are
    :math:`\tanh(W x + b)`, so that words and states may differ in size.

    The columns of ``U`` belong to :math:`h_1, \dots, h_N`. The graph may be any acyclic graph.

    Args:
        in_feats: Size of the inputs.
        hidden_feats: Size of h.
        num_children: N.

    Shapes:
        - ``feat``: (num_nodes, in_feats)
        - h: (num_nodes, hidden_feats)

    Example:
        >>> import torch
        >>> from graphsent import dgl
        >>> graph = dgl.graph(([1, 2], [0, 0]))  # node 0 has the children 1 and 2
        >>> graph.edata["child_index"] = torch.tensor([0, 1])
        >>> RecursiveCell(4, 3)(graph, torch.randn(3, 4)).shape
        torch.Size([3, 3])
    """

    state_names = ("h",)
    _defaults = (("num_children", None),)

    def __init__(self, in_feats: int, hidden_feats: int, num_children: int = 2) -> None:
        super().__init__(in_feats, hidden_feats, num_children)
        self.num_children = num_children
        self.W = nn.Linear(in_feats, hidden_feats)
        self.U = nn.Linear(num_children * hidden_feats, hidden_feats, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weights from U(-1/sqrt(n), 1/sqrt(n)), n the columns per input; zeros the bias."""
        uniform_(self.W)
        uniform_(self.U, num_states=self.num_children)

    def project(self, feat: Tensor) -> Tensor:
        """:math:`W x + b`, (num_nodes, hidden_feats)."""
        return self.W(feat)

    def start(self, x: Tensor) -> State:
        """States of leaves, (num_nodes, hidden_feats)."""
        return (torch.tanh(x),)

    def combine(self, children: State, x: Tensor) -> State:
        """States from the children's h, (num_nodes, N, hidden_feats), zero if missing."""
        (h,) = children
        return (torch.tanh(x + self.U(h.flatten(1))),)
