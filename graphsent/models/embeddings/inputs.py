"""Word inputs of a model beyond a plain table of vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from graphsent._dgl import dgl
from graphsent.contextual import WordSpan
from graphsent.errors import ModelError
from graphsent.graphs import TOKEN, word_ranges
from graphsent.layers import Linear
from graphsent.models.arguments import check_sizes, check_types
from graphsent.models.batches.context import Context, context_of
from graphsent.models.embeddings.contextual import Contextual, ContextualFeatures
from graphsent.models.embeddings.table import WordEmbedding
from graphsent.propagation.feats import IndexedFeat

__all__ = ["Inputs", "WordInputs"]


@dataclass(frozen=True)
class Inputs:
    """Description of the word inputs of a model.

    Attributes:
        word_dim: Size of the vectors in the word table; 0 for no table.
        projected: Whether a learned linear map without bias projects them to the size that the
            model reads.
        contextual: The encoder whose features are concatenated to the vectors of the table; None
            for no contextual features.

    Raises:
        ModelError: A value has the wrong type or is out of range, or there is neither a table nor
            an encoder.
    """

    word_dim: int
    projected: bool = False
    contextual: Contextual | None = None

    def __post_init__(self) -> None:
        """Checks the values."""
        check_types(type(self), vars(self))
        if self.word_dim or self.contextual is None:
            check_sizes(word_dim=self.word_dim)

    @property
    def dim(self) -> int:
        """Size of a word's concatenated vectors, before projection."""
        return self.word_dim + (self.contextual.dim if self.contextual else 0)

    def to_dict(self) -> dict[str, Any]:
        """Converts the description to JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Inputs:
        """Inverse of :meth:`to_dict`.

        Raises:
            ModelError: A name is unknown or missing, or a value is invalid.
        """
        values = dict(values)
        try:
            if values.get("contextual") is not None:
                values["contextual"] = Contextual(**values["contextual"])
            return cls(**values)
        except TypeError as error:
            raise ModelError(f"wrong inputs: {str(error).partition(' ')[2]}") from None


class WordInputs(nn.Module):
    r"""Word inputs that combine a table, contextual features and a projection.

    .. math::
        y_w = P \, [x_w; f_w]

    where :math:`x_w` is the word's vector in the table and :math:`f_w` its contextual features,
    both under dropout. The table, the features and the learned map P are each optional. It has the
    methods of :class:`~graphsent.models.embeddings.table.WordEmbedding`, which it replaces.

    Args:
        inputs: The description of the inputs.
        instead: The table to replace, which determines the output size, the dropout rate and the
            number of words.

    Raises:
        ModelError: Without projection, the sizes differ.
    """

    def __init__(self, inputs: Inputs, instead: WordEmbedding) -> None:
        super().__init__()
        self.inputs = inputs
        self.embedding_dim = instead.embedding_dim
        if not inputs.projected and inputs.dim != self.embedding_dim:
            raise ModelError(
                f"expected word inputs of size {self.embedding_dim}, got {inputs.dim}: they need a "
                "projection"
            )
        rate = instead.dropout.p
        self.table: Any = None  # a WordEmbedding if there is a table
        if inputs.word_dim:
            self.table = WordEmbedding(
                instead.num_embeddings, inputs.word_dim, dropout=rate, sparse=instead.sparse
            )
        self.contextual: ContextualFeatures | None = None
        if inputs.contextual is not None:
            self.contextual = ContextualFeatures(inputs.contextual, rate)
        self.projection: nn.Module = nn.Identity()
        if inputs.projected:
            self.projection = Linear(inputs.dim, self.embedding_dim, bias=False)
            nn.init.xavier_uniform_(self.projection.weight)

    @property
    def weight(self) -> torch.Tensor | None:
        """The word table, (num_words, word_dim), if there is one."""
        return None if self.table is None else self.table.weight

    def init_vectors(self, matrix: torch.Tensor | np.ndarray) -> None:
        """Copies word vectors into the table, (num_words, word_dim).

        Raises:
            ModelError: There is no table, or the matrix has another shape.
        """
        if self.table is None:
            raise ModelError("there is no table for word vectors: all inputs are contextual")
        self.table.init_vectors(matrix)

    def read(self, spans: Iterable[WordSpan]) -> Context | None:
        """The context of words that :meth:`forward` needs besides their indices."""
        return None if self.contextual is None else self.contextual.read(list(spans))

    def forward(self, token: torch.Tensor, context: Context | None = None) -> torch.Tensor:
        """The input vectors of words, on the device of the model.

        Args:
            token: (N,) int64 on any device, vocabulary indices; -1 for no word.
            context: The result of :meth:`read` for N words.

        Returns:
            (N, embedding_dim), zeros where there is no word.

        Raises:
            ModelError: There are contextual features, but no context is given.
        """
        if self.contextual is None:
            return self.projection(self.table(token))
        if context is None:
            raise ModelError(
                "contextual features depend on the sentence: expected a context, got words only"
            )
        features = self.contextual(context)
        if self.table is not None:
            features = torch.cat((self.table(token), features), 1)
        return self.projection(features)

    def of_rows(self, rows: torch.Tensor) -> torch.Tensor:
        """The contribution of given table vectors, (N, embedding_dim), with dropout."""
        rows = self.table.of_rows(rows)
        if self.contextual is not None:
            rows = functional.pad(rows, (0, self.contextual.options.dim))
        return self.projection(rows)

    def distinct(self, token: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """See :meth:`WordEmbedding.distinct`; with contextual features no two words are equal."""
        return self.table.distinct(token) if self.contextual is None else (token, None)

    def of_nodes(self, graph: dgl.DGLGraph) -> IndexedFeat:
        """See :meth:`WordEmbedding.of_nodes`; without contextual features, rows are shared."""
        if self.contextual is None:
            feat = self.table.of_nodes(graph)
            return feat._replace(rows=self.projection(feat.rows))
        token = graph.ndata[TOKEN]
        nodes, _ = word_ranges(graph)
        index = nodes.new_full((graph.num_nodes(),), -1)
        index[nodes] = torch.arange(len(nodes), device=nodes.device)
        return IndexedFeat(self(token[nodes], context_of(graph)), index)
