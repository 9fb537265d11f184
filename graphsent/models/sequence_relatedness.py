"""Sequential baselines as models of relatedness."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from graphsent._dgl import dgl
from graphsent.graphs import word_ranges
from graphsent.layers import SequenceEncoder
from graphsent.models.arguments import check_sizes
from graphsent.models.relatedness import RelatednessModel
from graphsent.vocabulary import Vocabulary

__all__ = ["SequenceRelatedness"]


class SequenceRelatedness(RelatednessModel):
    """Relatedness by an LSTM or GRU over the words: the paper's sequential baselines.

    Args:
        vocab: The words the model knows.
        num_classes: The highest score, or the number of classes; see
            :class:`~graphsent.models.relatedness.RelatednessModel`.
        embedding_dim: Length of a word vector.
        hidden: Length of the state of each direction.
        comparison: Length of the hidden layer of the head.
        cell: ``"lstm"`` or ``"gru"``.
        bidirectional: See :class:`~graphsent.layers.SequenceEncoder`.
        dropout: Dropout on the vectors of the sentences.
        embedding_dropout: Dropout on word vectors.
        sparse_embedding: Whether the gradient of the word table holds only the rows in use.
        label_names: Names of the scores or classes.
        goal: ``"regression"`` for scores, or ``"classification"``.

    Raises:
        ModelError: There is no such cell.
    """

    name = "sequence-relatedness"

    def __init__(
        self,
        vocab: Vocabulary,
        num_classes: int = 5,
        embedding_dim: int = 300,
        hidden: int = 150,
        comparison: int = 50,
        *,
        cell: str = "lstm",
        bidirectional: bool = False,
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
            num_features=2 * hidden if bidirectional else hidden,
            comparison=comparison,
            dropout=dropout,
            embedding_dropout=embedding_dropout,
            sparse_embedding=sparse_embedding,
            label_names=label_names,
        )
        self.encoder = SequenceEncoder(
            embedding_dim, hidden, cell=cell, bidirectional=bidirectional
        )

    def sentence_states(self, graph: dgl.DGLGraph, roots: torch.Tensor) -> torch.Tensor:
        """The last state of each sentence, (num_sentences, hidden), or twice that."""
        nodes, ranges = word_ranges(graph)
        words = self.embedding.of_nodes(graph)
        return self.encoder(words.rows, ranges.to(words.device)[roots], words.index[nodes])
