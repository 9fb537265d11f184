"""Run configurations: everything needed to repeat a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import yaml

from graphsent._files import write_atomically
from graphsent._names import check_choice
from graphsent.errors import DataError, ModelError
from graphsent.models import model_class
from graphsent.parsing import Parser, load_parser
from graphsent.parsing.errors import WrongKind
from graphsent.tasks import INPUT_KINDS, SPLITS, Task, TaskData, get_task, with_trees
from graphsent.tasks.corpus import TREE_KINDS, WORDS
from graphsent.tokenizers import TOKENIZERS
from graphsent.training.config_file import read_settings, to_yaml
from graphsent.training.errors import TrainingError
from graphsent.training.inputs import InputOptions
from graphsent.training.options import TrainingOptions
from graphsent.trees import SHAPES

__all__ = ["RunConfig", "default_training"]

_STRING, _OPTIONS = (str | None, "a string"), (dict, "names with values")
_SWITCH = (bool, "true or false")
_CHOICES = {"tree_kind": INPUT_KINDS, "trees": SHAPES, "tokenizer": TOKENIZERS}
_KINDS: dict[str, tuple[Any, str]] = {
    "task": (str, "a name"),
    "model": (str, "a name"),
    "task_options": _OPTIONS,
    "model_options": _OPTIONS,
    "data_dir": _STRING,
    "tree_kind": _STRING,
    "parses_dir": _STRING,
    "trees": _STRING,
    "vectors": (list | tuple, "a list of files"),
    "lower_fallback": _SWITCH,
    "tokenizer": _STRING,
    "parser": _STRING,
    "inputs": (InputOptions, "InputOptions"),
    "stream": _SWITCH,
    "training": (TrainingOptions | None, "TrainingOptions"),
}


@dataclass(frozen=True)
class RunConfig:
    """The complete configuration of a training run.

    Attributes:
        task: Name of the task, or ``module:function`` of a custom one, which is imported.
        task_options: Arguments of ``get_task`` besides the name.
        model: Name of the model, or ``module:Class`` of a custom one, which is imported.
        model_options: Arguments of the model's class, except the vocabulary, the classes and, with
            vectors, the embedding dimension, which follow from the data.
        data_dir: Data directory; None for the default one.
        tree_kind: ``"constituency"``, ``"dependency"`` or ``"words"``; None for the kind that the
            model is made for.
        parses_dir: Directory of parse trees that the corpus itself lacks; None for the default one.
        trees: Shape of artificial trees that replace the parses, as a control; one of
            :data:`graphsent.trees.SHAPES`.
        vectors: Files of pre-trained word vectors.
        lower_fallback: Whether to look up unknown words in lower case.
        tokenizer: Tokenizer of raw text for the trained model, one of
            :data:`graphsent.tokenizers.TOKENIZERS`; None for that of the task, or for models that
            read trees.
        parser: Parser for sentences without trees, a name for
            :func:`graphsent.parsing.load_parser`; None if they have trees.
        inputs: Word inputs of the model.
        stream: Whether to read examples from shards on disk instead of keeping them in memory.
        training: Training options; by default those of the model's paper.
    """

    task: str
    model: str
    task_options: dict[str, Any] = field(default_factory=dict)
    model_options: dict[str, Any] = field(default_factory=dict)
    data_dir: str | None = None
    tree_kind: str | None = None
    parses_dir: str | None = None
    trees: str | None = None
    vectors: tuple[str, ...] = ()
    lower_fallback: bool = True
    tokenizer: str | None = None
    parser: str | None = None
    inputs: InputOptions = field(default_factory=InputOptions)
    stream: bool = False
    training: TrainingOptions = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        """Checks all values, and fills in default training options.

        NumPy scalars become Python numbers, and paths strings.

        Raises:
            DataError: A value is of the wrong type, or there is no such kind or shape of trees or
                tokenizer.
        """
        for name, (kind, expected) in _KINDS.items():
            value = _plain(getattr(self, name))
            if not isinstance(value, kind):
                raise DataError(f"{name}: expected {expected}, got {value!r}")
            object.__setattr__(self, name, value)
        for name, valid in _CHOICES.items():
            if getattr(self, name) is not None:
                check_choice(name, getattr(self, name), valid, DataError)
        if not all(isinstance(each, str) for each in self.vectors):
            raise DataError(f"vectors: expected a list of files, got {self.vectors!r}")
        object.__setattr__(self, "vectors", tuple(self.vectors))
        for name in ("task_options", "model_options"):
            if not all(isinstance(each, str) for each in getattr(self, name)):
                raise DataError(f"{name}: expected {_OPTIONS[1]}, got {getattr(self, name)!r}")
            try:
                to_yaml(getattr(self, name))
            except yaml.YAMLError:
                expected = "numbers, strings, and lists and dictionaries of them"
                raise DataError(f"{name}: expected {expected}, got {getattr(self, name)}") from None
        if self.training is None:
            object.__setattr__(self, "training", default_training(self.model))

    @property
    def input_kind(self) -> str:
        """The kind that the model reads, by default the one that it is made for.

        Raises:
            ModelError: There is no such model.
        """
        return self.tree_kind or model_class(self.model).tree_kind

    def to_dict(self) -> dict[str, Any]:
        """Converts the configuration to plain values for YAML and JSON."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        parts = {name: getattr(self, name).to_dict() for name in ("inputs", "training")}
        return {**values, "vectors": list(self.vectors), **parts}

    def load_data(
        self,
        data_dir: str | os.PathLike[str] | None = None,
        splits: Sequence[str] | None = None,
        label_names: Sequence[str] = (),
        *,
        held_out: Mapping[str, Any] | None = None,
        echo: Callable[[str], None] = lambda line: None,
    ) -> tuple[Task, TaskData]:
        """Loads the task and its examples, in the form that the model reads.

        Args:
            data_dir: Data directory to use instead of the configuration's.
            splits: Which of ``train``, ``dev`` and ``test`` to load; by default all of them, and
                ``test`` only if it exists.
            label_names: Classes of a trained model, for tasks that find their classes in the data.
            held_out: What the run held out of the training data, see
                :attr:`~graphsent.tasks.TaskData.held_out`.
            echo: Called with lines about what has to be parsed.

        Raises:
            DataError: Task, corpus or parses cannot be used.
            ModelError: There is no such model.
            TrainingError: The parser does not return the trees that the model reads.
            ParserError: There is no such parser.
            ParserFailed: The parser does not work.
        """
        task = get_task(self.task, **self.task_options)
        if task.finds_labels:
            task.label_names = tuple(label_names)
        task.held_out = held_out
        if splits is None:
            splits = [split for split in SPLITS if split != "test" or split in task.available]
        task.tokenizer = self.tokenizer or task.tokenizer
        if self.parser is not None:
            parser = self.load_parser()
            task.tokenizer = "whitespace"  # the parser tokenizes raw text
            data = task.load(data_dir or self.data_dir, splits, tree_kind=WORDS)
            return task, with_trees(data, parser, echo)
        # N-best lists are among the parses, and would not be those of another data directory.
        elsewhere = data_dir is not None and task.examples == "lists"
        data = task.load(
            data_dir or self.data_dir,
            splits,
            tree_kind=self.input_kind,
            parses_dir=None if elsewhere else self.parses_dir,
            trees=self.trees,
        )
        return task, data

    def load_parser(self) -> Parser:
        """Loads the parser of the configuration, for the kind of trees that the model reads.

        Raises:
            TrainingError: The model reads words, or the other kind of trees; or the configuration
                has artificial trees or shards.
            ParserError: There is no such parser.
            ParserFailed: Its package is not installed.
        """
        assert self.parser is not None, "there is no parser to load"
        kind = self.input_kind
        if kind == WORDS:
            raise TrainingError(f"parser: the model {self.model!r} reads words and needs none")
        if self.trees is not None:
            raise TrainingError(f"parser: {self.trees} trees need none")
        if self.stream:
            raise TrainingError(
                "parser: --stream reads trees from files: parse first, with graphsent parse"
            )
        try:
            return load_parser(self.parser, kind)
        except WrongKind as error:
            other = next(each for each in TREE_KINDS if each != kind)
            hint = "" if self.tree_kind else f" (or --tree-kind {other})"
            raise TrainingError(f"parser for the model {self.model!r}: {error}{hint}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the configuration as YAML, atomically."""
        write_atomically(path, to_yaml(self.to_dict()))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, of_run: bool = False) -> RunConfig:
        """Reads a configuration written by :meth:`save`, or any part of one with task and model.

        Args:
            path: The file.
            of_run: As in :meth:`from_dict`.

        Raises:
            DataError: The file is missing or is not a valid configuration.
        """
        settings = read_settings(path)
        for line, message in settings.set_twice():
            raise DataError(f"{path}:{line}: {message}")
        values = settings.values
        try:
            return cls.from_dict(values, of_run=of_run)
        except (DataError, TrainingError) as error:
            raise DataError(f"{path}: {error}") from None

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], *, of_run: bool = False) -> RunConfig:
        """Inverse of :meth:`to_dict`; missing settings get their defaults.

        Args:
            values: The settings.
            of_run: Whether they belong to an existing run. Its model may be third-party code, and
                is not imported for its default options: settings missing from a run did not exist
                yet when it began.

        Raises:
            DataError: A name is unknown or missing, or a value has the wrong type or is not among
                the choices.
            TrainingError: A training option is out of range.
        """
        values = dict(values)
        for part, options in {"training": TrainingOptions, "inputs": InputOptions}.items():
            for name in values.keys() & {item.name for item in fields(options)}:
                raise DataError(f"{name!r} is an option of {part!r}: expected it below that")
        _check_names(values, cls, "option")
        for part in ("training", "inputs"):
            if not isinstance(values.setdefault(part, {}), dict):
                raise DataError(f"{part}: expected names with values, got {values[part]!r}")
        inputs, training = values.pop("inputs"), values.pop("training")
        _check_names(inputs, InputOptions, "option of inputs")
        _check_names(training, TrainingOptions, "training option")
        values = {"task": None, "model": None, **values}
        config = cls(**values, inputs=InputOptions(**inputs), training=TrainingOptions())
        if not of_run and training.keys() < {item.name for item in fields(TrainingOptions)}:
            training = {**default_training(config.model).to_dict(), **training}
        return replace(config, training=TrainingOptions(**training))


def _plain(value: Any) -> Any:
    """The value, with NumPy scalars as Python numbers and paths as strings."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def default_training(model: str) -> TrainingOptions:
    """The default training options of a model; the general defaults for an unknown model.

    Raises:
        DataError: The model's class sets an unknown option.
        TrainingError: The model's class sets a value that is out of range.
    """
    try:
        defaults = model_class(model).training_defaults
    except ModelError:  # reported when the model is built
        defaults = {}
    _check_names(defaults, TrainingOptions, f"training option of {model}")
    return TrainingOptions(**defaults)


def _check_names(values: Mapping[str, Any], cls: type, what: str) -> None:
    valid = [item.name for item in fields(cls)]
    for name in values:
        check_choice(what, str(name), valid, DataError)
