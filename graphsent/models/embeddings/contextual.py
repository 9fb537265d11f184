"""Features of words from an encoder that reads their sentence, as a part of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

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
)
from graphsent.errors import FailedError, ModelError
from graphsent.layers import Dropout
from graphsent.models.arguments import check_sizes, check_types
from graphsent.models.batches.trees import Context

__all__ = ["Contextual", "ContextualFeatures"]


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
        check_types(type(self), asdict(self))
        check_sizes(dim=self.dim)
        if self.pooling not in POOLINGS:
            raise ModelError(unknown("pooling", self.pooling, POOLINGS))

    @classmethod
    def of(cls, encoder: Encoder, *, tuned: bool) -> Contextual:
        """What there is to say of an encoder."""
        return cls(str(encoder.directory), encoder.sha256, encoder.dim, encoder.pooling, tuned)


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
            assert self.encoder is not None  # it has read them
            context = self.encoder.encode(context, self.network)
        return self.dropout(context)
