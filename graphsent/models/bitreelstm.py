"""The head-lexicalized bidirectional Tree-LSTM classifier and its ablations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from graphsent._dgl import dgl
from graphsent._names import nearest
from graphsent.cells import BiTreeLSTM, HeadLexicalizer, LexicalizedTreeLSTM, TopDownTreeLSTM
from graphsent.cells.initialization import glorot_
from graphsent.errors import ModelError
from graphsent.graphs import reverse, span_mean
from graphsent.models.arguments import check_sizes
from graphsent.models.base.inference import evaluating
from graphsent.models.batches.shape import to_binary
from graphsent.models.batches.trees import TreeBatch
from graphsent.models.heads.classification import TreeClassifier
from graphsent.models.heads.edge_weights import weights_of_edges
from graphsent.trees import DependencyTree, Tree
from graphsent.vocabulary import Vocabulary

__all__ = ["BiTreeLSTMClassifier"]


class BiTreeLSTMClassifier(TreeClassifier):
    r"""Bidirectional Tree-LSTM over head words that classifies every node.

    `Head-Lexicalized Bidirectional Tree LSTMs <https://aclanthology.org/Q17-1012>`_ (Teng and
    Zhang 2017). With :math:`h^\uparrow, h^\downarrow` of :class:`~graphsent.cells.BiTreeLSTM`:

    .. math::
        r_t &= [h^\uparrow_t ; h^\downarrow_t ;
            \tfrac{1}{|L_t|} \textstyle\sum_{l \in L_t} h^\downarrow_l] \\
        s_t &= \mathrm{ReLU}(W_1 r_t + b_1) \\
        \hat p_t &= \mathrm{softmax}(W_2 s_t + b_2)

    where :math:`L_t` are the leaves below node :math:`t`. The paper's models are

    ==================  ============================================
    BiConTree           the default
    ConTree + Lex       ``directions="up"``
    ConTree             ``directions="up", lexicalized=False``
    Top-down ConTree    ``directions="down"``
    ==================  ============================================

    A single direction has only its own parts of :math:`r_t`: :math:`h^\uparrow_t`, or
    :math:`[h^\downarrow_t ; \tfrac{1}{|L_t|} \sum_l h^\downarrow_l]`. At 300 / 150 / 128 and five
    classes the default has 1,275,023 parameters without word vectors.

    Trees are binarized if they are not binary. All weights start as Glorot and Bengio draw them.

    Args:
        vocab: The words the model knows.
        num_classes: Number of classes.
        embedding_dim: Length of a word vector.
        hidden: Length of h and c in each direction.
        readout: Length of :math:`s_t`.
        directions: ``"both"``, ``"up"`` or ``"down"``.
        lexicalized: Whether inner nodes have head words.
        leaf_peephole: See :class:`~graphsent.cells.LexicalizedTreeLSTM`.
        td_share_input: See :class:`~graphsent.cells.TopDownTreeLSTM`.
        td_root: See :class:`~graphsent.cells.BiTreeLSTM`.
        dropout: Dropout on :math:`s_t`.
        embedding_dropout: Dropout on word vectors: one draw for all that a word enters.
        sparse_embedding: Whether the gradient of the word table holds only the rows in use.
        label_names: Names of the classes; by default their numbers.

    Raises:
        ModelError: ``directions`` is unknown, or an option is set that it leaves without meaning.
    """

    name = "bitreelstm"
    both_ways = True
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
        dropout: float = 0.0,
        embedding_dropout: float = 0.5,
        sparse_embedding: bool = False,
        label_names: Sequence[str] | None = None,
    ) -> None:
        check_sizes(hidden=hidden, readout=readout)
        super().__init__(
            vocab,
            num_classes,
            embedding_dim=embedding_dim,
            num_features=readout,
            dropout=dropout,
            embedding_dropout=embedding_dropout,
            sparse_embedding=sparse_embedding,
            label_names=label_names,
        )
        _check_options(directions, leaf_peephole, td_share_input, td_root)
        self.lexicalized = lexicalized
        self.hidden = hidden
        self.directions = directions
        if directions == "both":
            self.cell: nn.Module = BiTreeLSTM(
                embedding_dim,
                hidden,
                lexicalized=lexicalized,
                leaf_peephole=leaf_peephole,
                td_share_input=td_share_input,
                td_root=td_root,
            )
        elif directions == "up":
            self.cell = LexicalizedTreeLSTM(
                embedding_dim, hidden, lexicalized=lexicalized, leaf_peephole=leaf_peephole
            )
        else:
            self.lexicalizer = HeadLexicalizer(embedding_dim) if lexicalized else None
            self.cell = TopDownTreeLSTM(embedding_dim, hidden, td_share_input=td_share_input)
        num_parts = {"both": 3, "up": 1, "down": 2}[directions]
        self.readout = nn.Linear(num_parts * hidden, readout)
        glorot_(self.readout.weight, self.readout.bias)
        glorot_(self.output.weight, self.output.bias)

    def shape_tree(self, tree: Tree | DependencyTree) -> Tree:
        """A binary tree."""
        return to_binary(tree)

    def node_states(self, batch: TreeBatch) -> torch.Tensor:
        """:math:`s_t` of each node, (num_nodes, readout)."""
        states = self._states(batch.graph)
        if self.directions != "up":
            parts = states.split(self.hidden, 1)
            states = torch.cat([*parts, span_mean(batch.graph, parts[-1])], 1)
        return torch.relu(self.readout(states))

    def edge_weights(self, trees: Iterable[Any], batch_size: int = 64) -> list[np.ndarray]:
        """The share of each node in its parent's head word.

        Args:
            trees: See :func:`~graphsent.models.batches.forms.as_trees`.
            batch_size: How many trees are computed at once.

        Returns:
            For each tree the mean over the dimensions of z (left) or 1 - z (right child), for the
            edges of ``model.shape_tree(tree)``: one for each node but the root, in node order.

        Raises:
            ModelError: There are no head words, or something is no tree for this model.
        """
        if not self.lexicalized:
            raise ModelError("there are no head words to weigh: the model is not lexicalized")
        with evaluating(self) as model:
            return weights_of_edges(model, trees, batch_size, model._head_weights)

    def _states(self, graph: dgl.DGLGraph) -> torch.Tensor:
        """The states of both directions, or of one, side by side."""
        words = self.embedding.of_nodes(graph)
        if self.directions != "down":
            return self.cell(graph, words, engine=self.engine)
        if self.lexicalizer is not None:
            words = self.lexicalizer.heads(graph, words, self.engine)
        return self.cell(reverse(graph), words, engine=self.engine)

    def _head_weights(self, graph: dgl.DGLGraph) -> torch.Tensor:
        lexicalizer = {
            "both": lambda: self.cell.bottom_up.lexicalizer,
            "up": lambda: self.cell.lexicalizer,
            "down": lambda: self.lexicalizer,
        }[self.directions]()
        words = self.embedding.of_nodes(graph)
        heads = lexicalizer(graph, words, engine=self.engine)
        return lexicalizer.edge_weights(graph, heads).mean(1)


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
