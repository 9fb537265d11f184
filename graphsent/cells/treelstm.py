"""The child-sum and the N-ary Tree-LSTM of Tai, Socher and Manning."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from graphsent._names import check_choice
from graphsent.cells.base import State, TreeCell
from graphsent.cells.errors import CellError
from graphsent.cells.initialization import uniform_
from graphsent.cells.slots import SlottedCell


def lstm_state(
    update: Tensor, forgotten: Tensor | None = None, gate_output: bool = True
) -> tuple[Tensor, Tensor]:
    r"""The state (h, c) of an LSTM from the pre-activations of its gates.

    .. math::
        c = \sigma(i) * \tanh(u) + \mathrm{forgotten}, \qquad h = \sigma(o) * \tanh(c)

    Args:
        update: Pre-activations i, o, u, concatenated, (..., 3 * hidden_feats); without an output
            gate i, u.
        forgotten: The predecessors' memory after the forget gates, (..., hidden_feats).
        gate_output: Whether there is an output gate; otherwise :math:`h = \tanh(c)`.
    """
    parts = update.chunk(3 if gate_output else 2, -1)
    c = torch.sigmoid(parts[0]) * torch.tanh(parts[-1])
    if forgotten is not None:
        c = c + forgotten
    return (torch.sigmoid(parts[1]) * torch.tanh(c) if gate_output else torch.tanh(c)), c


class PooledTreeLSTM(TreeCell):
    r"""Base class of Tree-LSTMs that pool the children's h to one vector for the gates i, o, u.

    A subclass computes this vector in ``combine``, and calls :meth:`reset_parameters` at the end of
    its constructor. See :class:`ChildSumTreeLSTM` for parameters and options.
    """

    _defaults: tuple[tuple[str, Any], ...] = (("gate_output", True),)

    def __init__(
        self, in_feats: int, hidden_feats: int, *, gate_output: bool, forget_bias: float
    ) -> None:
        super().__init__(in_feats, hidden_feats)
        self.gate_output = gate_output
        self.forget_bias = forget_bias
        self.num_updates = 3 if gate_output else 2
        self.W = nn.Linear(in_feats, (self.num_updates + 1) * hidden_feats)
        self.U = nn.Linear(hidden_feats, self.num_updates * hidden_feats, bias=False)
        self.U_f = nn.Linear(hidden_feats, hidden_feats, bias=False)

    def reset_parameters(self) -> None:
        """Draws weights from U(-1/sqrt(n), 1/sqrt(n)), n their columns; sets the biases."""
        uniform_(self.W, self.U, self.U_f)
        nn.init.constant_(self.W.bias[-self.hidden_feats :], self.forget_bias)

    def project(self, feat: Tensor) -> Tensor:
        """:math:`W x + b` of i, o, u, f (without output gate: i, u, f) side by side."""
        return self.W(feat)

    def start(self, x: Tensor) -> State:
        """States of leaves, (num_nodes, hidden_feats) each: the sums over children are zero."""
        return lstm_state(self.split_inputs(x)[0], gate_output=self.gate_output)

    def split_inputs(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Splits the output of :meth:`project` into the inputs to i, o, u and those to f."""
        update, forget = x.split([self.num_updates * self.hidden_feats, self.hidden_feats], -1)
        return update, forget


