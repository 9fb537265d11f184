"""A saved model as a directory: written whole or not at all, read without pickle.

``config.json`` holds the model's name, its constructor arguments, the class of a model that is not
of the package, and the SHA-256 of the two other files: ``vocabulary.json`` with its words,
``model.safetensors`` with its parameters. An encoder that was trained with the model lies beside
them, in a directory ``encoder`` of its own format.
``README.md``, the model's card, is for people: it may be missing, and be changed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

import graphsent
from graphsent._files import named, recover, sha256
from graphsent.contextual import Encoder, encoder_sha256
from graphsent.errors import DataError, ModelError
from graphsent.vocabulary import Vocabulary

__all__ = ["CARD_FILE", "WORD_TABLES", "SavedModel", "read_model", "write_model"]

CONFIG_FILE = "config.json"
VOCABULARY_FILE = "vocabulary.json"
TENSORS_FILE = "model.safetensors"
ENCODER_DIRECTORY = "encoder"
CARD_FILE = "README.md"
_FILES = {CONFIG_FILE, VOCABULARY_FILE, TENSORS_FILE, ENCODER_DIRECTORY, CARD_FILE}
_SUMMED = (VOCABULARY_FILE, TENSORS_FILE)
_SUMS = "sha256"
WORD_TABLES = ("embedding.weight", "embedding.table.weight", "fixed_vectors")
_FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
_FORMAT = "graphsent model"
_FORMAT_VERSION = 2  # 1 had no prefix `encoder.` before parameters of encoders


class SavedModel(NamedTuple):
    """The contents of a model directory."""

    name: str
    arguments: dict[str, Any]
    vocab: Vocabulary
    tensors: dict[str, torch.Tensor]
    tokenizer: str | None = None
    inputs: dict[str, Any] | None = None
    trees: dict[str, Any] | None = None
    encoder: Encoder | None = None  # that is a part of it; it is read by itself
    card: str | None = None
    own_class: str | None = None  # module:Class of one that is not of the package

    @property
    def dtype(self) -> torch.dtype | None:
        """The type that the model computes in, None if it has no parameters.

        Word tables may be of half precision beside parameters of another type, which is then that
        of the model.
        """
        types = [each.dtype for each in self.tensors.values() if each.is_floating_point()]
        return next((each for each in types if each != torch.float16), types[0] if types else None)


def write_model(directory: str | os.PathLike[str], model: SavedModel) -> None:
    """Writes a model directory; an older model there is replaced once the new one is complete.

    Raises:
        ModelError: The arguments are no JSON values; the tensors hold NaN or infinity, or are of
            several floating types; or ``directory`` holds something other than a model, which is
            then left as it is.
        OSError: It cannot be written; ``filename`` is ``directory``.
    """
    directory = Path(directory)
    _check_replaceable(directory)
    config = _config_of(model)
    _check_tensors(model.tensors, f"cannot save {model.name}")
    with _replaced_directory(directory) as temporary:
        model.vocab.save(temporary / VOCABULARY_FILE)
        # Copies: tied parameters share memory, which the format does not allow.
        tensors = {name: value.detach().cpu().clone() for name, value in model.tensors.items()}
        _save_tensors(tensors, temporary / TENSORS_FILE)
        # safetensors has files that nobody else can read, whatever the umask.
        shutil.copymode(temporary / VOCABULARY_FILE, temporary / TENSORS_FILE)
        config[_SUMS] = {name: sha256(temporary / name) for name in _SUMMED}
        if model.encoder is not None:
            model.encoder.save(temporary / ENCODER_DIRECTORY)
            config[_SUMS][ENCODER_DIRECTORY] = encoder_sha256(temporary / ENCODER_DIRECTORY)
        text = json.dumps(config, indent=2, ensure_ascii=False) + "\n"
        (temporary / CONFIG_FILE).write_text(text, encoding="utf-8", newline="\n")
        if model.card is not None:
            (temporary / CARD_FILE).write_text(model.card, encoding="utf-8", newline="\n")


def read_model(directory: str | os.PathLike[str]) -> SavedModel:
    """Reads what :func:`write_model` wrote.

    Raises:
        ModelError: The directory or one of its files is missing, truncated, not of this format, of
            a newer version of it, or not what was saved; or a tensor holds NaN or infinity. Models
            saved before sums were have none in ``config.json``: theirs are not compared.
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
            hint = f"; the run's model is {inside}" if (inside / CONFIG_FILE).is_file() else ""
            raise ModelError(f"{directory} is not a saved model: it has no {name}{hint}")
    config = directory / CONFIG_FILE
    name, arguments, tokenizer, inputs, trees, own_class, sums = _read_config(config)
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
        raise ModelError(f"{path}: truncated or no safetensors file: {error}") from None
    _check_tensors(tensors, str(directory / TENSORS_FILE))
    try:
        card = (directory / CARD_FILE).read_text(encoding="utf-8")
    except (OSError, ValueError):  # nothing depends on it
        card = None
    return SavedModel(
        name, arguments, vocab, tensors, tokenizer, inputs, trees, card=card, own_class=own_class
    )


