"""The registry of models by name."""

from __future__ import annotations

import inspect
import os
import pkgutil
from collections.abc import Mapping
from typing import Any

from graphsent._names import unknown
from graphsent._own import find_own, is_own
from graphsent.errors import ModelError
from graphsent.models.base.hub import local_directory
from graphsent.models.base.loading import settled
from graphsent.models.base.model import Model
from graphsent.models.base.storage import read_model

__all__ = ["MODELS", "load_pretrained", "model_class"]

# Name -> module and class, imported on demand.
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

    Args:
        name: One of ``MODELS``; or ``module:Class`` for a custom model, a subclass of
            :class:`Model`. The module is imported.

    Raises:
        ModelError: There is no such model, or its class is not a complete model.
    """
    if not is_own(name):
        return _registered(name)
    cls = find_own(name, "model", "subclass of graphsent.models.Model", _is_model, ModelError)
    lacking = sorted(cls.__abstractmethods__)
    if lacking:
        raise ModelError(f"the model {name}: the class has no {' and no '.join(lacking)}")
    if not isinstance(getattr(cls, "name", None), str):
        raise ModelError(f"the model {name}: expected a name in the class, such as name = 'mine'")
    _check_defaults(name, cls)
    first = next(iter(inspect.signature(cls).parameters), "nothing")
    if first != "vocab":
        raise ModelError(
            f"the model {name}: expected vocab as first argument of the constructor, got {first}"
        )
    return cls


def _registered(name: str) -> type[Model]:
    if name not in MODELS:
        raise ModelError(unknown("model", name, [*sorted(MODELS), "module:Class of your own"]))
    return pkgutil.resolve_name(MODELS[name])


def _check_defaults(name: str, cls: type[Model]) -> None:
    """Raises a ModelError unless the tables of defaults of a custom model are dictionaries."""
    by_task = {"training_defaults": False, "task_defaults": True, "task_option_defaults": True}
    for each, nested in by_task.items():
        found = getattr(cls, each)
        tables = [found, *found.values()] if nested and isinstance(found, Mapping) else [found]
        if not all(isinstance(table, Mapping) for table in tables):
            of_what = "tasks and their options" if nested else "options"
            raise ModelError(
                f"the model {name}: expected {each} to be a dictionary of {of_what}, got {found!r}"
            )


def _is_model(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Model)


def load_pretrained(
    directory: str | os.PathLike[str],
    encoder: str | os.PathLike[str] | None = None,
    model_class: type[Model] | None = None,
) -> Model:
    """Loads a saved model, on the CPU, in evaluation mode.

    Args:
        directory: The model's directory, or ``hf://user/name`` for one on the Hugging Face Hub.
        encoder: Directory of the frozen encoder of its contextual features, if it was moved.
        model_class: The class of a custom model. The saved model names its class, but code from
            outside the package runs only on request.

    Raises:
        ModelError: The directory is not a saved model, is damaged, or holds a model of another
            class.
    """
    directory = local_directory(directory)
    return settled(directory, lambda: _load(directory, encoder, model_class))


def _load(
    directory: str | os.PathLike[str],
    encoder: str | os.PathLike[str] | None,
    model_class: type[Model] | None,
) -> Model:
    saved = read_model(directory)
    if model_class is None:
        if saved.own_class is not None:
            raise ModelError(
                f"{directory}: the class of the model {saved.name!r} is {saved.own_class}, whose "
                f"code runs only on request: pass --model-class {saved.own_class}, in Python "
                f"model_class={saved.own_class.rpartition(':')[2]}"
            )
        try:
            model_class = _registered(saved.name)
        except ModelError as error:
            raise ModelError(f"{directory}: {error}") from None
    if not _is_model(model_class):
        raise ModelError(f"model_class: expected a subclass of Model, got {model_class!r}")
    return model_class.from_saved(saved, directory, encoder)
