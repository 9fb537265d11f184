"""Head words of constituents, and the Tree-LSTM over them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from graphsent._dgl import dgl
from graphsent.cells.base import State
from graphsent.cells.errors import CellError
from graphsent.cells.initialization import glorot_
from graphsent.cells.slots import SlottedCell, edge_slots
from graphsent.propagation.feats import IndexedFeat


class HeadLexicalizer(SlottedCell):
    r"""The head word of every constituent of a binary tree, a mixture of its words.

    `Head-Lexicalized Bidirectional Tree LSTMs <https://aclanthology.org/Q17-1012>`_ (Teng and
    Zhang 2017), section 3.2:

    .. math::
        z &= \sigma(W_L x_L + W_R x_R + b) \\
        x &= z * x_L + (1 - z) * x_R

    with the children's head words :math:`x_L, x_R`; at leaves, x is the word vector itself. Inner
    nodes have no input: their rows of ``feat`` are ignored.

    The columns of ``W`` are those of :math:`W_L, W_R`: 180,300 parameters at 300. The graph may be
    any acyclic graph whose nodes have two predecessors or none.

    Args:
        in_feats: Size of the inputs, and of the head words.

    Shapes:
        - ``feat``, x: (num_nodes, in_feats)
        - z, by edge: (num_edges, in_feats)

    Example:
        >>> import torch
        >>> from graphsent import dgl
        >>> graph = dgl.graph(([1, 2], [0, 0]))  # node 0 has the children 1 and 2
        >>> graph.edata["child_index"] = torch.tensor([0, 1])
        >>> HeadLexicalizer(4)(graph, torch.randn(3, 4)).shape
        torch.Size([3, 4])
    """

    state_names = ("h",)
    inner_input = False
    no_initial_state = "a leaf is its own head"
    remedy = ": collapse unary nodes and binarize the trees"

    def __init__(self, in_feats: int) -> None:
        super().__init__(in_feats, in_feats, num_slots=2)
        self.W = nn.Linear(2 * in_feats, in_feats)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initializes the matrices and the bias as Glorot and Bengio (2010)."""
        glorot_(self.W.weight, self.W.bias, num_states=2)

    def check_structure(self, graph: dgl.DGLGraph) -> None:
        """Raises a CellError unless every node has two children or none."""
        degrees = graph.in_degrees()
        self.check_degrees(graph, (degrees != 0) & (degrees != 2), "2 or no")
        super().check_structure(graph)

    def project(self, feat: Tensor) -> Tensor:
        """The inputs themselves, (num_nodes, in_feats)."""
        return feat

    def start(self, x: Tensor) -> State:
        """Head words of leaves: the words themselves, (num_nodes, in_feats)."""
        return (x,)

    def combine(self, children: State, x: Tensor) -> State:
        """Head words from those of the two children, (num_nodes, 2, in_feats)."""
        (words,) = children
        z = torch.sigmoid(self.W(words.flatten(1)))
        left, right = words.unbind(1)
        return (z * left + (1 - z) * right,)

    def heads(
        self, graph: dgl.DGLGraph, feat: Tensor | IndexedFeat, engine: str = "auto"
    ) -> Tensor | IndexedFeat:
        """The head words as inputs of a cell, in which leaves with the same word share a row.

        Takes the arguments of :meth:`forward`, raises its errors, and gives its results.
        """
        words = self(graph, feat, engine=engine)
        if not isinstance(feat, IndexedFeat) or self._is_modified(HeadLexicalizer):
            return words
        inner = graph.in_degrees() != 0
        nodes = inner.nonzero().squeeze(1)
        if len(feat.rows) >= len(inner) - len(nodes):
            return words
        rows = torch.cat((feat.rows, words.index_select(0, nodes.to(words.device))))
        of_inner = inner.cumsum(0) + len(feat.rows) - 1
        return IndexedFeat(rows, torch.where(inner, of_inner, feat.index))

    def edge_weights(self, graph: dgl.DGLGraph, words: Tensor) -> Tensor:
        """The share of each child in its parent's head word: z of left, 1 - z of right children.

        Args:
            graph: The graph, with edges from child to parent.
            words: Head words of all nodes, (num_nodes, in_feats), as the cell returns them.

        Returns:
            The shares per edge and dimension, (num_edges, in_feats).
        """
        children, parents = (nodes.long().to(words.device) for nodes in graph.edges())
        slots = edge_slots(graph).to(words.device)
        pairs = words.new_zeros(graph.num_nodes() * 2, self.in_feats)
        pairs = pairs.index_copy(0, parents * 2 + slots, words[children])
        z = torch.sigmoid(self.W(pairs.view(-1, 2 * self.in_feats)))[parents]
        return torch.where(slots.unsqueeze(1) == 0, z, 1 - z)

    def extra_repr(self) -> str:
        """The size."""
        return f"{self.in_feats}"


