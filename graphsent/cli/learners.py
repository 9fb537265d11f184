"""The options of tasks and models, for the flags of a command.

Options of the package's own are read from its source, see :mod:`graphsent.cli.declared`; custom
tasks and models are imported.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from inspect import Parameter
from types import MappingProxyType
from typing import Any, NamedTuple, get_type_hints

from graphsent._names import unknown
from graphsent._own import is_own
from graphsent.cli.declared import attribute, constant, docstrings, parameters
from graphsent.cli.usage import UsageError, descriptions, flag
from graphsent.errors import ModelError

__all__ = ["Learner", "add_options", "check_flags", "model_named", "task_named"]

_MODELS = constant("graphsent.models:MODELS")
_TASKS = constant("graphsent.tasks:TASKS")
_NOT_CHOSEN = constant("graphsent.training.building:NOT_CHOSEN")
_DEFAULTS = ("task_defaults", "task_option_defaults", "training_defaults")


class Learner(NamedTuple):
    """The options of a task or model.

    Attributes:
        options: Its options by name, annotated with types.
        documents: Docstrings that describe the options, the most specific first.
        is_own: Whether it is custom.
        defaults: Attribute of the model's class -> the defaults it overrides.
        hidden: Option that only the bases have -> end of the message that it does not exist.
    """

    options: Mapping[str, Parameter]
    documents: list[str]
    is_own: bool
    defaults: Mapping[str, Mapping[str, Any]]
    hidden: Mapping[str, str] = MappingProxyType({})


def model_named(name: str) -> Learner:
    """A model: its options are the user-settable arguments of its constructor.

    Raises:
        ModelError: There is no such model.
    """
    if not is_own(name):
        if name not in _MODELS:
            valid = [*sorted(_MODELS), "module:Class of your own"]
            raise ModelError(unknown("model", name, valid))
        place = _MODELS[name]
        found = parameters(place)
        options = {each: found[each] for each in found if each not in _NOT_CHOSEN}
        defaults = {each: attribute(place, each) for each in _DEFAULTS}
        return Learner(options, docstrings(place), False, defaults)
    from graphsent.cli.own_tasks import import_from_here
    from graphsent.models import model_class
    from graphsent.models.signatures import hidden_options, hints_of
    from graphsent.training.building import model_options

    import_from_here(name)
    cls = model_class(name)
    options = _annotated(model_options(name), hints_of(cls))
    classes = (cls, getattr(cls, "encoder_class", object), *cls.__mro__)
    documents = [inspect.cleandoc(each.__doc__ or "") for each in classes]
    defaults = {each: getattr(cls, each) for each in _DEFAULTS}
    return Learner(options, documents, True, defaults, hidden_options(cls))


def task_named(name: str) -> Learner:
    """A task: its options are the parameters of its function.

    Raises:
        DataError: There is no such task.
    """
    if name in _TASKS:
        place = _TASKS[name]
        return Learner(parameters(place), docstrings(place), False, {})
    from graphsent.cli.own_tasks import import_from_here
    from graphsent.tasks import task_maker, task_options

    import_from_here(name)
    make = task_maker(name)
    options = _annotated(task_options(name), _types(make))
    return Learner(options, [inspect.getdoc(make) or ""], True, {})


def check_flags(parser: Any, whose: str, names: Iterable[str]) -> None:
    """Raises a UsageError if the command already has a flag for one of the options."""
    for name in names:
        if flag(name) in parser.options:
            raise UsageError(
                f"the {whose} has an option {name!r}, but this command already has an option "
                f"{flag(name)}: expected another name"
            )


def add_options(
    group: Any,
    declared: Mapping[str, Parameter],
    documents: list[str],
    defaults: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Adds a flag per parameter, described by the first of the docstrings that documents it."""
    texts = {
        name: each for text in reversed(documents) for name, each in descriptions(text).items()
    }
    for name, each in declared.items():
        default = defaults.get(name, each.default)
        required = default is Parameter.empty
        hint = "required" if required else f"default: {default}"
        if name == "embedding_dim":
            hint += "; with --vectors, their size"
        help_ = f"{texts.get(name, '')} ({hint})"
        plain = str if required or default is None else type(default)
        kind = plain if each.annotation is Parameter.empty else each.annotation
        group.add_argument(flag(name), type=kind, help=help_.lstrip())


def _annotated(options: Mapping[str, Parameter], types: Mapping[str, Any]) -> dict[str, Parameter]:
    """Options with their types, where known, in place of expressions."""
    return {
        name: each.replace(annotation=types.get(name, Parameter.empty))
        for name, each in options.items()
    }


def _types(function: Any) -> dict[str, Any]:
    try:
        return get_type_hints(function.__init__ if inspect.isclass(function) else function)
    except NameError:  # a name that is only imported for type checkers
        return {}
