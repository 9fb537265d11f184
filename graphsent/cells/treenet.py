"""TreeNet, with its encoder of tokens and its compositor."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from graphsent._numbers import check_sizes
from graphsent.cells.base import State
from graphsent.cells.errors import CellError
from graphsent.cells.initialization import uniform_
from graphsent.cells.slots import SlottedCell
from graphsent.cells.treelstm import lstm_state

KIND = "kind"


class GatedEncoder(nn.Module):
    r"""TreeNet's encoder of tokens.

    .. math::
        i = \sigma(W_i e + b_i), \quad o = \sigma(W_o e + b_o), \quad u = \tanh(W_u e + b_u), \quad
        c = i * u, \quad h = o * \tanh(c)

    The rows of ``W`` belong to i, o, u: 90,300 parameters at 300 / 100.

    Args:
        in_feats: Size of the word vectors.
        hidden_feats: Size of h and c.
    """

    def __init__(self, in_feats: int, hidden_feats: int) -> None:
        super().__init__()
        check_sizes(CellError, in_feats=in_feats, hidden_feats=hidden_feats)
        self.W = nn.Linear(in_feats, 3 * hidden_feats)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weights from U(-1/sqrt(n), 1/sqrt(n)), n their columns; sets biases to zero."""
        uniform_(self.W)

    def forward(self, feat: Tensor) -> State:
        """States (h, c) of tokens, each (num_nodes, hidden_feats), from their word vectors."""
        return lstm_state(self.W(feat))