class ChildSumTreeLSTM(PooledTreeLSTM):
    r"""Child-sum Tree-LSTM, over any number of unordered children.

    `Improved Semantic Representations From Tree-Structured Long Short-Term Memory Networks
    <https://aclanthology.org/P15-1150>`_ (Tai et al. 2015), equations 2 to 8:

    .. math::
        \tilde h &= \textstyle\sum_k h_k \\
        i &= \sigma(W_i x + U_i \tilde h + b_i) \\
        o &= \sigma(W_o x + U_o \tilde h + b_o) \\
        u &= \tanh(W_u x + U_u \tilde h + b_u) \\
        f_k &= \sigma(W_f x + U_f h_k + b_f) \\
        c &= i * u + \textstyle\sum_k f_k * c_k \\
        h &= o * \tanh(c)

    The graph may be any acyclic graph, with inputs at all nodes. The rows of ``W`` belong to i, o,
    u, f, in this order, those of ``U`` to i, o, u. There is one bias per gate: 315,168 parameters
    at 300 / 168, compared to 315,840 in the authors' code, which has two; without output gate,
    202,950 at 300 / 150 (203,400).

    Args:
        in_feats: Size of the inputs.
        hidden_feats: Size of h and c.
        gate_output: Whether there is an output gate; otherwise :math:`h = \tanh(c)`, as in the
            authors' relatedness models.
        forget_bias: Initial value of :math:`b_f`; other biases are initialized to zero.

    Shapes:
        - ``feat``: (num_nodes, in_feats)
        - h, c: (num_nodes, hidden_feats)

    Example:
        >>> import torch
        >>> from graphsent import dgl
        >>> graph = dgl.graph(([1, 2], [0, 0]))  # node 0 has the children 1 and 2
        >>> cell = ChildSumTreeLSTM(4, 3)
        >>> cell(graph, torch.randn(3, 4)).shape
        torch.Size([3, 3])
    """

    def __init__(
        self,
        in_feats: int,
        hidden_feats: int,
        *,
        gate_output: bool = True,
        forget_bias: float = 0.0,
    ) -> None:
        super().__init__(in_feats, hidden_feats, gate_output=gate_output, forget_bias=forget_bias)
        self.reset_parameters()

    def combine(self, children: State, x: Tensor) -> State:
        """States from the children's h and c, (num_nodes, num_children, hidden_feats)."""
        h, c = children
        update, forget = self.split_inputs(x)
        forget_gates = torch.sigmoid(forget.unsqueeze(1) + self.U_f(h))
        forgotten = (forget_gates * c).sum(1)
        return lstm_state(update + self.U(h.sum(1)), forgotten, self.gate_output)


