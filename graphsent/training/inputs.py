"""The word inputs of a run's model: settings, and the only source of their defaults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from graphsent._names import unknown
from graphsent.contextual import POOLINGS, Encoder, load_encoder
from graphsent.models import Contextual, Inputs
from graphsent.training.errors import TrainingError

__all__ = ["InputOptions"]


def _option(default: Any, text: str, choices: Sequence[str] | None = None) -> Any:
    return field(default=default, metadata={"help": text, "choices": choices})


@dataclass(frozen=True)
class InputOptions:
    """The word inputs of a model; the help of each field is also that of the command line.

    Raises:
        TrainingError: A value is of the wrong type or out of range.
    """

    min_count: int = _option(
        1,
        "Words of train that come less often are <unk>, whose vector is learnt from them; words "
        "with a pre-trained vector stay.",
    )
    lower: bool = _option(False, "Bring all words to lower case, also in predict.")
    projection: int = _option(
        0,
        "Map what the model reads of a word to this length by a learned matrix before the model; "
        "0 does not.",
    )
    encoder: str = _option(
        "",
        "Directory of an encoder of Hugging Face, whose features of words in their sentence stand "
        "beside the word vectors of --vectors or --embedding-dim, or in their place.",
    )
    encoder_pooling: str = _option(
        "mean", "What a word has of its word pieces: their mean, or the first.", POOLINGS
    )
    finetune_encoder: bool = _option(
        False, "Train the encoder with the model, at --encoder-lr; otherwise it stays as it is."
    )

    def __post_init__(self) -> None:
        """Checks all values."""
        for option in fields(self):
            value, expected = getattr(self, option.name), type(option.default)
            if type(value) is not expected:
                name = {int: "an integer", bool: "true or false", str: "a string"}[expected]
                raise TrainingError(f"{option.name}: expected {name}, got {value!r}")
        for name, least in (("min_count", 1), ("projection", 0)):
            if getattr(self, name) < least:
                value = getattr(self, name)
                raise TrainingError(f"{name}: expected at least {least}, got {value}")
        if self.encoder_pooling not in POOLINGS:
            raise TrainingError(unknown("encoder_pooling", self.encoder_pooling, POOLINGS))
        if self.finetune_encoder and not self.encoder:
            raise TrainingError("finetune_encoder: there is no encoder to train")

    def to_dict(self) -> dict[str, Any]:
        """All settings by name."""
        return asdict(self)

    @property
    def is_plain(self) -> bool:
        """Whether a model reads word vectors alone, as they are."""
        return not (self.encoder or self.projection)

    @property
    def frozen_encoder(self) -> str | None:
        """The directory of an encoder that stays as it is, if there is one."""
        return None if self.finetune_encoder else self.encoder or None

    def load_encoder(self) -> Encoder | None:
        """The encoder, if there is one.

        Raises:
            ModelError: It cannot be read.
        """
        return load_encoder(self.encoder, self.encoder_pooling) if self.encoder else None

    def inputs(self, word_dim: int, encoder: Encoder | None) -> Inputs:
        """What a model reads, where vectors in its word table have the length ``word_dim``."""
        tuned = self.finetune_encoder
        contextual = None if encoder is None else Contextual.of(encoder, tuned=tuned)
        return Inputs(word_dim, bool(self.projection), contextual)