def _save_tensors(tensors: dict[str, torch.Tensor], path: Path) -> None:
    try:
        save_file(tensors, path, metadata={"format": "pt"})
    except SafetensorError as error:
        # It knows errors of the system as text alone: "I/O error: ... (os error 28)".
        number = re.search(r"\(os error (\d+)\)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) from error


def _check_sum(path: Path, found: str, expected: str) -> None:
    if found != expected:
        raise ModelError(
            f"{path}: damaged or changed since it was saved: its SHA-256 is {found[:8]}..., "
            f"{CONFIG_FILE} says {expected[:8]}... (without {_SUMS!r} there, it is not checked)"
        )


def _check_tensors(tensors: Mapping[str, torch.Tensor], what: str) -> None:
    """Raises a ModelError unless all numbers are finite, and of one type that torch computes in.

    Word tables may be of half precision beside that.
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
            raise ModelError(f"{what}: the parameter {name!r} holds NaN or infinity")


def _config_of(model: SavedModel) -> dict[str, Any]:
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
    optional = {
        "class": model.own_class,
        "tokenizer": model.tokenizer,
        "inputs": model.inputs,
        "trees": model.trees,
    }
    return {**config, **{name: value for name, value in optional.items() if value is not None}}


def _read_config(path: Path) -> tuple[Any, ...]:
    """Name, arguments, tokenizer, inputs, trees, class, and sums of other files; None for none."""
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
    name, arguments = config.get("model"), config.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise ModelError(f"{path}: expected a name as 'model' and an object as 'arguments'")
    tokenizer, own_class = config.get("tokenizer"), config.get("class")
    for key, value in (("tokenizer", tokenizer), ("class", own_class)):
        if not isinstance(value, str | None):
            raise ModelError(f"{path}: expected a name as {key!r}, got {value!r}")
    inputs, trees = config.get("inputs"), config.get("trees")
    for key, value in (("inputs", inputs), ("trees", trees)):
        if not isinstance(value, dict | None):
            raise ModelError(f"{path}: expected an object as {key!r}, got {value!r}")
    sums = config.get(_SUMS, {})
    known = isinstance(sums, dict) and all(isinstance(value, str) for value in sums.values())
    if not known or (_SUMS in config and set(sums) - {ENCODER_DIRECTORY} != set(_SUMMED)):
        raise ModelError(f"{path}: expected in {_SUMS!r} the sums of {' and '.join(_SUMMED)}")
    return name, arguments, tokenizer, inputs, trees, own_class, sums


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


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
    temporary = directory.with_name(f".{directory.name}.{os.getpid()}.new")
    old = directory.with_name(f".{directory.name}.{os.getpid()}.old")
    with named(directory, temporary):
        directory.parent.mkdir(parents=True, exist_ok=True)
        recover(directory)
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
