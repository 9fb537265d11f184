"""What a model of a run reads of words: the settings, and the only source of their defaults."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from graphsent.models import Inputs, Model
from graphsent.training.errors import TrainingError

__all__ = ["InputOptions", "set_inputs"]


def _option(default: Any, text: str) -> Any:
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class InputOptions:
    """What a model reads of words; the help text of each field is that of the command line.

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
        0, "Map word vectors to this length by a learned matrix before the model; 0 does not."
    )

    def __post_init__(self) -> None:
        """Checks all values."""
        for option in fields(self):
            value, expected = getattr(self, option.name), type(option.default)
            if type(value) is not expected:
                name = {int: "an integer", bool: "true or false"}[expected]
                raise TrainingError(f"{option.name}: expected {name}, got {value!r}")
        for name, least in (("min_count", 1), ("projection", 0)):
            if getattr(self, name) < least:
                value = getattr(self, name)
                raise TrainingError(f"{name}: expected at least {least}, got {value}")

    def to_dict(self) -> dict[str, Any]:
        """All settings by name."""
        return asdict(self)

    def model_dim(self, word_dim: int) -> int:
        """The length of the vectors that the model reads, where a word's own is ``word_dim``."""
        return self.projection or word_dim


def set_inputs(model: Model, options: InputOptions, word_dim: int) -> None:
    """Gives a new model its inputs, where they are more than a table of word vectors.

    Args:
        model: Built for vectors of ``options.model_dim(word_dim)``.
        options: What is wanted.
        word_dim: Length of a vector in the word table.
    """
    if options.projection:
        model.set_inputs(Inputs(word_dim, projected=True))
