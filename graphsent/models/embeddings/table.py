"""The table of word vectors of a model."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import nn

from graphsent._dgl import dgl
from graphsent.contextual import WordSpan
from graphsent.errors import ModelError
from graphsent.graphs import TOKEN
from graphsent.layers import Dropout
from graphsent.propagation.feats import IndexedFeat
from graphsent.propagation.schedule.schedule import to_device
from graphsent.propagation.untraced import untraced

__all__ = ["WordEmbedding"]

_BOUND = 0.05  # word vectors start in U(-bound, bound) (Tai et al. 2015)


class WordEmbedding(nn.Embedding):
    """Embedding of words, zero at nodes without a word.

    Args:
        num_words: Size of the vocabulary.
        dim: Size of the word vectors.
        dropout: Dropout probability of the vectors that are looked up.
        sparse: Whether gradients are sparse, so that a step of SGD or AdaGrad only touches the rows
            that were looked up. Not every optimizer supports sparse gradients.
    """

    def __init__(
        self, num_words: int, dim: int, *, dropout: float = 0.0, sparse: bool = False
    ) -> None:
        super().__init__(num_words, dim, sparse=sparse)
        self.dropout = Dropout(dropout)

    def reset_parameters(self) -> None:
        """Reinitializes all vectors from U(-0.05, 0.05)."""
        nn.init.uniform_(self.weight, -_BOUND, _BOUND)

    def init_vectors(self, matrix: torch.Tensor | np.ndarray) -> None:
        """Copies word vectors into the table.

        Args:
            matrix: (num_words, dim), row i for word i of the vocabulary.

        Raises:
            ModelError: The matrix has the wrong shape.
        """
        if tuple(matrix.shape) != (self.num_embeddings, self.embedding_dim):
            raise ModelError(
                f"word vectors: expected shape {(self.num_embeddings, self.embedding_dim)}, one "
                f"row per word, got {tuple(matrix.shape)}"
            )
        with torch.no_grad():
            self.weight.copy_(torch.as_tensor(matrix))

    def read(self, spans: Iterable[WordSpan]) -> None:
        """The context of words that :meth:`forward` needs besides their indices: none."""

    def forward(self, token: torch.Tensor, context: None = None) -> torch.Tensor:
        """The vectors of words.

        Args:
            token: (N,) int64 on any device, vocabulary indices; -1 for no word.
            context: Not used.

        Returns:
            (N, dim), zeros where there is no word, on the device of the table.
        """
        if token.is_cpu:
            with_word = torch.nonzero(token >= 0).squeeze(1)
            if len(with_word) == len(token):
                return self._look_up(token)
            vectors = self._look_up(token[with_word])
            rows = vectors.new_zeros(len(token), self.embedding_dim)
            return rows.index_copy(0, to_device(with_word, rows.device), vectors)
        # Without indexing by a mask, the host need not synchronize with the device.
        return self._look_up(token.clamp(min=0)).masked_fill((token < 0).unsqueeze(1), 0)

    def of_rows(self, rows: torch.Tensor) -> torch.Tensor:
        """The input vectors of words with the given table vectors, (N, dim): with dropout."""
        return self.dropout(rows)

    def distinct(self, token: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The distinct words, unless each occurrence has its own dropout mask.

        Args:
            token: (num_words,) int64, vocabulary indices.

        Returns:
            The distinct words, and the index of each word among them, (num_words,) int64; or all
            words and None. The latter also on a GPU, where deduplication would force a
            synchronization.
        """
        if self._drops() or not token.is_cpu:
            return token, None
        return self._distinct(token)

    def of_nodes(self, graph: dgl.DGLGraph) -> IndexedFeat:
        """The input vectors of the words in a batch of trees, by node; see :meth:`indexed`."""
        return self.indexed(graph.ndata[TOKEN])

    def indexed(self, token: torch.Tensor) -> IndexedFeat:
        """The vectors of the words at nodes; one row per distinct word unless dropout is active.

        Args:
            token: (num_nodes,) int64 on the CPU, vocabulary indices; -1 for no word.

        Returns:
            The rows of :meth:`forward`, per distinct word or, with dropout, per occurrence.
        """
        words, index = self._by_occurrence(token) if self._drops() else self._distinct(token)
        return IndexedFeat(self(words), index)  # not _look_up: the table may be pruned, by a hook

    def _look_up(self, words: torch.Tensor) -> torch.Tensor:
        rows = super().forward(to_device(words, self.weight.device))
        return self.dropout(rows) if self._drops() else rows

    def _drops(self) -> bool:
        """Whether dropout is active; it may be switched on separately, to draw samples."""
        dropout = self.dropout
        return dropout.training and dropout.p > 0

    def _by_occurrence(self, token: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        tokens = token.numpy()
        with_word = np.flatnonzero(tokens >= 0)
        index = np.full(len(tokens), -1, np.int64)
        index[with_word] = np.arange(len(with_word))
        return torch.from_numpy(tokens[with_word]), torch.from_numpy(index)

    @untraced
    def _distinct(self, token: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Each word once, in the order of last occurrences; the index of each token, or -1."""
        tokens = token.long().numpy()
        with_word = np.flatnonzero(tokens >= 0)
        words = tokens[with_word]
        occurrence = np.arange(len(words))
        last = np.empty(self.num_embeddings, np.int64)  # only written entries are read
        last[words] = occurrence
        last = last[words]
        chosen = last == occurrence
        index = np.full(len(tokens), -1, np.int64)
        index[with_word] = (np.cumsum(chosen) - 1)[last]
        return torch.from_numpy(words[chosen]), torch.from_numpy(index)
