"""The Tree-LSTM with peepholes and head words."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from graphsent._dgl import dgl
from graphsent.cells.errors import CellError
from graphsent.cells.initialization import glorot_
from graphsent.cells.lexical import HeadLexicalizer
from graphsent.cells.recursion import State
from graphsent.cells.slots import SlottedCell
from graphsent.propagation.feats import IndexedFeat
from graphsent.propagation.untraced import untraced


class LexicalizedTreeLSTM(SlottedCell):
    r"""Bottom-up Tree-LSTM over binary trees with peepholes and head words.

    `Head-Lexicalized Bidirectional Tree LSTMs <https://aclanthology.org/Q17-1012>`_ (Teng and
    Zhang 2017), with N running over the left (L) and right (R) child:

    .. math::
        i &= \sigma(W_i x + \textstyle\sum_N (U_i^N h_N + V_i^N c_N) + b_i) \\
        f_L &= \sigma(W_f x + \textstyle\sum_N (U_{fL}^N h_N + V_{fL}^N c_N) + b_{fL}) \\
        f_R &= \sigma(W_f x + \textstyle\sum_N (U_{fR}^N h_N + V_{fR}^N c_N) + b_{fR}) \\
        g &= \tanh(W_g x + \textstyle\sum_N U_g^N h_N + b_g) \\
        c &= i * g + f_L * c_L + f_R * c_R \\
        o &= \sigma(W_o x + \textstyle\sum_N U_o^N h_N + V_o c + b_o) \\
        h &= o * \tanh(c)

    x is the head word of the node, see :class:`HeadLexicalizer`; it is computed for all nodes
    first. Leaves have no children's terms, and in the authors' code no :math:`V_o c` either.

    With ``lexicalized=False`` inner nodes have no x, as in the constituency Tree-LSTM of `Zhu,
    Sobhani and Guo (2015) <https://proceedings.mlr.press/v37/zhub15.html>`_; there may then be
    nodes with one child, and the missing one's h and c are zero. In both cases the rows of
    ``feat`` at inner nodes are ignored.

    The rows of ``W`` are those of i, f, g, o, those of ``U`` and its bias i, :math:`f_L, f_R`, g,
    o, those of ``V`` i, :math:`f_L, f_R`; the columns of ``U`` and ``V`` are those of L, R. At
    300 / 150 there are 563,250 parameters and 180,300 for the head words. A node may have several
    successors.

    Args:
        in_feats: size of the inputs.
        hidden_feats: size of h and c.
        lexicalized: whether inner nodes have head words.
        leaf_peephole: keep :math:`V_o c` at leaves.

    Shapes:
        - ``feat``: (num_nodes, in_feats)
        - h, c: (num_nodes, hidden_feats)
        - head weights: (num_edges, in_feats)

    Example:
        >>> import torch
        >>> from graphsent import dgl
        >>> graph = dgl.graph(([1, 2], [0, 0]))  # node 0 has the children 1 and 2
        >>> graph.edata["child_index"] = torch.tensor([0, 1])
        >>> cell = LexicalizedTreeLSTM(4, 3)
        >>> h, weights = cell(graph, torch.randn(3, 4), return_head_weights=True)
        >>> h.shape, weights.shape
        (torch.Size([3, 3]), torch.Size([2, 4]))
    """

    def __init__(
        self,
        in_feats: int,
        hidden_feats: int,
        *,
        lexicalized: bool = True,
        leaf_peephole: bool = False,
    ) -> None:
        super().__init__(in_feats, hidden_feats, num_slots=2)
        self.leaf_peephole = leaf_peephole
        self.inner_input = lexicalized
        self.lexicalizer = HeadLexicalizer(in_feats) if lexicalized else None
        self.W = nn.Linear(in_feats, 4 * hidden_feats, bias=False)
        self.U = nn.Linear(2 * hidden_feats, 5 * hidden_feats)
        self.V = nn.Linear(2 * hidden_feats, 3 * hidden_feats, bias=False)
        self.V_o = nn.Linear(hidden_feats, hidden_feats, bias=False)
        self.reset_parameters()

    @property
    def lexicalized(self) -> bool:
        """Whether inner nodes have head words."""
        return self.lexicalizer is not None

    def reset_parameters(self) -> None:
        """Draws matrices and biases as Glorot and Bengio do, each matrix by itself."""
        glorot_(self.W.weight, num_blocks=(4, 1))
        glorot_(self.U.weight, self.U.bias, num_blocks=(5, 2))
        glorot_(self.V.weight, num_blocks=(3, 2))
        glorot_(self.V_o.weight)
        if self.lexicalizer is not None:
            self.lexicalizer.reset_parameters()

    def node_inputs(  # type: ignore[override]  # not any **extra
        self,
        graph: dgl.DGLGraph,
        feat: Tensor | IndexedFeat,
        initial_state: Tensor | Sequence[Tensor] | None = None,
    ) -> dict[str, Tensor]:
        """The node data that the DGL functions read; computes the head words first."""
        self.check_call(graph, feat)
        return self.prepare(graph, self.words(graph, feat, "dgl"), initial_state)

    @untraced
    def forward(
        self,
        graph: dgl.DGLGraph,
        feat: Tensor | IndexedFeat,
        initial_state: Tensor | Sequence[Tensor] | None = None,
        *,
        return_cell: bool = False,
        return_head_weights: bool = False,
        engine: str = "auto",
    ) -> Tensor | State:
        """Runs the recursion over a graph, which is left as it was.

        Args:
            graph: as in :meth:`TreeCell.forward`, as are the other arguments not named here.
            feat: inputs, (num_nodes, in_feats); only the rows of leaves are used.
            initial_state: state (h, c) of a left child that stands before each leaf.
            return_cell: return the memory cells too.
            return_head_weights: return the share of each child in its parent's head word too,
                by edge and dimension, (num_edges, in_feats); see
                :meth:`HeadLexicalizer.edge_weights`.
            engine: ``"auto"`` or one of :data:`graphsent.propagation.ENGINES`.

        Returns:
            ``h`` of shape (num_nodes, hidden_feats), or a tuple of ``h``, ``c`` and the head
            weights, as far as they are asked for.

        Raises:
            CellError: if graph, features or initial state do not fit the cell, or there are no
                head words to weigh.
            PropagationError: if the graph has a cycle, or there is no such engine.
        """
        self._check_return_cell(return_cell)
        self.check_call(graph, feat)
        words = self.words(graph, feat, engine)
        state = self.run(graph, words, initial_state, engine=engine, memory=return_cell)
        results = state if return_cell else state[:1]
        if return_head_weights:
            results = (*results, self.head_weights(graph, words))
        return results[0] if len(results) == 1 else results

    def words(
        self, graph: dgl.DGLGraph, feat: Tensor | IndexedFeat, engine: str = "auto"
    ) -> Tensor | IndexedFeat:
        """The input x of every node: head words, or words at leaves and zeros elsewhere."""
        if self.lexicalizer is not None:
            return self.lexicalizer.heads(graph, feat, engine)
        inner = graph.in_degrees() != 0
        if isinstance(feat, IndexedFeat):
            return IndexedFeat(feat.rows, feat.index.masked_fill(inner, -1))
        return feat.masked_fill(inner.unsqueeze(1).to(feat.device), 0)

    def head_weights(self, graph: dgl.DGLGraph, words: Tensor | IndexedFeat) -> Tensor:
        """The share of each child in its parent's head word, from the head words."""
        if self.lexicalizer is None:
            raise CellError("head weights need lexicalized=True: without it there are no heads")
        words = words.dense() if isinstance(words, IndexedFeat) else words
        return self.lexicalizer.edge_weights(graph, words)

    def project(self, feat: Tensor) -> Tensor:
        """Inputs to i, f, g, o without biases, side by side in (num_nodes, 4 * hidden_feats)."""
        return self.W(feat)

    def start(self, x: Tensor) -> State:
        """State of a leaf."""
        i, *_, g, o = x.split(self.hidden_feats, -1)
        b_i, b_o, b_g = self._leaf_bias(x)
        c = torch.sigmoid(i + b_i) * torch.tanh(g + b_g)
        peephole = self.V_o(c) if self.leaf_peephole else 0
        return torch.sigmoid(o + b_o + peephole) * torch.tanh(c), c

    def _leaf_bias(self, like: Tensor) -> State:
        """What ``U`` has for i, o, g where there are no children, each (1, hidden_feats)."""
        nothing = like.new_zeros(1, 2 * self.hidden_feats)
        b_i, _, _, b_g, b_o = self.U(nothing).to(like.dtype).chunk(5, -1)
        return b_i, b_o, b_g

    def combine(self, children: State, x: Tensor) -> State:
        """State from the children's h and c, (nodes, 2, hidden_feats), zeros where missing."""
        h, c = children
        i, f, g, o = x.chunk(4, -1)
        h_i, h_fl, h_fr, h_g, h_o = self.U(h.flatten(1)).chunk(5, -1)
        c_i, c_fl, c_fr = self.V(c.flatten(1)).chunk(3, -1)
        left, right = c.unbind(1)
        c = (
            torch.sigmoid(i + h_i + c_i) * torch.tanh(g + h_g)
            + torch.sigmoid(f + h_fl + c_fl) * left
            + torch.sigmoid(f + h_fr + c_fr) * right
        )
        return torch.sigmoid(o + h_o + self.V_o(c)) * torch.tanh(c), c

    def extra_repr(self) -> str:
        """The sizes, and the options that are not the default."""
        options = ", leaf_peephole=True" if self.leaf_peephole else ""
        return super().extra_repr() + options
