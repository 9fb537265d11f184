"""The word table of a model."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from graphsent.errors import ModelError

__all__ = ["WordEmbedding"]

_BOUND = 0.05  # word vectors start in U(-bound, bound) (Tai et al. 2015)


class WordEmbedding(nn.Embedding):
    """Vectors of the words at some nodes, zero at the others.

    Args:
        num_words: Size of the vocabulary.
        dim: Length of a vector.
        dropout: Probability with which an element of a looked-up vector is dropped.
        sparse: Whether the gradient holds only the rows that were looked up, so that a step of SGD
            or AdaGrad costs and changes no others. Not every optimizer can take such gradients.
    """

    def __init__(
        self, num_words: int, dim: int, *, dropout: float = 0.0, sparse: bool = False
    ) -> None:
        super().__init__(num_words, dim, sparse=sparse)
        self.dropout = nn.Dropout(dropout)

    def reset_parameters(self) -> None:
        """Draws all vectors anew from U(-0.05, 0.05)."""
        nn.init.uniform_(self.weight, -_BOUND, _BOUND)

    def init_vectors(self, matrix: torch.Tensor | np.ndarray) -> None:
        """Copies word vectors into the table.

        Args:
            matrix: (num_words, dim), row i for word i of the vocabulary.

        Raises:
            ModelError: The matrix has another shape.
        """
        if tuple(matrix.shape) != (self.num_embeddings, self.embedding_dim):
            raise ModelError(
                f"word vectors: expected one of {self.embedding_dim} numbers for each of "
                f"{self.num_embeddings} words, got a matrix of shape {tuple(matrix.shape)}"
            )
        with torch.no_grad():
            self.weight.copy_(torch.as_tensor(matrix))

    def forward(self, token: torch.Tensor) -> torch.Tensor:
        """The vectors of words.

        Args:
            token: (N,) int64 on any device, vocabulary indices; -1 for no word.

        Returns:
            (N, dim), zero where there is no word, on the device of the table.
        """
        token = token.to(self.weight.device)
        with_word = torch.nonzero(token >= 0).squeeze(1)
        vectors = self.dropout(super().forward(token[with_word]))
        rows = vectors.new_zeros(len(token), self.embedding_dim)
        return rows.index_copy(0, with_word, vectors)
