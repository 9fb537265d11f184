"""Checks a settings file for all errors, before anything is read or trained."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import torch

from graphsent.errors import GraphsentError, ModelError
from graphsent.tasks import SPLITS, Task, get_task, resolve_data_dir
from graphsent.tasks.data_dir import existing_directory
from graphsent.training.building import CHECKS, build_model, model_options
from graphsent.training.config import RunConfig
from graphsent.training.config_file import Settings
from graphsent.training.inputs import InputOptions
from graphsent.training.selection import selection_of
from graphsent.vocabulary import Vocabulary

__all__ = ["Fault", "config_faults"]

_PARTS = ("inputs", "training")
_STAND_INS = {"task": "sst5", "model": "nbow"}  # if those in the file are invalid
_OWN_FILES = (*SPLITS, *(f"{split}_trees" for split in SPLITS))  # options of the task own

_Place = tuple[str, ...]  # path of names to a setting


class Fault(NamedTuple):
    """An error at a line of the file; line 0 if it concerns no particular line."""

    line: int
    message: str


def config_faults(settings: Settings) -> list[Fault]:
    """All errors in the settings of a run, in the order of their lines.

    Checks names and values, including those of the task and the model, and whether files and
    directories exist. Does not read corpora or word vectors.
    """
    lines = dict(reversed([*settings.places()]))  # the first of each
    faults = [Fault(line, message) for line, message in settings.set_twice()]
    for place, message in _faults(dict(settings.values)):
        line = next((lines[place[:n]] for n in (2, 1) if place[:n] in lines), 0)
        faults.append(Fault(line, message))
    return sorted(faults)


def _faults(values: dict[str, Any]) -> Iterator[tuple[_Place, str]]:
    """Each error and its path; removes faulty settings from ``values``."""
    given = {name: values[name] for name in _STAND_INS if isinstance(values.get(name), str)}
    for name in _STAND_INS:
        if name not in values:
            yield (), f"{name} is missing: expected a name"
    for part in _PARTS:
        if not isinstance(values.get(part), dict):
            continue

        def check(chosen: Mapping[str, Any], part: str = part) -> None:
            RunConfig.from_dict({**_STAND_INS, **given, part: chosen})

        faults = list(_blamed(check, values[part]))
        yield from (((part, name or ""), message) for name, message in faults)
        faulty = [name for name, _ in faults]
        sound = {name: value for name, value in values[part].items() if name not in faulty}
        values[part] = {} if None in faulty else sound
    for blamed, message in _blamed(lambda v: RunConfig.from_dict({**_STAND_INS, **v}), values):
        yield (blamed or "",), message
        values.pop(blamed or "", None)
    for path in values.get("vectors", ()):
        if not os.path.isfile(os.path.expanduser(path)):
            yield ("vectors",), f"vectors: there is no file {path}"
    encoder = values.get("inputs", {}).get("encoder")
    if encoder and not os.path.isdir(os.path.expanduser(encoder)):
        yield ("inputs", "encoder"), f"encoder: there is no directory {encoder}"
    if all(name in values for name in _STAND_INS):
        yield from _faults_of_task_and_model(RunConfig.from_dict(values))


def _faults_of_task_and_model(config: RunConfig) -> Iterator[tuple[_Place, str]]:
    missing = list(_missing_files(config))
    yield from missing
    parts = {"task": _check_task, "model": _check_model}
    are_sound = not any(name.startswith("train") for (_, name), _ in missing)
    if not are_sound:
        del parts["model"]  # whose classes are the labels of train
    for part, check in parts.items():
        options = dict(getattr(config, f"{part}_options"))
        for name, message in _blamed(functools.partial(check, config), options):
            if name is None:
                are_sound = False
            else:
                del options[name]
            yield (part,) if name is None else (f"{part}_options", name), message
        sound: dict[str, Any] = {f"{part}_options": options}
        config = replace(config, **sound)
    if not are_sound:
        return
    task = _task_without_data(config)
    checks: dict[_Place, Callable[[RunConfig, Task], Any]] = {
        **CHECKS,
        ("training", "select"): lambda config, task: selection_of(task, config.training.select),
        ("data_dir",): lambda config, task: task.corpora and resolve_data_dir(config.data_dir),
        ("parses_dir",): _check_parses_dir,
        ("parser",): lambda config, _: config.parser is not None and config.load_parser(),
    }
    for place, complains in checks.items():
        complaint = _complaint(complains, config, task)
        if complaint is not None:
            yield place, complaint


def _missing_files(config: RunConfig) -> Iterator[tuple[tuple[str, str], str]]:
    """Each file of a user's own data that does not exist."""
    for name in _OWN_FILES if config.task == "own" else ():
        given = config.task_options.get(name)
        paths = given.values() if isinstance(given, dict) else [given]
        for path in given if isinstance(given, list) else paths:
            if isinstance(path, str) and path and not os.path.isfile(os.path.expanduser(path)):
                yield ("task_options", name), f"{name}: there is no file {path}"


def _check_parses_dir(config: RunConfig, _task: Task) -> None:
    """Raises a DataError if the given directory of parses does not exist."""
    if config.parses_dir is not None:
        existing_directory(config.parses_dir, "the given parses directory")


def _check_task(config: RunConfig, options: Mapping[str, Any]) -> None:
    get_task(config.task, **options)


def _check_model(config: RunConfig, options: Mapping[str, Any]) -> None:
    """Builds the model on the meta device."""
    try:
        task = _task_without_data(config)
    except GraphsentError:
        task = get_task(_STAND_INS["task"])
    options = dict(options)
    if config.inputs.encoder and "embedding_dim" in model_options(config.model):
        # It is the size of the word vectors besides the encoder's features, of which there may be
        # none.
        options["embedding_dim"] = options.get("embedding_dim") or 1
    plain = replace(config, model_options=options, vectors=(), inputs=InputOptions())
    try:
        with torch.device("meta"):
            build_model(plain, task, Vocabulary(()), None, None)
    except ModelError as error:
        if not isinstance(error.__cause__, NotImplementedError):  # of a custom model: not on meta
            raise


def _task_without_data(config: RunConfig) -> Task:
    """The task, with two labels if it finds its labels in the data."""
    task = get_task(config.task, **config.task_options)
    if task.finds_labels:
        task.label_names = ("0", "1")
    return task


def _blamed(
    check: Callable[[Mapping[str, Any]], Any], values: Mapping[str, Any]
) -> Iterator[tuple[str | None, str]]:
    """The errors that a check of some settings raises, each with the setting that causes it.

    The setting is None, and the error the last one, if removing no single setting avoids it.
    """
    rest = dict(values)
    while (message := _complaint(check, rest)) is not None:
        others = ({name: rest[name] for name in rest if name != each} for each in rest)
        complaints = (_complaint(check, each) for each in others)
        names = (name for name, each in zip(rest, complaints, strict=True) if each != message)
        found = next(names, None)
        yield found, message
        if found is None:
            return
        del rest[found]


def _complaint(check: Callable[..., Any], *arguments: Any) -> str | None:
    try:
        check(*arguments)
    except GraphsentError as error:
        return str(error)
    return None