class GatedCompositor(nn.Module):
    r"""TreeNet's compositor, of a node's left sibling s and its rightmost child (or token) c.

    .. math::
        g_s &= \sigma(W_{ss} h_s + W_{sc} h_c + b_s) \\
        g_c &= \sigma(W_{cs} h_s + W_{cc} h_c + b_c) \\
        o &= \sigma(W_{os} h_s + W_{oc} h_c + b_o) \\
        c &= g_s * c_s + g_c * c_c \\
        h &= o * \tanh(c)

    The rows of ``W`` belong to :math:`g_s, g_c, o`, its columns to :math:`h_s, h_c`:
    60,300 parameters at 100.

    Args:
        hidden_feats: Size of h and c.
    """

    def __init__(self, hidden_feats: int) -> None:
        super().__init__()
        check_sizes(CellError, hidden_feats=hidden_feats)
        self.W = nn.Linear(2 * hidden_feats, 3 * hidden_feats)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weights from U(-1/sqrt(n), 1/sqrt(n)), n the columns per input; zeros biases."""
        uniform_(self.W, num_states=2)

    def forward(self, child: State, sibling: State) -> State:
        """States (h, c) from those of child and sibling, each (num_nodes, hidden_feats)."""
        gates = torch.sigmoid(self.W(torch.cat([sibling[0], child[0]], -1)))
        sibling_gate, child_gate, output_gate = gates.chunk(3, -1)
        c = sibling_gate * sibling[1] + child_gate * child[1]
        return output_gate * torch.tanh(c), c


class TreeNet(SlottedCell):
    r"""TreeNet: recursion over trees with any number of children, from left to right.

    *TreeNet: Learning Sentence Representations with Unconstrained Tree Structure* (Cheng, Yuan, Li
    and Yang, IJCAI 2018). The state of a token encodes its word; that of any other node is composed
    of the states of its left sibling (zeros without one) and of its rightmost child or its token:

    .. math::
        s_w = \mathrm{Encoder}(e_w), \qquad
        s_t = \mathrm{Compositor}(s_{child(t)}, s_{sibling(t)})

    In a sibling graph, edge data ``kind`` is 0 on edges from the left sibling, 1 on those from the
    rightmost child or the token. Tokens are the nodes without incoming edges; the rows of ``feat``
    at other nodes are ignored.

    Encoder and compositor can be replaced. With ``memory=True`` a state is a pair (h, c), otherwise
    a single tensor h; ``torch.nn.GRUCell`` is then a valid compositor. At 300 / 100, the default
    ones have 150,600 parameters.

    Args:
        in_feats: Size of the word vectors.
        hidden_feats: Size of h and c.
        encoder: Module, (num_nodes, in_feats) -> state; :class:`GatedEncoder` by default.
        compositor: Module, (state of child, state of sibling) -> state;
            :class:`GatedCompositor` by default.
        memory: Whether states are pairs (h, c).

    Raises:
        CellError: If ``memory=False`` without both an encoder and a compositor.

    Shapes:
        - ``feat``: (num_nodes, in_feats)
        - h, c: (num_nodes, hidden_feats)

    Example:
        >>> import torch
        >>> from graphsent import dgl
        >>> graph = dgl.graph(([3, 1, 4, 2], [1, 2, 2, 0]))  # 0: root; 1, 2: its children
        >>> graph.edata["kind"] = torch.tensor([1, 0, 1, 1])  # 3, 4: the tokens of 1 and 2
        >>> TreeNet(4, 3)(graph, torch.randn(5, 4)).shape
        torch.Size([5, 3])
        >>> encoder = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh())
        >>> compositor = torch.nn.GRUCell(3, 3)
        >>> cell = TreeNet(4, 3, encoder=encoder, compositor=compositor, memory=False)
        >>> cell(graph, torch.randn(5, 4)).shape
        torch.Size([5, 3])
    """

    slot_name = KIND
    needs_slots = True
    predecessors = "predecessors"
    remedy = ": build the graph with direction 'sibling'"
    inner_input = False
    no_initial_state = "tokens have no predecessor"

    def __init__(
        self,
        in_feats: int,
        hidden_feats: int,
        *,
        encoder: nn.Module | None = None,
        compositor: nn.Module | None = None,
        memory: bool = True,
    ) -> None:
        super().__init__(in_feats, hidden_feats, num_slots=2)
        if not memory and (encoder is None or compositor is None):
            raise CellError("memory=False needs an encoder and a compositor without memory")
        self.memory = memory
        self.state_names = ("h", "c") if memory else ("h",)
        self.encoder = GatedEncoder(in_feats, hidden_feats) if encoder is None else encoder
        self.compositor = GatedCompositor(hidden_feats) if compositor is None else compositor

    def reset_parameters(self) -> None:
        """Calls ``reset_parameters`` of all modules in encoder and compositor that have it."""
        modules: list[Any] = [*self.encoder.modules(), *self.compositor.modules()]
        for module in modules:
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()

    def project(self, feat: Tensor) -> Tensor:
        """The inputs, (num_nodes, in_feats): only tokens are encoded, in :meth:`start`."""
        return feat

    def start(self, x: Tensor) -> State:
        """States of tokens, (num_nodes, hidden_feats) each."""
        return self._state(self.encoder(x), "encoder", x)

    def combine(self, children: State, x: Tensor) -> State:
        """States from those of sibling and child, in this order, (num_nodes, 2, hidden_feats)."""
        siblings, rightmost = zip(*(part.unbind(1) for part in children), strict=True)
        if not self.memory:
            siblings, rightmost = siblings[0], rightmost[0]
        return self._state(self.compositor(rightmost, siblings), "compositor", x)

    def _state(self, state: Tensor | State, source: str, x: Tensor) -> State:
        """The parts of a state that a module returned; a CellError unless they fit."""
        several = issubclass(type(state), (tuple, list))  # isinstance of a tensor is not traced
        parts: Any = state if several else (state,)
        shapes = [
            tuple(part.shape) if hasattr(part, "shape") else type(part).__name__ for part in parts
        ]
        expected = [(x.shape[0], self.hidden_feats)] * len(self.state_names)
        if shapes != expected:
            raise CellError(
                f"expected the {source} to return {len(expected)} tensors of shape "
                f"(num_nodes, hidden_feats) = {expected[0]}, got {shapes}"
            )
        # Under autocast, the modules may return another dtype than that of the features.
        return tuple(part.to(x.dtype) for part in parts)
