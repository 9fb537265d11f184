"""Checks that a custom model meets the requirements of training, before a run starts."""

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
from graphsent.training.options import TrainingOptions

__all__ = ["check_model"]

_FEW = 2
_OF_BATCHES = ("gold", "roots", "to")


def check_model(
    name: str, model: Model, task: Task, examples: Sequence[Any], training: TrainingOptions
) -> None:
    """Runs a model on a few examples.

    Args:
        name: ``module:Class``, for error messages.
        model: The model; it is left in training mode.
        task: The task.
        examples: Examples of the training split.
        training: Options of the training.

    Raises:
        ModelError: Its code fails or returns a value of the wrong type or shape, or it cannot be
            saved or loaded; or its loss does not weight classes, and the options say so.
    """
    for argument, value in model.config.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise ModelError(
                f"the model {name}: {argument}={value!r} is not a JSON value: it cannot be saved"
            ) from None
    try:
        with suppress(NotImplementedError), torch.device("meta"):  # as in loading a saved model
            type(model)(model.vocab, **model.config)
    except Exception as error:
        reason = reason_of(error, type(model))
        raise ModelError(
            f"the model {name} could not be loaded, which passes all options: {reason}; an option "
            "that its constructor sets itself must be one of its arguments, with that default"
        ) from error
    few = examples[:_FEW]
    batch = _called(name, model, "collate", few)
    for each in _OF_BATCHES:
        if not hasattr(batch, each):
            found = type(batch).__name__
            raise ModelError(
                f"the model {name}: collate: expected a batch with {each!r}, got {found}"
            )
    model.eval()  # draws no random numbers
    outputs = _called(name, model, "forward", batch)
    _check_outputs(name, outputs, len(batch.gold), task)
    loss = _called(name, model, "loss", outputs, batch)
    if _shape(loss) != ():
        raise ModelError(f"the model {name}: loss: expected one number, got {_shape(loss)}")
    if not loss.requires_grad:
        raise ModelError(f"the model {name}: loss: it has no gradient, so nothing would be learned")
    if training.class_weights != "none" and loss != 0:  # it is 0 if none of them has a label
        model.class_weights = torch.full((len(task.label_names),), torch.nan)
        if not _called(name, model, "loss", outputs, batch).isnan():
            raise ModelError(f"the model {name}: loss: it takes no account of self.class_weights")
        model.class_weights = None
    predictions = _called(name, model, "predict", few)
    if len(predictions) != len(few):
        found = f"{len(predictions)} for {len(few)} examples"
        raise ModelError(f"the model {name}: predict: expected as many predictions, got {found}")
    model.train()


def _check_outputs(name: str, outputs: Any, num_units: int, task: Task) -> None:
    if task.goal == "ranking":  # the model defines the rows itself
        return
    found = _shape(outputs)
    is_matrix = isinstance(found, tuple) and len(found) == 2 and found[0] == num_units
    columns = len(task.label_names) if task.goal == "classification" else None
    if not is_matrix or columns not in (None, found[1]):
        expected = f"({num_units}, {columns or '...'})"
        raise ModelError(
            f"the model {name}: forward: expected outputs of shape {expected}, one row for each of "
            f"the {num_units} gold values of the batch, got {found}"
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
    """The shape of a tensor, or the type of another value, for error messages."""
    return tuple(value.shape) if isinstance(value, torch.Tensor) else type(value).__name__
