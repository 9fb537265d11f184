"""Contextual word features from an encoder, as a part of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn

from graphsent._cache import cache_directory
from graphsent._names import check_choice
from graphsent.contextual import (
    FEATURES_REVISION,
    POOLINGS,
    Encoder,
    Features,
    FeatureStore,
    Pieces,
    WordSpan,
)
from graphsent.errors import ModelError
from graphsent.layers import Dropout
from graphsent.models.arguments import check_sizes, check_types
from graphsent.models.batches.context import Context

__all__ = ["Contextual", "ContextualFeatures"]


@dataclass(frozen=True)
class Contextual:
    """Description of the encoder of contextual features.

    Attributes:
        directory: Directory of the encoder when the model was trained.
        sha256: Digest of the encoder, see :func:`~graphsent.contextual.encoder_sha256`.
        dim: Size of a feature vector.
        pooling: How subword pieces are pooled, one of :data:`~graphsent.contextual.POOLINGS`.
        tuned: Whether the encoder is fine-tuned, and saved, with the model.

    Raises:
        ModelError: A value has the wrong type or is out of range.
    """

    directory: str
    sha256: str
    dim: int
    pooling: str = "mean"
    tuned: bool = False

    def __post_init__(self) -> None:
        """Checks the values."""
        check_types(type(self), asdict(self))
        check_sizes(dim=self.dim)
        check_choice("pooling", self.pooling, POOLINGS, ModelError)

    @classmethod
    def of(cls, encoder: Encoder, *, tuned: bool) -> Contextual:
        """The description of an encoder."""
        return cls(str(encoder.directory), encoder.sha256, encoder.dim, encoder.pooling, tuned)


class ContextualFeatures(nn.Module):
    """Contextual features of words; an encoder must be attached before use.

    Args:
        options: The description of the encoder.
        dropout: Dropout probability of the features.
    """

    _place: Tensor

    def __init__(self, options: Contextual, dropout: float) -> None:
        super().__init__()
        self.options = options
        self.dropout = Dropout(dropout)
        self.encoder: Encoder | None = None
        self.features: Features | None = None
        # Tracks the device and dtype of the module.
        self.register_buffer("_place", torch.empty(0), persistent=False)

    def attach(self, encoder: Encoder) -> None:
        """Attaches an encoder.

        If it is fine-tuned, it becomes a part of the model, with its device and precision.
        """
        self.encoder = encoder
        if self.options.tuned:
            self.network = encoder.model.to(self._place).train(self.training)
        else:
            encoder.model.eval()
            self.features = Features(encoder)

    def read(self, spans: Sequence[WordSpan]) -> Context:
        """The context of words for a batch.

        Raises:
            ModelError: No encoder is attached.
        """
        if self.encoder is None:
            raise ModelError(f"no encoder is attached: expected that of {self.options.directory}")
        return self.encoder.read(spans) if self.features is None else self.features.of(spans)

    def keep(
        self,
        sentences: Iterable[tuple[str, ...]],
        report: Callable[[int], None] | None = None,
    ) -> None:
        """Caches the features of sentences on disk, if the encoder is frozen.

        Args:
            sentences: The words of each sentence.
            report: Called with the number of sentences computed so far.

        Raises:
            NoCacheDirectory: There is no cache directory.
            OSError: The features cannot be written.
        """
        if self.features is None:
            return
        options = self.options
        name = f"{options.sha256}-{options.pooling}-{FEATURES_REVISION}"
        store = FeatureStore(cache_directory() / "features" / name, options.dim)
        self.features.keep(sentences, store, report)

    def forward(self, context: Context) -> Tensor:
        """The features of the words of a batch, (num_words, dim), with dropout."""
        context = context.to(self._place.device)
        if isinstance(context, Pieces):
            assert self.encoder is not None  # the pieces are from it
            context = self.encoder.encode(context, self.network)
        return self.dropout(context.to(self._place.dtype))
