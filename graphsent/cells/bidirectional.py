"""The bidirectional Tree-LSTM."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from graphsent._dgl import dgl
from graphsent.cells.initialization import glorot_
from graphsent.cells.lexicalized import LexicalizedTreeLSTM
from graphsent.cells.recursion import State
from graphsent.cells.slots import CHILD_INDEX, edge_slots
from graphsent.cells.topdown import TopDownTreeLSTM
from graphsent.cells.validation import check_choice
from graphsent.graphs.batching import reverse
from graphsent.propagation.feats import IndexedFeat
from graphsent.propagation.untraced import untraced


class BiTreeLSTM(nn.Module):
    r"""Tree-LSTMs bottom-up and top-down over the same binary trees.

    `Head-Lexicalized Bidirectional Tree LSTMs <https://aclanthology.org/Q17-1012>`_ (Teng and
    Zhang 2017). The inputs x of both passes are the head words of the nodes, or, with
    ``lexicalized=False``, the words at leaves and zeros at inner nodes; the passes share nothing
    else. See :class:`LexicalizedTreeLSTM` and :class:`TopDownTreeLSTM` for the equations.

    With ``td_root="bu_root"`` the top-down pass does not start from nothing but from the root of
    the bottom-up pass: :math:`h = A h_{root} + a`, :math:`c = B c_{root} + b` stand for the state
    of the root's parent.

    At 300 / 150 there are 1,216,650 parameters.

    Args:
        in_feats: size of the inputs.
        hidden_feats: size of h and c of each pass.
        lexicalized: whether inner nodes have head words.
        leaf_peephole: see :class:`LexicalizedTreeLSTM`.
        td_share_input: see :class:`TopDownTreeLSTM`.
        td_root: ``"zero"`` or ``"bu_root"``.

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
        check_choice("td_root", td_root, ("zero", "bu_root"))
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
    def in_feats(self) -> int:
        """Size of the inputs."""
        return self.bottom_up.in_feats

    @property
    def hidden_feats(self) -> int:
        """Size of the states of each pass."""
        return self.bottom_up.hidden_feats

    @property
    def out_feats(self) -> int:
        """Size of a row of what the cell returns."""
        return 2 * self.hidden_feats

    def reset_parameters(self) -> None:
        """Draws matrices and biases as Glorot and Bengio do, each matrix by itself."""
        self.bottom_up.reset_parameters()
        self.top_down.reset_parameters()
        if self.td_root == "bu_root":
            glorot_(self.root_h.weight, self.root_h.bias)
            glorot_(self.root_c.weight, self.root_c.bias)

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
        """Runs both passes over a graph, which is left as it was.

        Args:
            graph: one tree, or a batch, with edges from child to parent.
            feat: inputs, (num_nodes, in_feats); only the rows of leaves are used.
            initial_state: of the bottom-up pass, as in :meth:`LexicalizedTreeLSTM.forward`.
            return_cell: return the memory cells too.
            return_head_weights: return the share of each child in its parent's head word too, by
                edge and dimension, (num_edges, in_feats).
            engine: ``"auto"`` or one of :data:`graphsent.propagation.ENGINES`.

        Returns:
            ``h`` of shape (num_nodes, 2 * hidden_feats), bottom-up before top-down, or a tuple of
            ``h``, ``c`` and the head weights, as far as they are asked for.

        Raises:
            CellError: if graph, features or initial state do not fit the cell, or there are no
                head words to weigh.
            PropagationError: if the graph has a cycle, or there is no such engine.
        """
        self.bottom_up.check_call(graph, feat)
        words = self.bottom_up.words(graph, feat, engine)
        memory = return_cell or self.td_root == "bu_root"
        up = self.bottom_up.run(graph, words, initial_state, engine=engine, memory=memory)
        turned = reverse(graph, copy_data=False)
        turned.edata[CHILD_INDEX] = edge_slots(graph)
        root_state = self._root_state(graph, up) if self.td_root == "bu_root" else None
        self.top_down.check_structure(turned)
        down = self.top_down.run(turned, words, root_state, engine=engine, memory=return_cell)
        num_parts = 2 if return_cell else 1
        pairs = zip(up[:num_parts], down[:num_parts], strict=True)
        results = [torch.cat(pair, -1) for pair in pairs]
        if return_head_weights:
            results.append(self.bottom_up.head_weights(graph, words))
        return tuple(results) if len(results) > 1 else results[0]

    def extra_repr(self) -> str:
        """The sizes, and the options that are not the default."""
        options = "" if self.td_root == "zero" else f", td_root={self.td_root!r}"
        return f"{self.in_feats}, {self.hidden_feats}{options}"

    def _root_state(self, graph: dgl.DGLGraph, up: State) -> State:
        """States before the roots, in rows of their own; zeros elsewhere."""
        roots = (graph.out_degrees() == 0).nonzero().squeeze(1).to(up[0].device)
        maps = (self.root_h, self.root_c)
        return tuple(
            torch.zeros_like(state).index_copy(0, roots, linear(state[roots]))
            for linear, state in zip(maps, up, strict=True)
        )
