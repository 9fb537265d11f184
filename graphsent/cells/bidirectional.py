"""The bidirectional Tree-LSTM."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from graphsent._dgl import dgl
from graphsent._names import check_choice
from graphsent.cells.base import State
from graphsent.cells.errors import CellError
from graphsent.cells.initialization import glorot_
from graphsent.cells.lexicalized import LexicalizedTreeLSTM
from graphsent.cells.module import CellModule
from graphsent.cells.slots import CHILD_INDEX, edge_slots
from graphsent.cells.topdown import TopDownTreeLSTM
from graphsent.graphs.batching import reverse
from graphsent.propagation.feats import IndexedFeat


class BiTreeLSTM(CellModule):
    r"""Bidirectional Tree-LSTM: a bottom-up and a top-down pass over the same binary trees.

    `Head-Lexicalized Bidirectional Tree LSTMs <https://aclanthology.org/Q17-1012>`_ (Teng and
    Zhang 2017). Both passes have the same inputs x: the head words of the nodes or, with
    ``lexicalized=False``, words at leaves and zeros at inner nodes. They share nothing else. See
    :class:`LexicalizedTreeLSTM` and :class:`TopDownTreeLSTM` for the equations.

    With ``td_root="bu_root"``, the top-down pass starts from the root of the bottom-up pass:
    :math:`h = A h_{root} + a` and :math:`c = B c_{root} + b` are the state of the root's parent.

    At 300 / 150 there are 1,216,650 parameters.

    Args:
        in_feats: Size of the inputs.
        hidden_feats: Size of h and c of each pass.
        lexicalized: Whether inner nodes have head words.
        leaf_peephole: See :class:`LexicalizedTreeLSTM`.
        td_share_input: See :class:`TopDownTreeLSTM`.
        td_root: ``"zero"``, no state before the root, or ``"bu_root"``.

    Raises:
        CellError: If a size is less than 1, or ``td_root`` is unknown.

    Shapes:
        - ``feat``: (num_nodes, in_feats)
        - h, c: (num_nodes, 2 * hidden_feats), bottom-up first
        - head weights: (num_edges, in_feats)

    Example:
        >>> import torch
        >>> from graphsent import dgl
        >>> graph = dgl.graph(([1, 2], [0, 0]))  # node 0 has the children 1 and 2
        >>> graph.edata["child_index"] = torch.tensor([0, 1])
        >>> BiTreeLSTM(4, 3)(graph, torch.randn(3, 4)).shape
        torch.Size([3, 6])
    """

    _defaults = (("td_root", "zero"),)

    def __init__(
        self,
        in_feats: int,
        hidden_feats: int,
        *,
        lexicalized: bool = True,
        leaf_peephole: bool = False,
        td_share_input: bool = True,
        td_root: str = "zero",
    ) -> None:
        super().__init__()
        check_choice("td_root", td_root, ("zero", "bu_root"), CellError)
        self.in_feats, self.hidden_feats = in_feats, hidden_feats
        self.td_root = td_root
        self.bottom_up = LexicalizedTreeLSTM(
            in_feats, hidden_feats, lexicalized=lexicalized, leaf_peephole=leaf_peephole
        )
        self.top_down = TopDownTreeLSTM(in_feats, hidden_feats, td_share_input=td_share_input)
        if td_root == "bu_root":
            self.root_h = nn.Linear(hidden_feats, hidden_feats)
            self.root_c = nn.Linear(hidden_feats, hidden_feats)
        self.reset_parameters()

    @property
    def out_feats(self) -> int:
        """Number of features that the cell returns per node."""
        return 2 * self.hidden_feats

    def reset_parameters(self) -> None:
        """Initializes each matrix, and the biases, as Glorot and Bengio (2010)."""
        self.bottom_up.reset_parameters()
        self.top_down.reset_parameters()
        if self.td_root == "bu_root":
            glorot_(self.root_h.weight, self.root_h.bias)
            glorot_(self.root_c.weight, self.root_c.bias)

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
        """Runs both passes over a graph, without modifying the graph.

        Takes the arguments of :meth:`LexicalizedTreeLSTM.forward`, and raises its errors. Edges
        lead from child to parent; an initial state is that of the bottom-up pass.

        Returns:
            ``h`` of shape (num_nodes, 2 * hidden_feats), bottom-up before top-down, or a tuple of
            ``h`` and what else was requested: ``c``, the head weights.
        """
        self.bottom_up.check_call(graph, feat)
        words = self.bottom_up.words(graph, feat, engine)
        from_root = self.td_root == "bu_root"
        with_cell = return_cell or from_root
        up = self.bottom_up.run(graph, words, initial_state, return_cell=with_cell, engine=engine)
        reversed_graph = reverse(graph, copy_data=False)
        reversed_graph.edata[CHILD_INDEX] = edge_slots(graph)
        root = self._root_parents(graph, up) if from_root else None
        self.top_down.check_structure(reversed_graph)
        down = self.top_down.run(
            reversed_graph, words, root, return_cell=return_cell, engine=engine
        )
        # Without return_cell, the c of the bottom-up pass is for the root state alone.
        results = [torch.cat(pair, -1) for pair in zip(up, down, strict=False)]
        if return_head_weights:
            results.append(self.bottom_up.head_weights(graph, words))
        return tuple(results) if len(results) > 1 else results[0]

    def _root_parents(self, graph: dgl.DGLGraph, up: State) -> State:
        """The states of the roots' parents, in the rows of the roots; zeros elsewhere."""
        roots = (graph.out_degrees() == 0).nonzero().squeeze(1).to(up[0].device)
        maps = (self.root_h, self.root_c)
        return tuple(
            torch.zeros_like(state).index_copy(0, roots, linear(state[roots]))
            for linear, state in zip(maps, up, strict=True)
        )
