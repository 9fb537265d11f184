"""Saved models as directories: written atomically, read without pickle.

``config.json`` holds the model's name, its constructor arguments, the class of a custom model, and
the SHA-256 of the two other files: ``vocabulary.json`` with the words and ``model.safetensors``
with the parameters. A fine-tuned encoder is in the subdirectory ``encoder``, in its own format.
``README.md``, the model card, is for people: it is optional and may be edited.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

import graphsent
from graphsent._files import recover, replaced_directory, sha256, write_json
from graphsent._tensor_files import save_tensors
from graphsent.contextual import Encoder, encoder_sha256
from graphsent.errors import DataError, ModelError
from graphsent.vocabulary import Vocabulary

__all__ = ["CARD_FILE", "WORD_TABLES", "SavedModel", "read_model", "write_model"]

CONFIG_FILE = "config.json"
VOCABULARY_FILE = "vocabulary.json"
TENSORS_FILE = "model.safetensors"
ENCODER_DIRECTORY = "encoder"
CARD_FILE = "README.md"
MODEL_FILES = {CONFIG_FILE, VOCABULARY_FILE, TENSORS_FILE, ENCODER_DIRECTORY, CARD_FILE}
_SUMMED = (VOCABULARY_FILE, TENSORS_FILE)
_SUMS = "sha256"
WORD_TABLES = ("embedding.weight", "embedding.table.weight", "fixed_vectors")
_FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
_FORMAT = "graphsent model"
_FORMAT_VERSION = 2  # version 1 had no prefix `encoder.` in the names of encoder parameters
# Fields of SavedModel -> their keys in the config, in this order; those that are None are omitted.
_KEYS = {
    "name": "model",
    "arguments": "arguments",
    "own_class": "class",
    "tokenizer": "tokenizer",
    "inputs": "inputs",
    "trees": "trees",
}


class SavedModel(NamedTuple):
    """The contents of a model directory."""

    name: str
    arguments: dict[str, Any]
    vocab: Vocabulary
    tensors: dict[str, torch.Tensor]
    tokenizer: str | None = None
    inputs: dict[str, Any] | None = None
    trees: dict[str, Any] | None = None
    encoder: Encoder | None = None  # a fine-tuned encoder to save; loaded separately
    card: str | None = None
    own_class: str | None = None  # module:Class of a custom model

    @property
    def dtype(self) -> torch.dtype | None:
        """The dtype that the model computes in, None if it has no parameters.

        Word tables may be in half precision next to parameters of another dtype; the latter is then
        the model's.
        """
        types = [each.dtype for each in self.tensors.values() if each.is_floating_point()]
        return next((each for each in types if each != torch.float16), types[0] if types else None)


def write_model(directory: str | os.PathLike[str], model: SavedModel) -> None:
    """Writes a model directory; an older model there is replaced once the new one is complete.

    Raises:
        ModelError: An argument is not a JSON value; the tensors contain NaN or infinity, or have
            several floating-point dtypes; or ``directory`` holds something other than a model,
            which is then left unchanged.
        OSError: The directory cannot be written; ``filename`` is ``directory``.
    """
    directory = Path(directory)
    _check_replaceable(directory)
    config = _config_of(model)
    _check_tensors(model.tensors, f"cannot save {model.name}")
    with replaced_directory(directory) as temporary:
        model.vocab.save(temporary / VOCABULARY_FILE)
        # Tied parameters share memory, which the format does not allow: save copies.
        tensors = {name: value.detach().cpu().clone() for name, value in model.tensors.items()}
        save_tensors(tensors, temporary / TENSORS_FILE)
        config[_SUMS] = {name: sha256(temporary / name) for name in _SUMMED}
        if model.encoder is not None:
            model.encoder.save(temporary / ENCODER_DIRECTORY)
            config[_SUMS][ENCODER_DIRECTORY] = encoder_sha256(temporary / ENCODER_DIRECTORY)
        write_json(temporary / CONFIG_FILE, config, indent=2)
        if model.card is not None:
            (temporary / CARD_FILE).write_text(model.card, encoding="utf-8", newline="\n")


def read_model(directory: str | os.PathLike[str]) -> SavedModel:
    """Reads a model directory written by :func:`write_model`.

    Models saved before ``config.json`` had checksums are read without comparing them.

    Raises:
        ModelError: The directory or one of its files is missing, truncated, of another format or of
            a newer format version; a checksum does not match; or a tensor contains NaN or infinity.
    """
    directory = Path(directory)
    if not os.path.exists(directory):
        with suppress(OSError):
            recover(directory.absolute())
    if not os.path.isdir(directory):
        raise ModelError(f"no saved model: {directory} is not a directory")
    for name in (CONFIG_FILE, VOCABULARY_FILE, TENSORS_FILE):
        if not (directory / name).is_file():
            inside = directory / "model"
            hint = f"; the run's model is in {inside}" if (inside / CONFIG_FILE).is_file() else ""
            raise ModelError(f"{directory} is not a saved model: it has no {name}{hint}")
    config = directory / CONFIG_FILE
    fields, sums = _read_config(config)
    for file, expected in sums.items():
        of = encoder_sha256 if file == ENCODER_DIRECTORY else sha256
        _check_sum(directory / file, of(directory / file), expected)
    try:
        vocab = Vocabulary.load(directory / VOCABULARY_FILE)
    except DataError as error:
        raise ModelError(str(error)) from None
    try:
        tensors = load_file(directory / TENSORS_FILE)
    except (SafetensorError, OSError) as error:
        path = directory / TENSORS_FILE
        raise ModelError(f"{path}: truncated or not a safetensors file: {error}") from None
    _check_tensors(tensors, str(directory / TENSORS_FILE))
    try:
        card = (directory / CARD_FILE).read_text(encoding="utf-8")
    except (OSError, ValueError):  # the card is optional
        card = None
    return SavedModel(**fields, vocab=vocab, tensors=tensors, card=card)


def _check_sum(path: Path, found: str, expected: str) -> None:
    if found != expected:
        raise ModelError(
            f"{path}: damaged or changed since it was saved: its SHA-256 is {found[:8]}..., "
            f"{CONFIG_FILE} says {expected[:8]}... (remove {_SUMS!r} there to skip this check)"
        )


def _check_tensors(tensors: Mapping[str, torch.Tensor], what: str) -> None:
    """Raises a ModelError unless all values are finite and of one dtype that torch computes in.

    Word tables may be in half precision besides.
    """
    first: tuple[str, torch.dtype] | None = None
    for name, tensor in tensors.items():
        if not tensor.is_floating_point():
            continue
        if name not in WORD_TABLES or tensor.dtype != torch.float16:
            first = first or (name, tensor.dtype)
            if tensor.dtype not in _FLOATS or tensor.dtype != first[1]:
                raise ModelError(
                    f"{what}: the parameter {name!r} is of type {tensor.dtype}, {first[0]!r} of "
                    f"{first[1]}: expected one of {', '.join(map(str, _FLOATS))} for all"
                )
        if not torch.isfinite(tensor).all():
            raise ModelError(f"{what}: the parameter {name!r} contains NaN or infinity")


def _config_of(model: SavedModel) -> dict[str, Any]:
    for name, value in model.arguments.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ModelError(
                f"cannot save {model.name}: the argument {name}={value!r} is not a JSON value: "
                f"{error}"
            ) from None
    fields = {key: getattr(model, field) for field, key in _KEYS.items()}
    return {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "graphsent_version": graphsent.__version__,
        **{key: value for key, value in fields.items() if value is not None},
    }


def _read_config(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """The fields of a :class:`SavedModel` that a config holds, and the checksums of other files."""
    try:
        config = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: damaged or truncated: {error}") from None
    if not isinstance(config, dict) or config.get("format") != _FORMAT:
        raise ModelError(f"{path}: not written by graphsent: no 'format' of {_FORMAT!r}")
    version = config.get("format_version")
    if type(version) is not int or version < 1:
        raise ModelError(f"{path}: expected a format version from 1, got {version!r}")
    if version > _FORMAT_VERSION:
        raise ModelError(
            f"{path}: format version {version}, but graphsent {graphsent.__version__} reads up to "
            f"{_FORMAT_VERSION}: use version {config.get('graphsent_version')}, which saved it"
        )
    if not isinstance(config.get("model"), str) or not isinstance(config.get("arguments"), dict):
        raise ModelError(f"{path}: expected a name as 'model' and an object as 'arguments'")
    for key in ("tokenizer", "class"):
        if not isinstance(config.get(key), str | None):
            raise ModelError(f"{path}: expected a name as {key!r}, got {config[key]!r}")
    for key in ("inputs", "trees"):
        if not isinstance(config.get(key), dict | None):
            raise ModelError(f"{path}: expected an object as {key!r}, got {config[key]!r}")
    sums = config.get(_SUMS, {})
    known = isinstance(sums, dict) and all(isinstance(value, str) for value in sums.values())
    if not known or (_SUMS in config and set(sums) - {ENCODER_DIRECTORY} != set(_SUMMED)):
        raise ModelError(f"{path}: expected checksums of {' and '.join(_SUMMED)} in {_SUMS!r}")
    return {field: config.get(key) for field, key in _KEYS.items()}, sums


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def check_own_files(directory: Path) -> None:
    """Raises a ModelError if a path is a file, or a directory with files that are not a model's."""
    if not os.path.lexists(directory):
        return
    if not directory.is_dir():
        raise ModelError(f"cannot save to {directory}: it is a file, expected a directory")
    foreign = {path.name for path in directory.iterdir()} - MODEL_FILES
    if foreign:
        raise ModelError(
            f"cannot save to {directory}: it holds other files ({min(foreign)}), which would be "
            "lost"
        )


def _check_replaceable(directory: Path) -> None:
    check_own_files(directory)
    if not os.path.isdir(directory) or not os.listdir(directory):
        return
    try:
        _read_config(directory / CONFIG_FILE)
    except ModelError as error:
        raise ModelError(
            f"cannot save to {directory}: it exists and is not a graphsent model ({error})"
        ) from None
