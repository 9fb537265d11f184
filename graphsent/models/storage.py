"""A saved model as a directory: written whole or not at all, read without pickle.

``config.json`` holds the model's name and constructor arguments, ``vocabulary.json`` its words,
``model.safetensors`` its parameters.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

import graphsent
from graphsent.errors import DataError, ModelError
from graphsent.vocabulary import Vocabulary

__all__ = ["SavedModel", "read_model", "write_model"]

CONFIG_FILE = "config.json"
VOCABULARY_FILE = "vocabulary.json"
TENSORS_FILE = "model.safetensors"
_FILES = {CONFIG_FILE, VOCABULARY_FILE, TENSORS_FILE}
_FORMAT = "graphsent model"
_FORMAT_VERSION = 1


class SavedModel(NamedTuple):
    """The contents of a model directory."""

    name: str
    arguments: dict[str, Any]
    vocab: Vocabulary
    tensors: dict[str, torch.Tensor]
    tokenizer: str | None = None


def write_model(directory: str | os.PathLike[str], model: SavedModel) -> None:
    """Writes a model directory; an older model there is replaced once the new one is complete.

    Raises:
        ModelError: The arguments are no JSON values, or ``directory`` holds something other than a
            model, which is then left as it is.
    """
    directory = Path(directory)
    _check_replaceable(directory)
    config = _to_json(model)
    with _replaced_directory(directory) as temporary:
        (temporary / CONFIG_FILE).write_text(config, encoding="utf-8", newline="\n")
        model.vocab.save(temporary / VOCABULARY_FILE)
        # Copies: tied parameters share memory, which the format does not allow.
        tensors = {name: value.detach().cpu().clone() for name, value in model.tensors.items()}
        save_file(tensors, temporary / TENSORS_FILE, metadata={"format": "pt"})


def read_model(directory: str | os.PathLike[str]) -> SavedModel:
    """Reads what :func:`write_model` wrote.

    Raises:
        ModelError: The directory or one of its files is missing, truncated, not of this format, or
            of a newer version of it.
    """
    directory = Path(directory)
    if not directory.is_dir():
        raise ModelError(f"no saved model: {directory} is not a directory")
    for name in (CONFIG_FILE, VOCABULARY_FILE, TENSORS_FILE):
        if not (directory / name).is_file():
            raise ModelError(f"{directory} is not a saved model: it has no {name}")
    name, arguments, tokenizer = _read_config(directory / CONFIG_FILE)
    try:
        vocab = Vocabulary.load(directory / VOCABULARY_FILE)
    except DataError as error:
        raise ModelError(str(error)) from None
    try:
        tensors = load_file(directory / TENSORS_FILE)
    except (SafetensorError, OSError) as error:
        path = directory / TENSORS_FILE
        raise ModelError(f"{path}: truncated or no safetensors file: {error}") from None
    return SavedModel(name, arguments, vocab, tensors, tokenizer)


def _to_json(model: SavedModel) -> str:
    for name, value in model.arguments.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ModelError(
                f"cannot save {model.name}: the argument {name}={value!r} is no JSON value: {error}"
            ) from None
    config = {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "graphsent_version": graphsent.__version__,
        "model": model.name,
        "arguments": model.arguments,
    }
    if model.tokenizer is not None:
        config["tokenizer"] = model.tokenizer
    return json.dumps(config, indent=2, ensure_ascii=False) + "\n"


def _read_config(path: Path) -> tuple[str, dict[str, Any], str | None]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: damaged or truncated: {error}") from None
    if not isinstance(config, dict) or config.get("format") != _FORMAT:
        raise ModelError(f"{path}: not written by graphsent: no 'format' of {_FORMAT!r}")
    version = config.get("format_version")
    if not isinstance(version, int) or version > _FORMAT_VERSION:
        raise ModelError(
            f"{path}: format version {version}, but graphsent {graphsent.__version__} reads up to "
            f"{_FORMAT_VERSION}: use version {config.get('graphsent_version')}, which saved it"
        )
    name, arguments = config.get("model"), config.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise ModelError(f"{path}: expected a name as 'model' and an object as 'arguments'")
    return name, arguments, config.get("tokenizer")


def _check_replaceable(directory: Path) -> None:
    if not os.path.lexists(directory):
        return
    if not directory.is_dir():
        raise ModelError(f"cannot save to {directory}: it is a file, expected a directory")
    present = {path.name for path in directory.iterdir()}
    if not present:
        return
    foreign = present - _FILES
    if foreign:
        raise ModelError(
            f"cannot save to {directory}: it holds other files ({min(foreign)}), which would be "
            "lost"
        )
    try:
        _read_config(directory / CONFIG_FILE)
    except ModelError as error:
        raise ModelError(
            f"cannot save to {directory}: what is there is no graphsent model ({error})"
        ) from None


@contextmanager
def _replaced_directory(directory: Path) -> Iterator[Path]:
    """Gives an empty sibling to fill; it takes the place of ``directory`` if the block succeeds."""
    directory = directory.resolve()
    directory.parent.mkdir(parents=True, exist_ok=True)
    temporary = directory.with_name(f".{directory.name}.{os.getpid()}.new")
    old = directory.with_name(f".{directory.name}.{os.getpid()}.old")
    for leftover in (temporary, old):
        shutil.rmtree(leftover, ignore_errors=True)
    temporary.mkdir()
    try:
        yield temporary
        _swap(directory, temporary, old)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _swap(directory: Path, new: Path, old: Path) -> None:
    # There is no portable exchange of two directories: between the two renames only `old` exists.
    if directory.exists():
        os.replace(directory, old)
    try:
        os.replace(new, directory)
    except BaseException:
        if old.exists():
            os.replace(old, directory)
        raise
    shutil.rmtree(old, ignore_errors=True)
