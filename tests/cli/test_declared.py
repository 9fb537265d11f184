"""Declarations read from source agree with those of the imported modules."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import subprocess
import sys
from typing import get_type_hints

import pytest

from graphsent.cli import COMMANDS
from graphsent.cli.declared import (
    attribute,
    constant,
    docstrings,
    keys,
    options,
    parameters,
)
from graphsent.models import MODELS
from graphsent.tasks import TASKS
from graphsent.training import TrainingOptions
from graphsent.training.building import NOT_CHOSEN
from graphsent.training.inputs import InputOptions


def imported(place: str):
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("place", [*MODELS.values(), *TASKS.values()])
def test_parameters_and_docstrings(place):
    found = imported(place)
    signature = inspect.signature(found).parameters
    declared = parameters(place)
    assert {name: each.default for name, each in declared.items()} == {
        name: each.default for name, each in signature.items()
    }
    encoders = getattr(getattr(found, "encoder_class", None), "__mro__", ())
    classes = (*getattr(found, "__mro__", ()), *encoders)
    constructors = [vars(each).get("__init__") for each in classes]
    types: dict[str, object] = {}
    for function in reversed([found.__init__, *constructors] if constructors else [found]):
        if inspect.isfunction(function) and function.__module__.startswith("graphsent."):
            types |= get_type_hints(function)
    for name, each in declared.items():
        if name not in NOT_CHOSEN:
            assert each.annotation == types[name], name
    assert docstrings(place)[0] == inspect.getdoc(found)


@pytest.mark.parametrize("place", MODELS.values())
@pytest.mark.parametrize("name", ["training_defaults", "task_defaults", "task_option_defaults"])
def test_attributes_come_from_the_class_or_its_bases(place, name):
    assert attribute(place, name) == getattr(imported(place), name)


@pytest.mark.parametrize("cls", [TrainingOptions, InputOptions])
def test_options(cls):
    declared = options(f"{cls.__module__}:{cls.__name__}")
    types = get_type_hints(cls)
    fields = dataclasses.fields(cls)
    assert [each.name for each in declared] == [each.name for each in fields]
    for option, field in zip(declared, fields, strict=True):
        assert (option.type, option.default) == (types[field.name], field.default)
        assert option.help == field.metadata["help"]
        assert option.choices == field.metadata["choices"]


@pytest.mark.parametrize(
    "place",
    [
        "graphsent.models:MODELS",
        "graphsent.propagation:ENGINES",
        "graphsent.tasks:INPUT_KINDS",
        "graphsent.tasks:SPLITS",
        "graphsent.tasks:TASKS",
        "graphsent.trees:SHAPES",
    ],
)
def test_constants(place):
    assert constant(place) == imported(place)


def test_keys_of_a_dictionary_that_is_not_evaluated():
    place = "graphsent.tasks.sources:SOURCES"
    assert keys(place) == tuple(imported(place))


def test_parameters_without_a_default():
    assert parameters(MODELS["nbow"])["vocab"].default is inspect.Parameter.empty


def test_unknown_names_are_an_error():
    with pytest.raises(KeyError):
        parameters("graphsent.models:NoModel")


@pytest.mark.parametrize("command", [*COMMANDS, "train --model kimcnn --task sst2"])
def test_help_imports_nothing_that_takes_long(command):
    script = f"""
import sys
from graphsent.cli import main
try:
    main({[*command.split(), "--help"]})
except SystemExit:
    print("heavy", *{{"torch", "dgl", "numpy", "nltk", "pytorch_lightning"}} & set(sys.modules))
"""
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert result.stdout.endswith("\nheavy\n")
