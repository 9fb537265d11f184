"""Custom objects, given as ``module:name`` wherever a built-in name is accepted."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from graphsent._names import nearest
from graphsent.errors import GraphsentError

__all__ = ["find_own", "is_own", "made", "reason_of"]


def is_own(name: str) -> bool:
    """Whether a name has the form ``module:name`` of a custom object."""
    return re.fullmatch(r"[\w.]+:\w+", name) is not None


def find_own(
    name: str, what: str, kind: str, fits: Callable[[Any], bool], error: type[GraphsentError]
) -> Any:
    """Imports the module of ``module:name``, and returns the object.

    Args:
        name: The name, ``module:name``.
        what: What it names, for errors, such as ``"task"``.
        kind: What it must be, for errors, such as ``"function"``.
        fits: Predicate for objects of that kind.
        error: Class of the error if the object does not fit, or the module cannot be imported.
    """
    module_name, _, attribute = name.partition(":")
    module = _imported(module_name, name, what, error)
    found = getattr(module, attribute, None)
    if not fits(found):
        others = [f"{module_name}:{each}" for each, value in vars(module).items() if fits(value)]
        fault = f"is not a {kind}" if hasattr(module, attribute) else "does not exist"
        raise error(
            f"unknown {what} {name!r}: {attribute!r} in {module_name} {fault}"
            f"{nearest(name, others)}"
        )
    return found


def _imported(module: str, name: str, what: str, raised: type[GraphsentError]) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise raised(f"the {what} {name}: {module} cannot be imported: {error}") from error
        hint = nearest(error.name, _siblings(error.name))
        message = f"unknown {what} {name!r}: there is no module {error.name!r}{hint}"
        raise raised(message) from None
    except (Exception, SystemExit) as error:  # importing runs arbitrary code
        reason = f"{type(error).__name__}: {error}"
        raise raised(f"the {what} {name}: {module} cannot be imported: {reason}") from error


def _siblings(module: str) -> list[str]:
    """The full names of the modules in the same package; without one, those not of Python."""
    package, _, _ = module.rpartition(".")
    path = getattr(importlib.import_module(package), "__path__", []) if package else None
    prefix = f"{package}." if package else ""
    names = [each.name for each in pkgutil.iter_modules(path, prefix)]
    return [name for name in names if name not in sys.stdlib_module_names]


def made(
    name: str,
    what: str,
    make: Callable[..., Any],
    arguments: Mapping[str, Any],
    raised: type[GraphsentError],
) -> Any:
    """The result of a custom class or function.

    Args:
        name: Its name, ``module:name``.
        what: What it makes, for errors, such as ``"task"``.
        make: The class or function.
        arguments: Its arguments.
        raised: Class of the error that replaces exceptions of its code.
    """
    try:
        return make(**arguments)
    except GraphsentError:
        raise
    except (Exception, SystemExit) as error:
        reason = reason_of(error, make)
        raise raised(f"the {what} {name} cannot be created: {reason}") from error


def reason_of(error: BaseException, code: Callable[..., Any]) -> str:
    """A description of an error in a user's code, with the line where it occurred.

    Args:
        error: The error.
        code: The user's class or function, in a module or a notebook.
    """
    places = [
        f" ({frame.f_code.co_filename}:{line})"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_globals.get("__name__") == code.__module__
    ]
    return f"{type(error).__name__}: {error}{places[-1] if places else ''}"