class NaryTreeLSTM(SlottedCell):
    r"""N-ary Tree-LSTM, over at most N ordered children.

    `Improved Semantic Representations From Tree-Structured Long Short-Term Memory Networks
    <https://aclanthology.org/P15-1150>`_ (Tai et al. 2015), equations 9 to 14:

    .. math::
        i &= \sigma(W_i x + \textstyle\sum_l U_{i,l} h_l + b_i) \\
        o &= \sigma(W_o x + \textstyle\sum_l U_{o,l} h_l + b_o) \\
        u &= \tanh(W_u x + \textstyle\sum_l U_{u,l} h_l + b_u) \\
        f_k &= \sigma(W_f x + \textstyle\sum_l U_{f,kl} h_l + b_f) \\
        c &= i * u + \textstyle\sum_k f_k * c_k \\
        h &= o * \tanh(c)

    with l, k = 1..N; h and c of a missing child are zero. Every node may have an input (the
    constituency Tree-LSTM has words at the leaves only: rows of zeros elsewhere).

    The edge data ``child_index``, 0 to N - 1, tell which child is which. In a graph without them,
    children are ordered as their edges were added, with a
    :class:`graphsent.errors.GraphsentWarning` if a node has several.

    ``leaf="affine"`` gives the constituency Tree-LSTM of the authors' code: at leaves,
    :math:`c = W_c x + b_c` and :math:`h = \sigma(W_o x + b_o) * \tanh(c)`; other nodes have no
    input (their rows of ``feat`` are ignored) and separate biases, one per forget gate.

    The rows of the weights belong to i, o, u, f, in this order (``W`` of affine leaves: c, o); in
    ``U``, f is :math:`f_1, \dots, f_N`, and the columns belong to :math:`h_1, \dots, h_N`. At
    300 / 150 and N = 2 there are 405,600 parameters; with affine leaves 316,050, compared to
    316,800 in the authors' code, which has two biases per gate at inner nodes; without output
    gate 204,622 at 300 / 142 (205,190).

    Args:
        in_feats: Size of the inputs.
        hidden_feats: Size of h and c.
        num_children: N.
        leaf: ``"gated"``, the equations above, or ``"affine"``.
        gate_output: Whether there is an output gate; otherwise :math:`h = \tanh(c)`, as in the
            authors' relatedness models.
        forget_bias: Initial bias of the forget gates; other biases are initialized to zero.

    Shapes:
        - ``feat``: (num_nodes, in_feats)
        - h, c: (num_nodes, hidden_feats)

    Example:
        >>> import torch
        >>> from graphsent import dgl
        >>> graph = dgl.graph(([1, 2], [0, 0]))  # node 0 has the children 1 and 2
        >>> graph.edata["child_index"] = torch.tensor([0, 1])
        >>> cell = NaryTreeLSTM(4, 3)
        >>> h, c = cell(graph, torch.randn(3, 4), return_cell=True)
        >>> h.shape, c.shape
        (torch.Size([3, 3]), torch.Size([3, 3]))
    """

    _defaults = (("num_children", None), ("leaf", "gated"), ("gate_output", True))

    def __init__(
        self,
        in_feats: int,
        hidden_feats: int,
        num_children: int = 2,
        *,
        leaf: str = "gated",
        gate_output: bool = True,
        forget_bias: float = 0.0,
    ) -> None:
        super().__init__(in_feats, hidden_feats, num_children)
        check_choice("leaf", leaf, ("gated", "affine"), CellError)
        self.num_children = num_children
        self.leaf = leaf
        if leaf == "affine":
            self.no_initial_state = "affine leaves have no term for it"
            self.inner_input = False
        self.gate_output = gate_output
        self.forget_bias = forget_bias
        self.num_updates = 3 if gate_output else 2
        num_inputs = self.num_updates + 1 if leaf == "gated" else self.num_updates - 1
        self.W = nn.Linear(in_feats, num_inputs * hidden_feats)
        self.U = nn.Linear(
            num_children * hidden_feats,
            (self.num_updates + num_children) * hidden_feats,
            bias=leaf == "affine",
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weights from U(-1/sqrt(n), 1/sqrt(n)), n the columns per input; sets the biases."""
        uniform_(self.W)
        uniform_(self.U, num_states=self.num_children)
        if self.leaf == "gated":
            forget_bias = self.W.bias[-self.hidden_feats :]
        else:
            forget_bias = self.U.bias[-self.num_children * self.hidden_feats :]
        nn.init.constant_(forget_bias, self.forget_bias)

    def project(self, feat: Tensor) -> Tensor:
        """:math:`W x + b` of i, o, u, f side by side (affine leaves: c, o), (num_nodes, ...)."""
        return self.W(feat)

    def start(self, x: Tensor) -> State:
        """States of leaves, (num_nodes, hidden_feats) each."""
        if self.leaf == "gated":
            update = x[:, : self.num_updates * self.hidden_feats]
            return lstm_state(update, gate_output=self.gate_output)
        if not self.gate_output:
            return torch.tanh(x), x
        c, o = x.chunk(2, -1)
        return torch.sigmoid(o) * torch.tanh(c), c

    def combine(self, children: State, x: Tensor) -> State:
        """States from the children's h and c, (num_nodes, N, hidden_feats), zero if missing."""
        h, c = children
        update, forget = self._split(self.U(h.flatten(1)), self.num_children)
        if self.leaf == "gated":
            input_update, input_forget = self._split(x, 1)
            update, forget = update + input_update, forget + input_forget
        return lstm_state(update, (torch.sigmoid(forget) * c).sum(1), self.gate_output)

    def _split(self, sums: Tensor, num_forget: int) -> tuple[Tensor, Tensor]:
        """The inputs to i, o, u, and those to f, (num_nodes, num_forget, hidden_feats)."""
        size = self.hidden_feats
        update, forget = sums.split([self.num_updates * size, num_forget * size], -1)
        return update, forget.unflatten(-1, (num_forget, size))
