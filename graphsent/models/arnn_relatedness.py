"""The attentive recursive network as a model of relatedness."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from graphsent._dgl import dgl
from graphsent._names import nearest
from graphsent.errors import ModelError
from graphsent.models.arguments import check_sizes
from graphsent.models.arnn import ARNNEncoder
from graphsent.models.batches.pairs import PairBatch
from graphsent.models.heads.relatedness import TreeRelatednessModel
from graphsent.vocabulary import Vocabulary

__all__ = ["ARNNRelatedness"]


class ARNNRelatedness(TreeRelatednessModel):
    """Relatedness by attentive Tree-LSTMs or Tree-GRUs over dependency trees.

    *An Attention-based Recursive Neural Network for Semantic Representation* (Zhou, Liu and Pan).
    The vector of a sentence is the h of its root in :class:`~graphsent.models.arnn.ARNNEncoder`.

    Args:
        vocab: The words the model knows.
        num_classes: The highest score, or the number of classes; see
            :class:`~graphsent.models.heads.relatedness.RelatednessModel`.
        embedding_dim: Length of a word vector.
        hidden: Length of h.
        comparison: Length of the hidden layer of the head.
        cell: ``"lstm"`` or ``"gru"``.
        attention: As in :class:`~graphsent.models.arnn.ARNNClassifier`.
        attend_by: With dynamic attention: ``"own"``, every sentence attends by its own vector, or
            ``"other"``, by that of the other sentence, as in `Modelling Sentence Pairs with
            Tree-structured Attentive Encoder <https://aclanthology.org/C16-1274>`_.
        memory: See :class:`~graphsent.cells.AttentiveTreeLSTM`.
        gate_output: Whether the LSTM has an output gate. By default it has none, as in the authors'
            code and that of Tai et al. 2015 for this task; the GRU is the same either way.
        reset: See :class:`~graphsent.cells.AttentiveTreeGRU`.
        dropout: Dropout on the vectors of the sentences.
        embedding_dropout: Dropout on word vectors.
        sparse_embedding: Whether the gradient of the word table holds only the rows in use.
        label_names: Names of the scores or classes.
        goal: ``"regression"`` for scores, or ``"classification"``.

    Raises:
        ModelError: Cell, attention or ``attend_by`` is unknown, or an option is set that the cell
            or the attention does not have.
    """

    name = "arnn-relatedness"

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int = 5,
        embedding_dim: int = 300,
        hidden: int = 150,
        comparison: int = 50,
        *,
        cell: str = "lstm",
        attention: str = "static",
        attend_by: str = "own",
        memory: str = "per_child",
        gate_output: bool = False,
        reset: str = "per_child",
        dropout: float = 0.0,
        embedding_dropout: float = 0.0,
        sparse_embedding: bool = False,
        label_names: Sequence[str] | None = None,
        goal: str = "regression",
    ) -> None:
        check_sizes(hidden=hidden)
        super().__init__(
            vocab,
            num_classes,
            goal=goal,
            embedding_dim=embedding_dim,
            num_features=hidden,
            comparison=comparison,
            dropout=dropout,
            embedding_dropout=embedding_dropout,
            sparse_embedding=sparse_embedding,
            label_names=label_names,
        )
        if attend_by not in ("own", "other"):
            hint = nearest(attend_by, ("own", "other"))
            raise ModelError(f"unknown attend_by {attend_by!r}: expected 'own' or 'other'{hint}")
        if attend_by == "other" and attention != "dynamic":
            raise ModelError("attend_by='other' needs attention='dynamic'")
        self.attend_by = attend_by
        self.encoder = ARNNEncoder(
            embedding_dim,
            hidden,
            cell=cell,
            attention=attention,
            memory=memory,
            gate_output=gate_output or cell == "gru",
            reset=reset,
        )

    def sentence_states(self, graph: dgl.DGLGraph, roots: torch.Tensor) -> torch.Tensor:
        """The h of each root, (num_sentences, hidden).

        Raises:
            ModelError: Sentences attend by others, of which there are none here.
        """
        if self.attend_by == "other":
            raise ModelError(
                "with attend_by='other' a sentence has no vector of its own: it depends on the "
                "other sentence of a pair"
            )
        words = self.embedding.of_nodes(graph)
        return self.encoder(graph, words, engine=self.engine)[roots]

    def pair_states(self, batch: PairBatch) -> torch.Tensor:
        """The h of each root, (2 * num_pairs, hidden): all first sentences, then all second."""
        if self.attend_by == "own":
            return super().pair_states(batch)
        graph, roots = batch.graph, batch.sentences.flatten()
        words = self.embedding.of_nodes(graph)
        first, second = self.encoder.queries(graph, words).chunk(2)
        return self.encoder(graph, words, torch.cat([second, first]), self.engine)[roots]
