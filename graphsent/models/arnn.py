"""The attentive recursive network over dependency trees, and its baselines without attention."""

from __future__ import annotations

from typing import Any

import torch

from graphsent._names import check_choice
from graphsent.errors import ModelError
from graphsent.models.arguments import check_sizes
from graphsent.models.batches.pairs import PairBatch
from graphsent.models.batches.trees import TreeBatch
from graphsent.models.encoders.arnn import ARNNEncoder
from graphsent.models.heads.classification import TreeClassifier
from graphsent.models.heads.relatedness import TreeRelatednessModel
from graphsent.vocabulary import Vocabulary

__all__ = ["ARNNClassifier", "ARNNRelatedness"]


class ARNNClassifier(TreeClassifier):
    r"""Attentive Tree-LSTM or Tree-GRU over dependency trees that classifies every node.

    *An Attention-based Recursive Neural Network for Semantic Representation* (Zhou, Liu and Pan):

    .. math::
        \hat p_t = \mathrm{softmax}(W h_t + b)

    where :math:`h_t` is the state of :class:`~graphsent.models.ARNNEncoder`, under dropout.
    Constituency trees are supported as well; words then enter at the leaves.

    Args:
        vocab: The vocabulary; unknown words share the vector of ``<unk>``.
        num_classes: Number of classes.
        embedding_dim: Size of the word vectors.
        hidden: Size of the hidden state h.
        dropout: Dropout probability of the node states :math:`h_t`.
        **options: Options of the encoder and of
            :class:`~graphsent.models.heads.classification.TreeClassifier`.
    """

    name = "arnn"
    encoder_class = ARNNEncoder
    tree_kind = "dependency"

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int,
        embedding_dim: int = 300,
        hidden: int = 150,
        *,
        dropout: float = 0.5,
        **options: Any,
    ) -> None:
        check_sizes(hidden=hidden)
        of_encoder = self._encoder_options(options)
        super().__init__(
            vocab,
            num_classes,
            embedding_dim=embedding_dim,
            num_features=hidden,
            dropout=dropout,
            **options,
        )
        self.encoder = ARNNEncoder(embedding_dim, hidden, **of_encoder)


class ARNNRelatedness(TreeRelatednessModel):
    """Sentence relatedness by attentive Tree-LSTMs or Tree-GRUs over dependency trees.

    *An Attention-based Recursive Neural Network for Semantic Representation* (Zhou, Liu and Pan).
    The vector of a sentence is the root's h in :class:`~graphsent.models.ARNNEncoder`. Attending by
    the other sentence is from `Modelling Sentence Pairs with Tree-structured Attentive Encoder
    <https://aclanthology.org/C16-1274>`_.

    Args:
        vocab: The vocabulary; unknown words share the vector of ``<unk>``.
        num_classes: The highest score, or the number of classes; see
            :class:`~graphsent.models.heads.relatedness.RelatednessModel`.
        embedding_dim: Size of the word vectors.
        hidden: Size of the hidden state h.
        comparison: Size of the hidden layer of the comparison head.
        attend_by: The attention vector of a sentence with dynamic attention: ``"own"``, computed
            from the sentence itself, or ``"other"``, from the other sentence of the pair.
        gate_output: Whether the LSTM has an output gate. It has none by default, as in the authors'
            code and that of Tai et al. 2015 for this task. No effect on the GRU.
        **options: Options of the encoder and of
            :class:`~graphsent.models.heads.relatedness.RelatednessModel`.

    Raises:
        ModelError: ``attend_by`` is unknown, or ``"other"`` without dynamic attention.
    """

    name = "arnn-relatedness"
    encoder: ARNNEncoder
    encoder_class = ARNNEncoder

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int = 5,
        embedding_dim: int = 300,
        hidden: int = 150,
        comparison: int = 50,
        *,
        attend_by: str = "own",
        gate_output: bool = False,
        **options: Any,
    ) -> None:
        check_sizes(hidden=hidden)
        of_encoder = self._encoder_options(options)
        super().__init__(
            vocab,
            num_classes,
            embedding_dim=embedding_dim,
            num_features=hidden,
            comparison=comparison,
            **options,
        )
        check_choice("attend_by", attend_by, ("own", "other"), ModelError)
        gate_output = gate_output or of_encoder.get("cell") == "gru"
        self.attend_by = attend_by
        self.encoder = ARNNEncoder(embedding_dim, hidden, gate_output=gate_output, **of_encoder)
        if attend_by == "other" and self.encoder.sequence is None:
            raise ModelError("attend_by='other' needs attention='dynamic'")

    def node_states(self, batch: TreeBatch) -> torch.Tensor:
        """The h of each node, (num_nodes, hidden).

        Raises:
            ModelError: Sentences attend by the other sentence of a pair, and there are no pairs.
        """
        if self.attend_by == "other":
            raise ModelError(
                "with attend_by='other' the vector of a sentence depends on the other sentence of "
                "the pair: expected pairs, got single sentences"
            )
        return super().node_states(batch)

    def pair_states(self, batch: PairBatch) -> torch.Tensor:
        """The h of each root, (2 * num_pairs, hidden): all first sentences, then all second."""
        if self.attend_by == "own":
            return super().pair_states(batch)
        sentences: Any = batch.sentences  # of trees
        graph = sentences.graph
        words = self.embedding.of_nodes(graph)
        first, second = self.encoder.queries(graph, words).chunk(2)
        states = self.encoder(graph, words, torch.cat([second, first]), engine=self.engine)
        return states[sentences.roots]
