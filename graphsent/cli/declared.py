"""Declarations of the package's modules, read from their source.

Importing the models takes seconds, since they import torch: too long for a help text or for a
message about a misspelt option. These need only names, defaults, types and texts, all of which are
plain expressions in the source. Names in them are resolved as the module itself does: from its
own assignments, from other modules of the package, which are not imported either, and from the
standard library.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
from collections.abc import Iterator, Mapping
from inspect import Parameter
from pathlib import Path
from typing import Any, NamedTuple

__all__ = [
    "Option",
    "attribute",
    "constant",
    "docstrings",
    "keys",
    "options",
    "parameters",
]

_PACKAGE = Path(__file__).resolve().parent.parent


class Option(NamedTuple):
    """A field of a dataclass of settings, declared by ``option(default, text, choices)``."""

    name: str
    type: type
    default: Any
    help: str
    choices: tuple[str, ...] | None


def constant(place: str) -> Any:
    """The value of a module-level name, as in ``constant("graphsent.models:MODELS")``."""
    module, _, name = place.partition(":")
    return _Names(module)[name]


def keys(place: str) -> tuple[str, ...]:
    """The keys of a module-level dictionary, without evaluating its values."""
    module, _, name = place.partition(":")
    names = _Names(module)
    found: Any = names.statements[name]  # an assignment of a dictionary
    return tuple(map(names.evaluate, found.value.keys))


def parameters(place: str) -> dict[str, Parameter]:
    """The parameters of a function or class by name, with types and values, not expressions.

    ``**options`` of a constructor stand, as for :func:`graphsent.models.signatures.signature_of`,
    for the keyword-only parameters with defaults of the class's ``encoder_class`` and of the next
    constructor among the bases.
    """
    names, found = _found(place)
    if isinstance(found, ast.FunctionDef):
        declared = list(_declared(names, found.args))
    else:
        declared = _of_constructor(_classes(names, found))
    return {each.name: each for each in declared}


def docstrings(place: str) -> list[str]:
    """The docstring of a function, or those of a class, its encoder and its bases."""
    names, found = _found(place)
    if isinstance(found, ast.FunctionDef):
        return [ast.get_docstring(found) or ""]
    classes = _classes(names, found)
    encoders = [encoder for each in classes for encoder in _encoder(*each)]
    return [ast.get_docstring(each) or "" for _, each in (classes[0], *encoders, *classes[1:])]


def attribute(place: str, name: str) -> Any:
    """The value of an attribute in the body of a class, or of the nearest base that sets it."""
    classes = _classes(*_found(place))
    number, statement = next(_members(classes, name))
    return classes[number][0].evaluate(statement.value)


def options(place: str) -> list[Option]:
    """The fields of a dataclass of settings, in order."""
    names, found = _found(place)
    fields: list[Any] = [each for each in found.body if isinstance(each, ast.AnnAssign)]
    declared = []
    for field in fields:
        default, text, *choices = map(names.evaluate, field.value.args)
        kind = names.evaluate(field.annotation)
        declared.append(Option(field.target.id, kind, default, text, *(choices or [None])))
    return declared


class _Names(Mapping[str, Any]):
    """The names of a module, evaluated on access."""

    def __init__(self, module: str) -> None:
        self.statements = {name: each for each in _parsed(module).body for name in _bound(each)}

    def __getitem__(self, name: str) -> Any:
        found = self.statements.get(name)
        if found is None:
            return getattr(builtins, name)
        if isinstance(found, ast.ImportFrom):
            module, original = _origin(found, name)
            if module.startswith("graphsent"):
                return _Names(module)[original]
            return getattr(importlib.import_module(module), original)
        if isinstance(found, ast.Assign | ast.AnnAssign):
            return self.evaluate(found.value)
        return object  # a class or function, which occurs only in annotations

    def __iter__(self) -> Iterator[str]:
        return iter(self.statements)

    def __len__(self) -> int:
        return len(self.statements)

    def evaluate(self, node: ast.expr | None) -> Any:
        """The value of an expression in the module; None for no expression."""
        if node is None:
            return None
        return eval(compile(ast.Expression(node), "<declared>", "eval"), {}, self)


@functools.cache
def _parsed(module: str) -> ast.Module:
    path = _PACKAGE.parent.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(path.read_text(encoding="utf-8"))


def _bound(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.ImportFrom(names=names):
            return [each.asname or each.name for each in names]
    return []


def _origin(statement: ast.ImportFrom, name: str) -> tuple[str, str]:
    (original,) = (each.name for each in statement.names if (each.asname or each.name) == name)
    return statement.module or "", original


def _found(place: str) -> tuple[_Names, Any]:
    """The definition of a function or class, and the names of its module."""
    module, _, name = place.partition(":")
    names = _Names(module)
    found = names.statements[name]
    if isinstance(found, ast.ImportFrom):
        return _found(":".join(_origin(found, name)))
    return names, found


def _of_constructor(classes: list[tuple[_Names, ast.ClassDef]]) -> list[Parameter]:
    """The parameters of the first constructor of a class and its bases, including options."""
    for number, constructor in _members(classes, "__init__"):
        names, found = classes[number]
        _, *own = _declared(names, constructor.args)  # without self
        if constructor.args.kwarg is None:
            return own
        known = {each.name: each for each in own}
        encoders = _encoder(names, found)
        for each in (*_of_constructor(encoders), *_of_constructor(classes[number + 1 :])):
            if each.kind is each.KEYWORD_ONLY and each.default is not each.empty:
                known.setdefault(each.name, each)
        return [*known.values()]
    return []


def _encoder(names: _Names, found: ast.ClassDef) -> list[tuple[_Names, ast.ClassDef]]:
    """The encoder class set in the body of a model class, with its bases."""
    for _, statement in _members([(names, found)], "encoder_class"):
        return _class_of(names, statement.value)
    return []


def _declared(names: _Names, declared: ast.arguments) -> Iterator[Parameter]:
    positional = [*declared.posonlyargs, *declared.args]
    without = [None] * (len(positional) - len(declared.defaults))
    defaults = [*without, *declared.defaults, *declared.kw_defaults]
    for each, default in zip([*positional, *declared.kwonlyargs], defaults, strict=True):
        is_option = each in declared.kwonlyargs
        yield Parameter(
            each.arg,
            Parameter.KEYWORD_ONLY if is_option else Parameter.POSITIONAL_OR_KEYWORD,
            default=Parameter.empty if default is None else names.evaluate(default),
            annotation=names.evaluate(each.annotation) if each.annotation else Parameter.empty,
        )


def _members(classes: list[tuple[_Names, ast.ClassDef]], name: str) -> Iterator[tuple[int, Any]]:
    """The definitions of a member in some classes, each with the number of its class."""
    for number, (_, found) in enumerate(classes):
        for statement in found.body:
            if name in _bound(statement):
                yield number, statement


def _classes(names: _Names, found: ast.ClassDef) -> list[tuple[_Names, ast.ClassDef]]:
    """A class and its bases in the package, each after its subclasses, as in the MRO."""
    classes = [(names, found)]
    for base in found.bases:
        classes += _class_of(names, base)
    last = {each: place for place, (_, each) in enumerate(classes)}
    return [each for place, each in enumerate(classes) if last[each[1]] == place]


def _class_of(names: _Names, name: ast.expr) -> list[tuple[_Names, ast.ClassDef]]:
    """The class of a name and its bases, as :func:`_classes`; empty outside the package."""
    if not isinstance(name, ast.Name):
        return []
    definition = names.statements.get(name.id)
    if isinstance(definition, ast.ClassDef):
        return _classes(names, definition)
    if isinstance(definition, ast.ImportFrom):
        module, original = _origin(definition, name.id)
        if module.startswith("graphsent"):
            return _classes(*_found(f"{module}:{original}"))
    return []
