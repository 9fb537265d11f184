"""Vectors of sentences, and how alike they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, overload

import numpy as np
import torch
from torch import nn

from graphsent.errors import ModelError
from graphsent.models.base.inference import evaluating, map_batches
from graphsent.models.base.raw_text import RawText

__all__ = ["Encodes"]


class Encodes(RawText, nn.Module):
    """Base of models, for the vectors that they have for sentences.

    Attributes:
        num_features: Length of a sentence's vector.
    """

    num_features: int
    node_states: Callable[[Any], torch.Tensor]
    _batch: Callable[[list[Any]], Any]
    _read: Callable[[Iterable[Any]], list[Any]]
    _shaped: Callable[[list[Any]], list[Any]]
    _size: Callable[[Any], int]

    @overload
    def encode(
        self,
        sentences: Iterable[Any] | str,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        convert_to_tensor: Literal[False] = False,
    ) -> np.ndarray: ...

    @overload
    def encode(
        self,
        sentences: Iterable[Any] | str,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        *,
        convert_to_tensor: Literal[True],
    ) -> torch.Tensor: ...

    def encode(
        self,
        sentences: Iterable[Any] | str,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        convert_to_tensor: bool = False,
    ) -> np.ndarray | torch.Tensor:
        """The vector of each sentence, in the order given.

        Names of arguments are those of sentence-transformers.

        Args:
            sentences: See :func:`~graphsent.models.batches.forms.as_trees`, or
                :func:`~graphsent.models.batches.forms.as_sentences` for a model that needs no
                trees. Of a single string the vector alone is given.
            batch_size: How many are computed at once.
            show_progress_bar: Whether there is a bar on standard error; None for one in a terminal,
                if there are several batches.
            convert_to_tensor: Give a tensor, on the CPU, in place of an array.

        Returns:
            (num_sentences, num_features) float32; of a single string (num_features,).

        Raises:
            ModelError: Something is no tree or sentence, or no tree for this model.
        """
        is_one = isinstance(sentences, str)
        trees = self.as_learned(self._read([sentences] if is_one else sentences))
        with evaluating(self) as model:
            rows = map_batches(
                trees,
                [*map(self._size, trees)],
                batch_size,
                model._vectors,
                show_progress_bar=show_progress_bar,
            )
        vectors = np.stack(rows) if rows else np.zeros((0, self.num_features), np.float32)
        vectors = vectors[0] if is_one else vectors
        return torch.from_numpy(vectors) if convert_to_tensor else vectors

    @staticmethod
    def similarity(
        embeddings1: np.ndarray | torch.Tensor, embeddings2: np.ndarray | torch.Tensor
    ) -> torch.Tensor:
        r"""The cosine of the angle between each of some vectors and each of others.

        .. math::
            s_{ij} = \frac{a_i \cdot b_j}{\|a_i\| \, \|b_j\|}

        and 0 where a vector is zero.

        Args:
            embeddings1: (n, num_features), what :meth:`encode` gives; or one vector.
            embeddings2: (m, num_features), or one vector.

        Returns:
            (n, m) float32.

        Raises:
            ModelError: They are no vectors, or of different lengths.
        """
        one, other = map(_unit_rows, (embeddings1, embeddings2))
        if one.shape[1] != other.shape[1]:
            raise ModelError(
                f"expected vectors of one length, got {one.shape[1]} and {other.shape[1]}"
            )
        return one @ other.T

    @property
    def _device(self) -> torch.device:
        return next(self.parameters()).device

    def _vectors(self, trees: list[Any]) -> np.ndarray:
        """The vectors of some sentences, (num_trees, num_features)."""
        batch = self._batch(self._shaped(trees)).sentences().to(self._device)
        return self.node_states(batch)[batch.roots].float().cpu().numpy()


def _unit_rows(vectors: Any) -> torch.Tensor:
    """Rows of length 1, or of zeros, in float32."""
    try:
        rows = vectors if isinstance(vectors, torch.Tensor) else np.array(vectors, np.float32)
    except (TypeError, ValueError):
        raise ModelError(f"expected vectors, as encode gives them, got {vectors!r:.80}") from None
    rows = torch.atleast_2d(torch.as_tensor(rows).float())
    if rows.dim() > 2:
        raise ModelError(f"expected vectors in at most two dimensions, got {rows.dim()}")
    return nn.functional.normalize(rows)
