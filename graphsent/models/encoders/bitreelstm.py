"""Bottom-up and top-down Tree-LSTMs over head words."""

from __future__ import annotations

import torch
from torch import nn

from graphsent._dgl import dgl
from graphsent._names import check_choice
from graphsent.cells import BiTreeLSTM, HeadLexicalizer, LexicalizedTreeLSTM, TopDownTreeLSTM
from graphsent.errors import ModelError
from graphsent.graphs import reverse, span_mean
from graphsent.models.batches.shape import to_binary
from graphsent.models.encoders.tree import Shape, TreeEncoder
from graphsent.propagation.feats import IndexedFeat

__all__ = ["BiTreeLSTMEncoder"]

_DIRECTIONS = ("both", "up", "down")


class BiTreeLSTMEncoder(TreeEncoder):
    r"""Encodes the nodes of binary trees in one or both directions, over head words.

    `Head-Lexicalized Bidirectional Tree LSTMs <https://aclanthology.org/Q17-1012>`_ (Teng and
    Zhang 2017). With :math:`h^\uparrow, h^\downarrow` of :class:`~graphsent.cells.BiTreeLSTM`:

    .. math::
        r_t = [h^\uparrow_t ; h^\downarrow_t ;
            \tfrac{1}{|L_t|} \textstyle\sum_{l \in L_t} h^\downarrow_l]

    where :math:`L_t` are the leaves below node :math:`t`. A single direction has only its own
    parts: :math:`h^\uparrow_t`, or
    :math:`[h^\downarrow_t ; \tfrac{1}{|L_t|} \sum_l h^\downarrow_l]`.

    Args:
        in_feats: Size of the word vectors.
        hidden: Size of the hidden state h and the cell state c in each direction.
        shape: Converts trees to binary trees.
        directions: Directions of the Tree-LSTM passes: ``"up"`` (bottom-up), ``"down"`` (top-down)
            or ``"both"``.
        lexicalized: Whether inner nodes have head words as inputs.
        leaf_peephole: Whether the output gate of the bottom-up cell has a peephole at leaves too;
            the authors' code has none there. See :class:`~graphsent.cells.LexicalizedTreeLSTM`.
        td_share_input: Whether left and right children share the input weights, output peephole and
            bias of the top-down cell, as in the authors' code. See
            :class:`~graphsent.cells.TopDownTreeLSTM`.
        td_root: Initial state of the top-down pass: ``"zero"``, or ``"bu_root"``, computed from the
            root of the bottom-up pass. See :class:`~graphsent.cells.BiTreeLSTM`.

    Raises:
        ModelError: ``directions`` is unknown, or an option has no effect with it.
    """

    edge_weight_name = "share in the parent's head word"

    def __init__(
        self,
        in_feats: int,
        hidden: int,
        shape: Shape = to_binary,
        *,
        directions: str = "both",
        lexicalized: bool = True,
        leaf_peephole: bool = False,
        td_share_input: bool = True,
        td_root: str = "zero",
    ) -> None:
        _check_options(directions, leaf_peephole, td_share_input, td_root)
        lexicalizer = None
        if directions == "both":
            cell: nn.Module = BiTreeLSTM(
                in_feats,
                hidden,
                lexicalized=lexicalized,
                leaf_peephole=leaf_peephole,
                td_share_input=td_share_input,
                td_root=td_root,
            )
        elif directions == "up":
            cell = LexicalizedTreeLSTM(
                in_feats, hidden, lexicalized=lexicalized, leaf_peephole=leaf_peephole
            )
        else:
            lexicalizer = HeadLexicalizer(in_feats) if lexicalized else None
            cell = TopDownTreeLSTM(in_feats, hidden, td_share_input=td_share_input)
        super().__init__(cell, shape=shape, both_ways=directions != "up")
        self.lexicalizer = lexicalizer  # for the top-down cell, which does not contain one
        self.directions = directions
        self.lexicalized = lexicalized
        self.hidden = hidden
        self.num_features = {"both": 3, "up": 1, "down": 2}[directions] * hidden

    def forward(
        self, graph: dgl.DGLGraph, words: torch.Tensor | IndexedFeat, *, engine: str = "auto"
    ) -> torch.Tensor:
        """:math:`r_t` of each node, (num_nodes, num_features)."""
        states = self.states(graph, words, engine=engine)
        if self.directions == "up":
            return states
        parts = states.split(self.hidden, 1)
        return torch.cat([*parts, span_mean(graph, parts[-1])], 1)

    def states(
        self, graph: dgl.DGLGraph, words: torch.Tensor | IndexedFeat, *, engine: str = "auto"
    ) -> torch.Tensor:
        """The h of each node, (num_nodes, hidden), or twice that with both directions."""
        if self.directions == "down":
            if self.lexicalizer is not None:
                words = self.lexicalizer.heads(graph, words, engine)
            graph = reverse(graph)
        return self.cell(graph, words, engine=engine)

    def edge_weights(
        self, graph: dgl.DGLGraph, words: torch.Tensor | IndexedFeat, *, engine: str = "auto"
    ) -> torch.Tensor:
        """The share of each node in its parent's head word, (num_edges,).

        It is the mean of z (left child) or 1 - z (right child) over its dimensions.

        Raises:
            ModelError: There are no head words.
        """
        if not self.lexicalized:
            raise ModelError("no head-word weights: the model is not lexicalized")
        bottom_up = self.cell.bottom_up if self.directions == "both" else self.cell
        lexicalizer = self.lexicalizer or bottom_up.lexicalizer
        heads = lexicalizer(graph, words, engine=engine)
        return lexicalizer.edge_weights(graph, heads).mean(1)


def _check_options(
    directions: str, leaf_peephole: bool, td_share_input: bool, td_root: str
) -> None:
    check_choice("directions", directions, _DIRECTIONS, ModelError)
    unused = {
        "leaf_peephole": leaf_peephole and directions == "down",
        "td_share_input": not td_share_input and directions == "up",
        "td_root": td_root != "zero" and directions != "both",
    }
    for name, is_set in unused.items():
        if is_set:
            raise ModelError(f"{name} has no effect with directions={directions!r}")
