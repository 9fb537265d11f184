"""Features of words from an encoder that reads their sentence, as a part of a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from torch import Tensor, nn

from graphsent._cache import cache_directory
from graphsent._names import unknown
from graphsent.contextual import (
    POOLINGS,
    Encoder,
    Features,
    FeatureStore,
    Pieces,
    WordSpan,
    encoder_sha256,
    load_encoder,
)
from graphsent.errors import FailedError, ModelError
from graphsent.layers import Dropout
from graphsent.models.arguments import check_sizes, check_types
from graphsent.models.base.storage import ENCODER_DIRECTORY

__all__ = ["Context", "Contextual", "ContextualFeatures", "find_encoder"]

# What a batch carries for its words: their features, (num_words, dim) float32, if the encoder stays
# as it is; otherwise the pieces that it is to read.
Context = Tensor | Pieces


@dataclass(frozen=True)
class Contextual:
    """Which encoder gives the features.

    Attributes:
        directory: Where it was when the model was trained.
        sha256: See :func:`~graphsent.contextual.encoder_sha256`.
        dim: Length of a feature vector.
        pooling: One of :data:`~graphsent.contextual.POOLINGS`.
        tuned: Whether it is trained, and saved, with the model.

    Raises:
        ModelError: A value is of another type or out of range.
    """

    directory: str
    sha256: str
    dim: int
    pooling: str = "mean"
    tuned: bool = False

    def __post_init__(self) -> None:
        """Checks the values."""
        check_types(type(self).__init__, asdict(self))
        check_sizes(dim=self.dim)
        if self.pooling not in POOLINGS:
            raise ModelError(unknown("pooling", self.pooling, POOLINGS))

    @classmethod
    def of(cls, encoder: Encoder, *, tuned: bool) -> Contextual:
        """What there is to say of an encoder."""
        return cls(str(encoder.directory), encoder.sha256, encoder.dim, encoder.pooling, tuned)


def find_encoder(
    contextual: Contextual,
    model: str | os.PathLike[str],
    given: str | os.PathLike[str] | None = None,
) -> Encoder:
    """The encoder of a saved model.

    Args:
        contextual: Which one it is.
        model: The directory of the model, which holds the encoder if it was tuned.
        given: Where it is now, if it is frozen and not where it was.

    Raises:
        ModelError: It is not there, or another one.
    """
    if contextual.tuned:
        if given is not None:
            raise ModelError(f"{model}: its encoder was tuned and is a part of it: no other fits")
        return load_encoder(Path(model) / ENCODER_DIRECTORY, contextual.pooling)
    directory = given or contextual.directory
    hint = "say where it is now (--encoder DIR)"
    if not os.path.isdir(directory):
        raise ModelError(f"{model}: the encoder of the model is not in {directory}: {hint}")
    found = encoder_sha256(directory)
    if found != contextual.sha256:
        raise ModelError(
            f"{model}: the encoder in {directory} is not that of the model: its SHA-256 is "
            f"{found[:8]}..., expected {contextual.sha256[:8]}...: {hint}"
        )
    return load_encoder(directory, contextual.pooling)


class ContextualFeatures(nn.Module):
    """The features of words; an encoder has to be attached before there are any.

    Args:
        options: Which encoder it is.
        dropout: Probability with which an element of a feature vector is dropped.
    """

    def __init__(self, options: Contextual, dropout: float) -> None:
        super().__init__()
        self.options = options
        self.dropout = Dropout(dropout)
        self.encoder: Encoder | None = None
        self.features: Features | None = None

    def attach(self, encoder: Encoder) -> None:
        """Takes an encoder, which becomes a part of the model if it is tuned with it."""
        self.encoder = encoder
        if self.options.tuned:
            self.network = encoder.model.train(self.training)
        else:
            encoder.model.eval()
            self.features = Features(encoder)

    def read(self, spans: Sequence[WordSpan]) -> Context:
        """What a batch carries for its words.

        Raises:
            ModelError: There is no encoder.
        """
        if self.encoder is None:
            raise ModelError(f"no encoder is attached: expected that of {self.options.directory}")
        return self.encoder.read(spans) if self.features is None else self.features.of(spans)

    def keep(
        self,
        sentences: Iterable[tuple[str, ...]],
        report: Callable[[int], None] | None = None,
    ) -> None:
        """Computes what features of sentences are not on disk yet, if the encoder is not tuned.

        Args:
            sentences: The words of each.
            report: Is given how many sentences have been computed.

        Raises:
            FailedError: There is no directory to keep them in.
            OSError: They cannot be written.
        """
        if self.features is None:
            return
        try:
            directory = cache_directory() / "features"
        except RuntimeError as error:
            raise FailedError(f"nowhere to keep features: {error}: set GRAPHSENT_CACHE") from None
        options = self.options
        store = FeatureStore(directory / f"{options.sha256}-{options.pooling}", options.dim)
        self.features.keep(sentences, store, report)

    def forward(self, context: Context) -> Tensor:
        """The features of the words of a batch, (num_words, dim), under dropout."""
        if isinstance(context, Pieces):
            context = self.encoder.encode(context, self.network)
        return self.dropout(context)
