"""Sentence embeddings and their similarity."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, overload

import numpy as np
import torch
from torch import nn

from graphsent.errors import ModelError
from graphsent.models.base.inference import evaluating, map_batches
from graphsent.models.base.raw_text import RawText
from graphsent.models.batches.forms import check_several

__all__ = ["Encodes"]


class Encodes(RawText, nn.Module):
    """Base class of models: sentence embeddings.

    Attributes:
        examples: What it learns from, see :class:`~graphsent.models.Model`.
        num_features: Size of a sentence vector.
    """

    examples: str
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
        """Computes the vector of each sentence, in the order given.

        Argument names follow sentence-transformers.

        Args:
            sentences: See :func:`~graphsent.models.batches.forms.as_trees`, or
                :func:`~graphsent.models.batches.forms.as_sentences` for a model that needs no
                trees. A single string is one sentence.
            batch_size: Number of sentences per batch.
            show_progress_bar: Whether to show a progress bar on standard error; None shows one in a
                terminal if there are several batches.
            convert_to_tensor: Whether to return a tensor on the CPU instead of an array.

        Returns:
            (num_sentences, num_features) float32; for a single string (num_features,).

        Raises:
            ModelError: An input is not a tree or sentence, or not a tree that this model can read.
        """
        is_one = isinstance(sentences, str)
        given: Iterable[Any] = [sentences] if is_one else sentences
        if self.examples == "pairs":
            check_several(given, "sentences")
            given = map(_single, given)
        trees = self.as_learned(self._read(given))
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
        r"""The cosine similarity of all pairs of vectors from two sets.

        .. math::
            s_{ij} = \frac{a_i \cdot b_j}{\|a_i\| \, \|b_j\|}

        and 0 if a vector is zero.

        Args:
            embeddings1: (n, num_features), as returned by :meth:`encode`; or one vector.
            embeddings2: (m, num_features), or one vector.

        Returns:
            (n, m) float32.

        Raises:
            ModelError: The arguments are not vectors, or have different sizes.
        """
        one, other = map(_unit_rows, (embeddings1, embeddings2))
        if one.shape[1] != other.shape[1]:
            raise ModelError(
                f"expected vectors of equal size, got {one.shape[1]} and {other.shape[1]}"
            )
        return one @ other.T

    @property
    def _device(self) -> torch.device:
        return next(self.parameters()).device

    def _sentences(self, trees: list[Any]) -> Any:
        """The batch of trees with whole sentences as its only units, on the model's device."""
        return self._batch(self._shaped(trees)).sentences().to(self._device)

    def _vectors(self, trees: list[Any]) -> np.ndarray:
        """The vectors of sentences, (num_trees, num_features)."""
        batch = self._sentences(trees)
        return self.node_states(batch)[batch.roots].float().cpu().numpy()


def _single(sentence: Any) -> Any:
    """The sentence itself; raises a ModelError for a pair, which may be read as two words."""
    is_pair = isinstance(sentence, (tuple, list)) and len(sentence) == 2
    texts = [part for part in sentence if isinstance(part, str)] if is_pair else []
    if any(len(text.split()) > 1 for text in texts):
        raise ModelError(
            f"expected a sentence, got a pair: {sentence!r:.80}: encode its sentences, and compare "
            "their vectors by similarity; predict takes pairs"
        )
    return sentence


def _unit_rows(vectors: Any) -> torch.Tensor:
    """Rows normalized to unit length (zero rows stay zero), in float32."""
    try:
        is_tensor = isinstance(vectors, torch.Tensor)
        rows = vectors if is_tensor else torch.from_numpy(np.array(vectors, np.float32))
    except (TypeError, ValueError):
        raise ModelError(f"expected vectors as returned by encode, got {vectors!r:.80}") from None
    rows = torch.atleast_2d(rows.float())
    if rows.dim() > 2:
        raise ModelError(f"expected at most two dimensions, got {rows.dim()}")
    return nn.functional.normalize(rows)
