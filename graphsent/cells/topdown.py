"""The top-down Tree-LSTM."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graphsent._dgl import dgl
from graphsent.cells.base import State
from graphsent.cells.initialization import glorot_
from graphsent.cells.slots import SlottedCell

_SIDE = "side"


class TopDownTreeLSTM(SlottedCell):
    r"""Top-down Tree-LSTM over binary trees, from parent P to left and right child.

    `Head-Lexicalized Bidirectional Tree LSTMs <https://aclanthology.org/Q17-1012>`_ (Teng and
    Zhang 2017), where N is L or R, the side of the node below its parent:

    .. math::
        i &= \sigma(W_i x + U_i^N h_P + V_i^N c_P + b_i) \\
        f &= \sigma(W_f x + U_f^N h_P + V_f^N c_P + b_f) \\
        g &= \tanh(W_g x + U_g^N h_P + b_g) \\
        c &= i * g + f * c_P \\
        o &= \sigma(W_o x + U_o^N h_P + V_o c + b_o) \\
        h &= o * \tanh(c)

    At the root, i, g and o depend on the input only, :math:`c = i * g` and, as in the authors'
    code, there is no :math:`V_o c`. With an initial state, the root is a left child of that state.

    In the slides of the paper, each side also has its own W, :math:`V_o` and b
    (``td_share_input=False``); the root then uses those of the left. In the authors' code, both
    sides share them.

    Edges lead from parent to child, with the side as edge data ``child_index`` (0 or 1); no node
    has two parents. The rows of ``W`` and ``U`` belong to i, f, g, o, those of ``V`` to i, f; the
    columns of ``U`` and ``V`` to L, R; if W and :math:`V_o` are not shared, all rows for L come
    before those for R. At 300 / 150 there are 473,100 parameters (676,200 if not shared).

    Args:
        in_feats: Size of the inputs.
        hidden_feats: Size of h and c.
        td_share_input: Whether left and right children share W, :math:`V_o` and b.

    Shapes:
        - ``feat``: (num_nodes, in_feats)
        - h, c: (num_nodes, hidden_feats)

    Example:
        >>> import torch
        >>> from graphsent import dgl
        >>> graph = dgl.graph(([0, 0], [1, 2]))  # node 0 has the children 1 and 2
        >>> graph.edata["child_index"] = torch.tensor([0, 1])
        >>> TopDownTreeLSTM(4, 3)(graph, torch.randn(3, 4)).shape
        torch.Size([3, 3])
    """

    needs_slots = True
    predecessors = "parent"
    remedy = ""
    _defaults = (("td_share_input", True),)

    def __init__(self, in_feats: int, hidden_feats: int, *, td_share_input: bool = True) -> None:
        super().__init__(in_feats, hidden_feats, num_slots=2)
        self.max_degree = 1
        self.td_share_input = td_share_input
        if not td_share_input:
            self.input_names = ("x", _SIDE)
        self.num_sides = 1 if td_share_input else 2
        self.W = nn.Linear(in_feats, self.num_sides * 4 * hidden_feats)
        self.U = nn.Linear(2 * hidden_feats, 4 * hidden_feats, bias=False)
        self.V = nn.Linear(2 * hidden_feats, 2 * hidden_feats, bias=False)
        self.V_o = nn.Linear(hidden_feats, self.num_sides * hidden_feats, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initializes each matrix, and the biases, as Glorot and Bengio (2010)."""
        glorot_(self.W.weight, self.W.bias, num_gates=4 * self.num_sides)
        glorot_(self.U.weight, num_gates=4, num_states=2)
        glorot_(self.V.weight, num_gates=2, num_states=2)
        glorot_(self.V_o.weight, num_gates=self.num_sides)

    def extra_inputs(self, graph: dgl.DGLGraph, device: torch.device) -> dict[str, Tensor]:
        """The side of each node, (num_nodes, 1), unless both sides share the input weights."""
        if self.td_share_input:
            return {}
        sides = graph.edata[self.slot_name].to(self.W.weight.dtype)
        by_node = sides.new_zeros(graph.num_nodes()).scatter(0, graph.edges()[1].long(), sides)
        return {_SIDE: by_node.unsqueeze(1)}

    def project(self, feat: Tensor) -> Tensor:
        """:math:`W x + b` of i, f, g, o, (num_nodes, 4 * hidden_feats); twice that for both."""
        return self.W(feat)

    def start(self, x: Tensor, side: Tensor | None = None) -> State:
        """States of roots, (num_nodes, hidden_feats) each."""
        i, _, g, o = self._of_side(x, side).chunk(4, -1)
        c = torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c

    def combine(self, children: State, x: Tensor, side: Tensor | None = None) -> State:
        """States from the parent's h and c, (num_nodes, 2, hidden_feats), in the side's slot."""
        h, c = children
        i, f, g, o = (self._of_side(x, side) + self.U(h.flatten(1))).chunk(4, -1)
        c_i, c_f = self.V(c.flatten(1)).chunk(2, -1)
        c = torch.sigmoid(i + c_i) * torch.tanh(g) + torch.sigmoid(f + c_f) * c.sum(1)
        return torch.sigmoid(o + self._of_side(self.V_o(c), side)) * torch.tanh(c), c

    def _of_side(self, both: Tensor, side: Tensor | None) -> Tensor:
        """The half for the node's side, if the sides differ."""
        if side is None:
            return both
        left, right = both.chunk(2, -1)
        return torch.where(side == 0, left, right)
