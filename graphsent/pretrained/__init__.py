"""Trained models: the bundled one, and your own."""

from __future__ import annotations

import os
from pathlib import Path

from graphsent.models import Model
from graphsent.training import load_model

__all__ = ["PACKAGED", "load"]

PACKAGED = Path(__file__).parent / "sentiment"
"""The directory of the bundled model, whose ``README.md`` describes it."""


def load(
    path: str | os.PathLike[str] | None = None,
    encoder: str | os.PathLike[str] | None = None,
    model_class: type[Model] | None = None,
) -> Model:
    """Loads a trained model, ready to predict.

    Args:
        path: The directory of a run or of a saved model, or ``hf://user/name`` of a model on the
            Hugging Face Hub; by default the bundled model, for the sentiment of English
            sentences.
        encoder: Directory of the frozen encoder that the model was trained with, if it was moved.
        model_class: The class of a custom model, for instance
            ``graphsent.models.model_class("my_models:Mine")``; see docs/own_model.md.

    Raises:
        ModelError: There is no valid model, or it is of another class.
        TrainingError: It is a run without a complete epoch.

    Example:
        >>> import graphsent
        >>> graphsent.load().predict(["A film of great charm."])[0].root_name
        'very positive'
    """
    return load_model(PACKAGED if path is None else path, encoder, model_class)