class LexicalizedTreeLSTM(SlottedCell):
    r"""Bottom-up Tree-LSTM over binary trees with peepholes and head words.

    `Head-Lexicalized Bidirectional Tree LSTMs <https://aclanthology.org/Q17-1012>`_ (Teng and
    Zhang 2017), where N runs over the left (L) and right (R) child:

    .. math::
        i &= \sigma(W_i x + \textstyle\sum_N (U_i^N h_N + V_i^N c_N) + b_i) \\
        f_L &= \sigma(W_f x + \textstyle\sum_N (U_{fL}^N h_N + V_{fL}^N c_N) + b_{fL}) \\
        f_R &= \sigma(W_f x + \textstyle\sum_N (U_{fR}^N h_N + V_{fR}^N c_N) + b_{fR}) \\
        g &= \tanh(W_g x + \textstyle\sum_N U_g^N h_N + b_g) \\
        c &= i * g + f_L * c_L + f_R * c_R \\
        o &= \sigma(W_o x + \textstyle\sum_N U_o^N h_N + V_o c + b_o) \\
        h &= o * \tanh(c)

    x is the head word of the node, computed first for all nodes by :class:`HeadLexicalizer`. Leaves
    have no terms of children and, as in the authors' code, no :math:`V_o c`.

    With ``lexicalized=False``, inner nodes have no x, as in the constituency Tree-LSTM of `Zhu,
    Sobhani and Guo (2015) <https://proceedings.mlr.press/v37/zhub15.html>`_. Nodes may then have
    one child; h and c of a missing child are zero. In both cases, the rows of ``feat`` at inner
    nodes are ignored.

    The rows of ``W`` belong to i, f, g, o; those of ``U`` and its bias to i, :math:`f_L, f_R`, g,
    o; those of ``V`` to i, :math:`f_L, f_R`; the columns of ``U`` and ``V`` to L, R. At 300 / 150
    there are 563,250 parameters, and 180,300 for the head words. A node may have several
    successors.

    Args:
        in_feats: Size of the inputs.
        hidden_feats: Size of h and c.
        lexicalized: Whether inner nodes have head words.
        leaf_peephole: Whether leaves have :math:`V_o c`, too.

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

    _defaults = (("leaf_peephole", False),)

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
        self.lexicalized = self.inner_input = lexicalized
        self.lexicalizer = HeadLexicalizer(in_feats) if lexicalized else None
        self.W = nn.Linear(in_feats, 4 * hidden_feats, bias=False)
        self.U = nn.Linear(2 * hidden_feats, 5 * hidden_feats)
        self.V = nn.Linear(2 * hidden_feats, 3 * hidden_feats, bias=False)
        self.V_o = nn.Linear(hidden_feats, hidden_feats, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initializes each matrix, and the biases, as Glorot and Bengio (2010)."""
        glorot_(self.W.weight, num_gates=4)
        glorot_(self.U.weight, self.U.bias, num_gates=5, num_states=2)
        glorot_(self.V.weight, num_gates=3, num_states=2)
        glorot_(self.V_o.weight)
        if self.lexicalizer is not None:
            self.lexicalizer.reset_parameters()

    def node_inputs(  # type: ignore[override]  # not any **extra
        self,
        graph: dgl.DGLGraph,
        feat: Tensor | IndexedFeat,
        initial_state: Tensor | Sequence[Tensor] | None = None,
    ) -> dict[str, Tensor]:
        """The node data that the DGL functions read, with the head words as x."""
        self.check_call(graph, feat)
        return self.prepare(graph, self.words(graph, feat, "dgl"), initial_state)

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
        """Runs the recursion over a graph, without modifying the graph.

        Takes the arguments of :meth:`TreeCell.forward`. Only the rows of ``feat`` at leaves are
        used, and an initial state (h, c) is that of a left child before each leaf. With
        ``return_head_weights``, also returns the share of each child in its parent's head word,
        (num_edges, in_feats); see :meth:`HeadLexicalizer.edge_weights`.

        Returns:
            ``h`` of shape (num_nodes, hidden_feats), or a tuple of ``h`` and what else was
            requested: ``c``, the head weights.

        Raises:
            CellError: As in :meth:`TreeCell.forward`, or if head weights are requested with
                ``lexicalized=False``.
            PropagationError: As in :meth:`TreeCell.forward`.
        """
        self.check_call(graph, feat, return_cell)
        words = self.words(graph, feat, engine)
        results = self.run(graph, words, initial_state, return_cell=return_cell, engine=engine)
        if return_head_weights:
            results = (*results, self.head_weights(graph, words))
        return results[0] if len(results) == 1 else results

    def words(
        self, graph: dgl.DGLGraph, feat: Tensor | IndexedFeat, engine: str = "auto"
    ) -> Tensor | IndexedFeat:
        """The input x of every node, (num_nodes, in_feats): its head word, or words at leaves."""
        if self.lexicalizer is not None:
            return self.lexicalizer.heads(graph, feat, engine)
        inner = graph.in_degrees() != 0
        if isinstance(feat, IndexedFeat):
            return IndexedFeat(feat.rows, feat.index.masked_fill(inner, -1))
        return feat.masked_fill(inner.unsqueeze(1).to(feat.device), 0)

    def head_weights(self, graph: dgl.DGLGraph, words: Tensor | IndexedFeat) -> Tensor:
        """The share of each child in its parent's head word, (num_edges, in_feats)."""
        if self.lexicalizer is None:
            raise CellError("head weights need lexicalized=True: there are no head words")
        words = words.dense() if isinstance(words, IndexedFeat) else words
        return self.lexicalizer.edge_weights(graph, words)

    def project(self, feat: Tensor) -> Tensor:
        """:math:`W x` of i, f, g, o side by side, (num_nodes, 4 * hidden_feats)."""
        return self.W(feat)

    def start(self, x: Tensor) -> State:
        """States of leaves, (num_nodes, hidden_feats) each."""
        i, _, g, o = x.chunk(4, -1)
        bias = self.U(x.new_zeros(1, 2 * self.hidden_feats)).to(x.dtype)
        b_i, _, _, b_g, b_o = bias.chunk(5, -1)
        c = torch.sigmoid(i + b_i) * torch.tanh(g + b_g)
        peephole = self.V_o(c) if self.leaf_peephole else 0
        return torch.sigmoid(o + b_o + peephole) * torch.tanh(c), c

    def combine(self, children: State, x: Tensor) -> State:
        """States from the children's h and c, (num_nodes, 2, hidden_feats), zero if missing."""
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
