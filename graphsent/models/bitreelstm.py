"""The head-lexicalized bidirectional Tree-LSTM classifier and its ablations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from graphsent._dgl import dgl
from graphsent._names import nearest
from graphsent.cells import BiTreeLSTM, HeadLexicalizer, LexicalizedTreeLSTM, TopDownTreeLSTM
from graphsent.cells.feats import IndexedFeat
from graphsent.cells.initialization import glorot_
from graphsent.errors import ModelError
from graphsent.graphs import reverse, span_mean
from graphsent.models.arguments import check_sizes
from graphsent.models.batches.shape import to_binary
from graphsent.models.batches.trees import TreeBatch
from graphsent.models.encoders.tree import Shape, TreeEncoder
from graphsent.models.heads.classification import TreeClassifier
from graphsent.vocabulary import Vocabulary

__all__ = ["BiTreeLSTMClassifier", "BiTreeLSTMEncoder"]


class BiTreeLSTMEncoder(TreeEncoder):
    r"""States of all nodes of binary trees, in one or both directions, over head words.

    `Head-Lexicalized Bidirectional Tree LSTMs <https://aclanthology.org/Q17-1012>`_ (Teng and
    Zhang 2017). With :math:`h^\uparrow, h^\downarrow` of :class:`~graphsent.cells.BiTreeLSTM`:

    .. math::
        r_t = [h^\uparrow_t ; h^\downarrow_t ;
            \tfrac{1}{|L_t|} \textstyle\sum_{l \in L_t} h^\downarrow_l]

    where :math:`L_t` are the leaves below node :math:`t`. A single direction has only its own
    parts: :math:`h^\uparrow_t`, or
    :math:`[h^\downarrow_t ; \tfrac{1}{|L_t|} \sum_l h^\downarrow_l]`.

    Args:
        in_feats: Length of a word vector.
        hidden: Length of h and c in each direction.
        directions: ``"both"``, ``"up"`` or ``"down"``.
        lexicalized: Whether inner nodes have head words.
        leaf_peephole: See :class:`~graphsent.cells.LexicalizedTreeLSTM`.
        td_share_input: See :class:`~graphsent.cells.TopDownTreeLSTM`.
        td_root: See :class:`~graphsent.cells.BiTreeLSTM`.
        shape: Makes trees binary.

    Raises:
        ModelError: ``directions`` is unknown, or an option is set that it leaves without meaning.
    """

    def __init__(
        self,
        in_feats: int,
        hidden: int,
        *,
        directions: str = "both",
        lexicalized: bool = True,
        leaf_peephole: bool = False,
        td_share_input: bool = True,
        td_root: str = "zero",
        shape: Shape = to_binary,
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
        self.lexicalizer = lexicalizer  # of the top-down cell, which has none of its own
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

        It is the mean over the dimensions of z (left) or 1 - z (right child).

        Raises:
            ModelError: There are no head words.
        """
        if not self.lexicalized:
            raise ModelError("there are no head words to weigh: the model is not lexicalized")
        bottom_up = self.cell.bottom_up if self.directions == "both" else self.cell
        lexicalizer = self.lexicalizer or bottom_up.lexicalizer
        heads = lexicalizer(graph, words, engine=engine)
        return lexicalizer.edge_weights(graph, heads).mean(1)


class BiTreeLSTMClassifier(TreeClassifier):
    r"""Bidirectional Tree-LSTM over head words that classifies every node.

    With :math:`r_t` of :class:`BiTreeLSTMEncoder` (Teng and Zhang 2017):

    .. math::
        s_t &= \mathrm{ReLU}(W_1 r_t + b_1) \\
        \hat p_t &= \mathrm{softmax}(W_2 s_t + b_2)

    The paper's models are

    ==================  ============================================
    BiConTree           the default
    ConTree + Lex       ``directions="up"``
    ConTree             ``directions="up", lexicalized=False``
    Top-down ConTree    ``directions="down"``
    ==================  ============================================

    At 300 / 150 / 128 and five classes the default has 1,275,023 parameters without word vectors.

    Trees are binarized if they are not binary. All weights start as Glorot and Bengio draw them.

    Args:
        vocab: The words the model knows.
        num_classes: Number of classes.
        embedding_dim: Length of a word vector.
        hidden: Length of h and c in each direction.
        readout: Length of :math:`s_t`.
        directions: See :class:`BiTreeLSTMEncoder`, as for the options up to ``td_root``.
        lexicalized: Whether inner nodes have head words.
        leaf_peephole: See :class:`~graphsent.cells.LexicalizedTreeLSTM`.
        td_share_input: See :class:`~graphsent.cells.TopDownTreeLSTM`.
        td_root: See :class:`~graphsent.cells.BiTreeLSTM`.
        embedding_dropout: Dropout on word vectors: one draw for all that a word enters.
        **options: Those of :class:`~graphsent.models.heads.classification.TreeClassifier`.

    Raises:
        ModelError: ``directions`` is unknown, or an option is set that it leaves without meaning.
    """

    name = "bitreelstm"
    training_defaults: Mapping[str, Any] = {"optimizer": "adam", "lr": 0.001, "weight_decay": 0.0}

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int,
        embedding_dim: int = 300,
        hidden: int = 150,
        readout: int = 128,
        *,
        directions: str = "both",
        lexicalized: bool = True,
        leaf_peephole: bool = False,
        td_share_input: bool = True,
        td_root: str = "zero",
        embedding_dropout: float = 0.5,
        **options: Any,
    ) -> None:
        check_sizes(hidden=hidden, readout=readout)
        super().__init__(
            vocab,
            num_classes,
            embedding_dim=embedding_dim,
            num_features=readout,
            embedding_dropout=embedding_dropout,
            **options,
        )
        self.encoder = BiTreeLSTMEncoder(
            embedding_dim,
            hidden,
            directions=directions,
            lexicalized=lexicalized,
            leaf_peephole=leaf_peephole,
            td_share_input=td_share_input,
            td_root=td_root,
        )
        self.readout = nn.Linear(self.encoder.num_features, readout)
        glorot_(self.readout.weight, self.readout.bias)
        glorot_(self.output.weight, self.output.bias)

    def node_states(self, batch: TreeBatch) -> torch.Tensor:
        """:math:`s_t` of each node, (num_nodes, readout)."""
        return torch.relu(self.readout(super().node_states(batch)))


def _check_options(
    directions: str, leaf_peephole: bool, td_share_input: bool, td_root: str
) -> None:
    if directions not in ("both", "up", "down"):
        hint = nearest(directions, ("both", "up", "down"))
        raise ModelError(
            f"unknown directions {directions!r}: expected 'both', 'up' or 'down'{hint}"
        )
    unused = {
        "leaf_peephole": leaf_peephole and directions == "down",
        "td_share_input": not td_share_input and directions == "up",
        "td_root": td_root != "zero" and directions != "both",
    }
    for name, is_set in unused.items():
        if is_set:
            raise ModelError(f"{name} means nothing with directions={directions!r}")
