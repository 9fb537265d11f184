"""Whether a model of a user's own does what training asks of it, before anything takes long."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import torch

from graphsent._own import reason_of
from graphsent.errors import GraphsentError, ModelError
from graphsent.models import Model
from graphsent.tasks import Task

__all__ = ["check_model"]

_FEW = 2
_OF_BATCHES = ("labels", "roots", "to")


def check_model(name: str, model: Model, task: Task, examples: Sequence[Any]) -> None:
    """Puts a few examples through a model.

    Args:
        name: ``module:Class``, for errors.
        model: The model; it stays in training.
        task: What it is to learn.
        examples: Of the training split.

    Raises:
        ModelError: Its code fails, gives something of another shape than training takes, or it
            cannot be saved or loaded.
    """
    for argument, value in model.config.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise ModelError(
                f"the model {name}: {argument}={value!r} is no value of JSON: it could not be saved"
            ) from None
    try:
        with suppress(NotImplementedError), torch.device("meta"):  # as a saved model is made first
            type(model)(model.vocab, **model.config)
    except Exception as error:
        reason = reason_of(error, type(model))
        raise ModelError(
            f"the model {name} could not be loaded, which makes it with all options: {reason}; an "
            "option that its constructor sets itself must be an argument of it, with that default"
        ) from error
    few = [examples[place] for place in range(min(_FEW, len(examples)))]
    batch = _called(name, model, "collate", few)
    for each in _OF_BATCHES:
        if not hasattr(batch, each):
            found = type(batch).__name__
            raise ModelError(
                f"the model {name}: collate: expected a batch with {each!r}, got {found}"
            )
    model.eval()  # nothing is drawn
    outputs = _called(name, model, "forward", batch)
    _check_outputs(name, outputs, len(batch.labels), task)
    loss = _called(name, model, "loss", outputs, batch)
    if _shape(loss) != ():
        raise ModelError(f"the model {name}: loss: expected one number, got {_shape(loss)}")
    if not loss.requires_grad:
        raise ModelError(f"the model {name}: loss: no weight has a gradient, so none would learn")
    predictions = _called(name, model, "predict", few)
    if len(predictions) != len(few):
        found = f"{len(predictions)} for {len(few)} examples"
        raise ModelError(f"the model {name}: predict: expected as many predictions, got {found}")
    model.train()


def _check_outputs(name: str, outputs: Any, num_labels: int, task: Task) -> None:
    if task.goal == "ranking":  # where rows are the model's own affair
        return
    found = _shape(outputs)
    is_matrix = isinstance(found, tuple) and len(found) == 2 and found[0] == num_labels
    columns = len(task.label_names) if task.goal == "classification" else None
    if not is_matrix or columns not in (None, found[1]):
        expected = f"({num_labels}, {columns or '...'})"
        raise ModelError(
            f"the model {name}: forward: expected outputs of shape {expected}, a row for each of "
            f"{num_labels} labels of the batch, got {found}"
        )


def _called(name: str, model: Model, method: str, *arguments: Any) -> Any:
    try:
        return getattr(model, method)(*arguments)
    except GraphsentError:
        raise
    except Exception as error:
        reason = reason_of(error, type(model))
        raise ModelError(f"the model {name}: {method}: {reason}") from error


def _shape(value: Any) -> Any:
    """The shape of a tensor; of other things their type, for errors."""
    return tuple(value.shape) if isinstance(value, torch.Tensor) else type(value).__name__
