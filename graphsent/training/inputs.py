"""Word-input options: the single source of their defaults."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from graphsent.contextual import POOLINGS, Encoder, load_encoder
from graphsent.models import Contextual, Inputs
from graphsent.training.errors import TrainingError
from graphsent.training.options import check_values, option

__all__ = ["InputOptions"]


@dataclass(frozen=True)
class InputOptions:
    """The word inputs of a model; ``graphsent train --help-all`` explains each field.

    Raises:
        TrainingError: A value is of the wrong type or out of range.
    """

    min_count: int = option(
        1,
        "Map rarer training words to <unk>, whose vector is learned from them; words with a "
        "pre-trained vector are kept.",
        least=1,
    )
    lower: bool = option(False, "Lowercase all words, also in predict.")
    projection: int = option(
        0,
        "Project the inputs of a word to this dimension by a learned matrix; 0 does not project.",
        least=0,
    )
    encoder: str = option(
        "",
        "Directory of a Hugging Face encoder, whose contextual word features are concatenated with "
        "the word vectors of --vectors or --embedding-dim, or replace them if neither is given.",
    )
    encoder_pooling: str = option(
        "mean",
        "How the features of a word's subwords are pooled: mean, or the first one.",
        POOLINGS,
    )
    finetune_encoder: bool = option(
        False, "Fine-tune the encoder, at --encoder-lr; by default it is frozen."
    )

    def __post_init__(self) -> None:
        """Checks all values."""
        check_values(self)
        if self.finetune_encoder and not self.encoder:
            raise TrainingError("finetune_encoder: there is no encoder to train")

    def to_dict(self) -> dict[str, Any]:
        """All settings by name."""
        return asdict(self)

    @property
    def is_plain(self) -> bool:
        """Whether a model reads word vectors only, without projection."""
        return not (self.encoder or self.projection)

    @property
    def frozen_encoder(self) -> str | None:
        """The directory of the frozen encoder; None if there is none."""
        return None if self.finetune_encoder else self.encoder or None

    def load_encoder(self) -> Encoder | None:
        """Loads the encoder; None if there is none.

        Raises:
            ModelError: It cannot be read.
        """
        return load_encoder(self.encoder, self.encoder_pooling) if self.encoder else None

    def inputs(self, word_dim: int, encoder: Encoder | None) -> Inputs:
        """The inputs of a model whose word vectors have ``word_dim`` dimensions."""
        tuned = self.finetune_encoder
        contextual = None if encoder is None else Contextual.of(encoder, tuned=tuned)
        return Inputs(word_dim, bool(self.projection), contextual)
