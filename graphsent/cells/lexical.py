"""Soft head words of constituents."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graphsent._dgl import dgl
from graphsent.cells.initialization import glorot_
from graphsent.cells.overriding import is_own
from graphsent.cells.recursion import State
from graphsent.cells.slots import SlottedCell, edge_slots
from graphsent.propagation import resolve_engine
from graphsent.propagation.feats import IndexedFeat


class HeadLexicalizer(SlottedCell):
    r"""The head word of every constituent of a binary tree, as a mixture of its words.

    `Head-Lexicalized Bidirectional Tree LSTMs <https://aclanthology.org/Q17-1012>`_ (Teng and
    Zhang 2017), section 3.2:

    .. math::
        z &= \sigma(W_L x_L + W_R x_R + b) \\
        x &= z * x_L + (1 - z) * x_R

    with the children's head words :math:`x_L, x_R`; at leaves x is the word's own vector. Inner
    nodes have no input: their rows of ``feat`` are ignored.

    The columns of ``W`` are those of :math:`W_L, W_R`: 180,300 parameters at 300. A node may have
    several successors.

    Args:
        in_feats: size of the inputs and of the head words.

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
        """Draws matrices and bias as Glorot and Bengio do."""
        glorot_(self.W.weight, self.W.bias, num_blocks=(1, 2))

    def check_structure(self, graph: dgl.DGLGraph) -> None:
        """Raises a CellError unless every node has two children or none."""
        degrees = graph.in_degrees()
        self.check_degrees(graph, (degrees != 0) & (degrees != 2), "2 or no")
        super().check_structure(graph)

    def project(self, feat: Tensor) -> Tensor:
        """The inputs as they are."""
        return feat

    def start(self, x: Tensor) -> State:
        """A leaf is its own head."""
        return (x,)

    def combine(self, children: State, x: Tensor) -> State:
        """Head words from those of the two children, (nodes, 2, in_feats)."""
        (words,) = children
        z = torch.sigmoid(self.W(words.flatten(1)))
        left, right = words.unbind(1)
        return (z * left + (1 - z) * right,)

    def heads(
        self, graph: dgl.DGLGraph, feat: Tensor | IndexedFeat, engine: str = "auto"
    ) -> Tensor | IndexedFeat:
        """The head words as inputs of a cell: leaves share rows as far as they share words.

        Arguments and errors as in :meth:`forward`, whose rows these are for all nodes.
        """
        if resolve_engine(engine) == "levels" and is_own(self, HeadLexicalizer):
            self.check_call(graph, feat)
            return self._by_levels(graph, feat)
        return self(graph, feat, engine=engine)

    def _by_levels(self, graph: dgl.DGLGraph, feat: Tensor | IndexedFeat) -> IndexedFeat:
        levels = self._run(graph, feat, {})
        (words,) = levels.states()
        first, position = levels.num_leaves, levels.on_host.position
        if not isinstance(feat, IndexedFeat) or len(feat.rows) >= first:
            return IndexedFeat(words, position)
        index = torch.where(position < first, feat.index, position + len(feat.rows) - first)
        return IndexedFeat(torch.cat((feat.rows, words[first:])), index)

    def edge_weights(self, graph: dgl.DGLGraph, words: Tensor) -> Tensor:
        """The share of each child in its parent's head word: z of left, 1 - z of right children.

        Args:
            graph: the graph, edges from child to parent.
            words: head words of all nodes, as the cell returns them.

        Returns:
            The shares by edge and dimension, (num_edges, in_feats).
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
