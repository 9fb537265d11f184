"""What stands for words at the entrance of a model, beyond a plain table of vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from graphsent.cells.feats import IndexedFeat
from graphsent.errors import ModelError
from graphsent.models.arguments import check_sizes, check_types
from graphsent.models.embedding import WordEmbedding

__all__ = ["Inputs", "WordInputs"]


@dataclass(frozen=True)
class Inputs:
    """What a model computes the rows from that it reads of words.

    Attributes:
        word_dim: Length of the vectors in the word table.
        projected: Whether a learned linear map, without bias, makes of them the vectors that the
            model reads; if not, they are these.

    Raises:
        ModelError: A value is of another type or out of range.
    """

    word_dim: int
    projected: bool = False

    def __post_init__(self) -> None:
        """Checks the values."""
        check_types(type(self).__init__, asdict(self))
        check_sizes(word_dim=self.word_dim)

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Inputs:
        """Inverse of :meth:`to_dict`.

        Raises:
            ModelError: A name is unknown or missing, or a value is no such one.
        """
        try:
            return cls(**values)
        except TypeError as error:
            raise ModelError(f"wrong inputs: {str(error).partition(' ')[2]}") from None


class WordInputs(nn.Module):
    r"""Vectors of words, and a learned linear map of them to the length that a model reads.

    .. math::
        y_w = P x_w

    with dropout on :math:`x_w`. It has the methods of
    :class:`~graphsent.models.embedding.WordEmbedding` and takes its place.

    Args:
        inputs: What there is.
        instead: The table that it is to replace: it has the length that the model reads, dropout
            and the number of words.

    Raises:
        ModelError: Without projection the lengths are not the same.
    """

    def __init__(self, inputs: Inputs, instead: WordEmbedding) -> None:
        super().__init__()
        self.embedding_dim = instead.embedding_dim
        self.table = WordEmbedding(
            instead.num_embeddings,
            inputs.word_dim,
            dropout=instead.dropout.p,
            sparse=instead.sparse,
        )
        self.table.weight.requires_grad_(instead.weight.requires_grad)
        if not inputs.projected and inputs.word_dim != self.embedding_dim:
            raise ModelError(
                f"word vectors of length {inputs.word_dim} for a model that reads "
                f"{self.embedding_dim}: they need a projection"
            )
        self.projection: nn.Module = nn.Identity()
        if inputs.projected:
            self.projection = nn.Linear(inputs.word_dim, self.embedding_dim, bias=False)
            nn.init.xavier_uniform_(self.projection.weight)

    @property
    def weight(self) -> nn.Parameter:
        """The word table, (num_words, word_dim)."""
        return self.table.weight

    @property
    def dropout(self) -> nn.Module:
        """Dropout on what is looked up."""
        return self.table.dropout

    def init_vectors(self, matrix: torch.Tensor | np.ndarray) -> None:
        """Copies word vectors into the table, (num_words, word_dim)."""
        self.table.init_vectors(matrix)

    def forward(self, token: torch.Tensor) -> torch.Tensor:
        """What stands for words, (N, embedding_dim), by vocabulary index; zero for -1."""
        return self.projection(self.table(token))

    def of_rows(self, rows: torch.Tensor) -> torch.Tensor:
        """What stands for words with such vectors in a table, (N, embedding_dim)."""
        return self.projection(self.dropout(rows))

    def distinct(self, token: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """See :meth:`WordEmbedding.distinct`."""
        return self.table.distinct(token)

    def indexed(self, token: torch.Tensor) -> IndexedFeat:
        """See :meth:`WordEmbedding.indexed`; a row of it is mapped once."""
        feat = self.table.indexed(token)
        return feat._replace(rows=self.projection(feat.rows))
