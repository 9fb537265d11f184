"""The TreeNet classifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphsent.cells import TreeNet
from graphsent.graphs import SIBLING
from graphsent.models.arguments import check_sizes
from graphsent.models.batches.shape import without_chains
from graphsent.models.encoders.tree import TreeEncoder
from graphsent.models.heads.classification import TreeClassifier
from graphsent.vocabulary import Vocabulary

__all__ = ["TreeNetClassifier"]


class TreeNetClassifier(TreeClassifier):
    r"""TreeNet over trees with any number of children (Cheng et al., IJCAI 2018).

    .. math::
        \hat p_t = \mathrm{softmax}(W h_t + b)

    with :math:`h` of :class:`~graphsent.cells.TreeNet`. In the paper only the root is classified;
    here labelled phrases are classified in the same way. Unary chains are collapsed first, so that
    every node has two children or more, or a token (section 4.1 of the paper). With sizes 300 / 100
    and two classes there are 150,802 parameters without word vectors.

    It reads constituency trees, and dependency trees as the phrases they imply (see
    :func:`~graphsent.graphs.dependency_batch`).

    Args:
        vocab: The vocabulary; unknown words share the vector of ``<unk>``.
        num_classes: Number of classes.
        embedding_dim: Size of the word vectors; in the paper 300 if pre-trained, 100 otherwise.
        hidden: Size of the hidden state h and the cell state c; in the paper 100 with pre-trained
            word vectors, 50 otherwise.
        **options: Options of :class:`~graphsent.models.heads.classification.TreeClassifier`.
    """

    name = "treenet"
    training_defaults: Mapping[str, Any] = {"optimizer": "adam", "lr": 0.001, "weight_decay": 0.0}

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int,
        embedding_dim: int = 300,
        hidden: int = 100,
        **options: Any,
    ) -> None:
        check_sizes(hidden=hidden)
        super().__init__(
            vocab,
            num_classes,
            embedding_dim=embedding_dim,
            num_features=hidden,
            **options,
        )
        cell = TreeNet(embedding_dim, hidden)
        self.encoder = TreeEncoder(cell, shape=without_chains, direction=SIBLING)
