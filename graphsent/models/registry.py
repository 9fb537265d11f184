"""The models by name."""

from __future__ import annotations

import importlib
import os

from graphsent._names import unknown
from graphsent.errors import ModelError
from graphsent.models.base.hub import local_directory
from graphsent.models.base.model import Model
from graphsent.models.base.storage import read_model

__all__ = ["MODELS", "load_pretrained", "model_class"]

# Name -> module and class; imported when asked for.
MODELS = {
    "apdcnn": "graphsent.models.apdcnn:APDCNN",
    "arnn": "graphsent.models.arnn:ARNNClassifier",
    "arnn-relatedness": "graphsent.models.arnn:ARNNRelatedness",
    "bitreelstm": "graphsent.models.bitreelstm:BiTreeLSTMClassifier",
    "dcnn": "graphsent.models.dcnn:DCNN",
    "kimcnn": "graphsent.models.kimcnn:KimCNN",
    "maxtdnn": "graphsent.models.maxtdnn:MaxTDNN",
    "nbow": "graphsent.models.nbow:NBoW",
    "parse-reranker": "graphsent.models.reranker:ParseReranker",
    "recnn": "graphsent.models.recnn:RecNN",
    "sequence": "graphsent.models.sequence:SequenceClassifier",
    "sequence-relatedness": "graphsent.models.sequence:SequenceRelatedness",
    "treelstm": "graphsent.models.treelstm:TreeLSTMClassifier",
    "treenet": "graphsent.models.treenet:TreeNetClassifier",
}


def model_class(name: str) -> type[Model]:
    """The class of a model.

    Raises:
        ModelError: There is no such model; the valid names are listed.
    """
    if name not in MODELS:
        raise ModelError(unknown("model", name, sorted(MODELS)))
    module, _, attribute = MODELS[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def load_pretrained(
    directory: str | os.PathLike[str], encoder: str | os.PathLike[str] | None = None
) -> Model:
    """Reads a saved model of any registered kind, on the CPU, in evaluation mode.

    Args:
        directory: The model, or ``hf://user/name`` of one on the Hugging Face Hub.
        encoder: Where the frozen encoder of its contextual features is, if it was moved.

    Raises:
        ModelError: The directory is no saved model, is damaged, or names a model that is not
            registered here (its class's own ``from_pretrained`` reads it).
    """
    directory = local_directory(directory)
    saved = read_model(directory)
    try:
        cls = model_class(saved.name)
    except ModelError as error:
        raise ModelError(f"{directory}: {error}") from None
    return cls.from_saved(saved, directory, encoder)
