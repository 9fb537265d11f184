"""Restoring models from the contents of their directories."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import torch

from graphsent._own import reason_of
from graphsent.contextual import Encoder, encoder_sha256, load_encoder
from graphsent.errors import ModelError
from graphsent.models.base.storage import ENCODER_DIRECTORY, SavedModel
from graphsent.models.embeddings.contextual import Contextual
from graphsent.models.embeddings.inputs import Inputs
from graphsent.parsing import TreeSource
from graphsent.trees.shapes import TREE_KINDS

__all__ = ["own_class", "restore", "settled"]

_ATTEMPTS = 5
_PAUSE = 0.02  # seconds

Read = TypeVar("Read")


def own_class(cls: type) -> str | None:
    """``module:Class`` of a class from outside the package; None for one of the package."""
    is_ours = cls.__module__.partition(".")[0] == "graphsent"
    return None if is_ours else f"{cls.__module__}:{cls.__qualname__}"


def settled(directory: str | os.PathLike[str], read: Callable[[], Read]) -> Read:
    """What is read from a directory; read again if that was replaced in the meantime.

    Training replaces the model of a run after each better epoch, while others may be loading it.
    Between two renames, the directory does not exist.

    Args:
        directory: The directory of a model.
        read: Reads it.
    """
    for _ in range(_ATTEMPTS):
        before = _identity(directory)
        try:
            found = read()
        except (ModelError, OSError):
            if before is not None and _identity(directory) == before:
                raise
        else:
            if _identity(directory) == before:
                return found
        time.sleep(_PAUSE)
    return read()


def _identity(directory: str | os.PathLike[str]) -> tuple[int, ...] | None:
    try:
        status = os.stat(directory)
    except (OSError, ValueError):  # there is none; NUL
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns  # inode numbers are soon used again


def restore(
    cls: type[Any],
    saved: SavedModel,
    directory: str | os.PathLike[str],
    encoder: str | os.PathLike[str] | None = None,
) -> Any:
    """Restores a model from the contents of its directory, in evaluation mode.

    Args:
        cls: The class of the model.
        saved: The result of ``read_model(directory)``.
        directory: Named in errors; holds the encoder of contextual features if it was fine-tuned.
        encoder: Directory of a frozen encoder, if it was moved.

    Raises:
        ModelError: It is another kind of model, or arguments, parameters or the encoder do not fit.
    """
    if saved.name != cls.name:
        raise ModelError(
            f"{directory}: expected a model {cls.name!r} for {cls.__name__}, got {saved.name!r}"
        )
    if saved.own_class is not None and own_class(cls) is None:  # a subclass may keep the name
        raise ModelError(
            f"{directory}: the class of the model is {saved.own_class}, not {cls.__name__}"
        )
    check_restorable(cls, saved, directory)
    model = _build(cls, saved, directory)
    if model.tokenizer is not None:
        model.tokenizer = saved.tokenizer or model.unsaved_tokenizer
    model.tree_source = _tree_source(saved.trees, directory)
    tensors = _fitting(model.state_dict(), saved.tensors, directory)
    if saved.dtype is not None:
        model.to(saved.dtype)
    model.load_state_dict(tensors)
    model.card = saved.card
    contextual = None if model.inputs is None else model.inputs.contextual
    if contextual is not None:
        model.attach_encoder(_find_encoder(contextual, directory, encoder))
    elif encoder is not None:
        raise ModelError(f"{directory}: the model has no encoder, but one was given: {encoder}")
    return model.eval()


def check_restorable(cls: type[Any], saved: SavedModel, directory: str | os.PathLike[str]) -> None:
    """Checks parameters without allocating memory: sizes in a damaged config may be anything.

    Raises:
        ModelError: A model with these arguments cannot be built, or has other parameters.
    """
    with suppress(NotImplementedError), torch.device("meta"):
        _fitting(_build(cls, saved, directory).state_dict(), saved.tensors, directory)


def _build(cls: type[Any], saved: SavedModel, directory: str | os.PathLike[str]) -> Any:
    """Builds the model with its initial parameters."""
    try:
        model = cls(saved.vocab, **saved.arguments)
        if saved.inputs is not None:
            model.set_inputs(Inputs.from_dict(saved.inputs))
        return model
    except NotImplementedError:  # a model that cannot be built on the meta device
        raise
    except (TypeError, ValueError, RuntimeError, OverflowError, MemoryError) as error:
        reason = str(error).partition("\n")[0]
        name = cls.__name__
        raise ModelError(f"{directory}: wrong arguments of {name}: {reason}") from None
    except Exception as error:  # a custom class may raise anything
        reason = reason_of(error, cls)
        raise ModelError(f"{directory}: cannot build {cls.__name__}: {reason}") from error


def _fitting(
    expected: Mapping[str, torch.Tensor],
    saved: Mapping[str, torch.Tensor],
    directory: str | os.PathLike[str],
) -> dict[str, torch.Tensor]:
    """The saved tensors by their current names in the model.

    Names in format version 1 lack the prefix ``encoder.`` for the parameters of most encoders.

    Raises:
        ModelError: A parameter is missing, unknown to the model, or has the wrong shape or type.
    """
    found = {
        name if name in expected or f"encoder.{name}" not in expected else f"encoder.{name}": tensor
        for name, tensor in saved.items()
    }
    lacking = sorted(expected.keys() - found.keys())
    if lacking:
        raise ModelError(f"{directory}: the parameter {lacking[0]!r} of its config is missing")
    foreign = sorted(found.keys() - expected.keys())
    if foreign:
        raise ModelError(f"{directory}: the parameter {foreign[0]!r} does not fit its config")
    for name, tensor in expected.items():
        if found[name].shape != tensor.shape:
            raise ModelError(
                f"{directory}: the parameter {name!r} has shape {tuple(found[name].shape)}, but "
                f"its config and vocabulary imply {tuple(tensor.shape)}"
            )
        is_other = found[name].is_floating_point() != tensor.is_floating_point()
        if is_other or (found[name].dtype != tensor.dtype and not tensor.is_floating_point()):
            raise ModelError(
                f"{directory}: the parameter {name!r} is of type {found[name].dtype}, expected "
                f"{tensor.dtype}"
            )
    return found


def _tree_source(values: Any, directory: str | os.PathLike[str]) -> TreeSource | None:
    """The tree source stored with a saved model.

    Raises:
        ModelError: The values are not those of a tree source.
    """
    if values is None:
        return None
    try:
        source = TreeSource(**values)
    except TypeError as error:
        raise ModelError(f"{directory}: wrong 'trees': {error}") from None
    if not all(isinstance(value, str) for value in source):
        raise ModelError(f"{directory}: wrong 'trees': expected strings, got {values!r}")
    if source.kind not in TREE_KINDS:
        raise ModelError(f"{directory}: wrong 'trees': unknown kind {source.kind!r}")
    return source


def _find_encoder(
    contextual: Contextual,
    model: str | os.PathLike[str],
    given: str | os.PathLike[str] | None,
) -> Encoder:
    """Loads the encoder of a saved model.

    Args:
        contextual: The description of the encoder.
        model: Directory of the model, which holds the encoder if it was fine-tuned.
        given: Directory of a frozen encoder, if it was moved.

    Raises:
        ModelError: The encoder is missing, or a different one.
    """
    if contextual.tuned:
        if given is not None:
            raise ModelError(
                f"{model}: its encoder was fine-tuned and is saved with it: no other can be used"
            )
        return load_encoder(Path(model) / ENCODER_DIRECTORY, contextual.pooling)
    directory = Path(os.path.expanduser(given or contextual.directory))
    hint = "pass its directory (--encoder DIR)"
    if not os.path.isdir(directory):
        raise ModelError(f"{model}: the encoder of the model is not in {directory}: {hint}")
    found = encoder_sha256(directory)
    if found != contextual.sha256:
        raise ModelError(
            f"{model}: the encoder in {directory} is not that of the model: its SHA-256 is "
            f"{found[:8]}..., expected {contextual.sha256[:8]}...: {hint}"
        )
    return load_encoder(directory, contextual.pooling)
