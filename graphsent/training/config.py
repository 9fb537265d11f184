"""What a run is made from: everything needed to repeat it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from graphsent._files import atomic_path
from graphsent.errors import DataError
from graphsent.training.options import TrainingOptions

__all__ = ["RunConfig"]


@dataclass(frozen=True)
class RunConfig:
    """A training run, complete.

    Attributes:
        task: Name of the task.
        task_options: Arguments of ``get_task`` beside the name.
        model: Name of the model.
        model_options: Arguments of the model's class; the vocabulary, the classes and, with
            vectors, the embedding dimension follow from the data.
        data_dir: Data directory, None for the default one.
        vectors: Files of pre-trained word vectors.
        training: How it is trained.
    """

    task: str
    model: str
    task_options: dict[str, Any] = field(default_factory=dict)
    model_options: dict[str, Any] = field(default_factory=dict)
    data_dir: str | None = None
    vectors: tuple[str, ...] = ()
    training: TrainingOptions = field(default_factory=TrainingOptions)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for YAML and JSON."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {**values, "vectors": list(self.vectors), "training": self.training.to_dict()}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the configuration as YAML, whole or not at all."""
        with atomic_path(path) as temporary:
            text = yaml.safe_dump(self.to_dict(), sort_keys=False, allow_unicode=True)
            temporary.write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> RunConfig:
        """Reads what :meth:`save` wrote.

        Raises:
            DataError: The file is missing or no such configuration.
        """
        try:
            values = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise DataError(f"{path}: cannot read the configuration: {error.strerror}") from None
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise DataError(f"{path}: expected a configuration in YAML: {error}") from None
        try:
            training = TrainingOptions(**values.pop("training"))
            return cls(**{**values, "vectors": tuple(values["vectors"]), "training": training})
        except (AttributeError, KeyError, TypeError) as error:
            raise DataError(f"{path}: not the configuration of a run: {error}") from None
