"""What users name as ``module:name`` wherever a name of the package could stand."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import Any

from graphsent._names import nearest
from graphsent.errors import GraphsentError

__all__ = ["find_own", "is_own", "reason_of"]


def is_own(name: str) -> bool:
    """Whether something is named as ``module:name``, from outside the package."""
    return re.fullmatch(r"[\w.]+:\w+", name) is not None


def find_own(
    name: str, what: str, kind: str, fits: Callable[[Any], bool], error: type[GraphsentError]
) -> Any:
    """What a user names as ``module:name``. The module is imported.

    Args:
        name: The name.
        what: What it stands for: ``"task"``.
        kind: What it must be, for errors: ``"function"``.
        fits: Whether something is.
        error: What is raised if it is not, or if the module cannot be imported.
    """
    module_name, _, attribute = name.partition(":")
    module = _imported(module_name, name, what, error)
    found = getattr(module, attribute, None)
    if not fits(found):
        others = [f"{module_name}:{each}" for each, value in vars(module).items() if fits(value)]
        lack = f"no {kind}" if hasattr(module, attribute) else "not there"
        raise error(
            f"unknown {what} {name!r}: {attribute!r} is {lack} in {module_name}"
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
    except (Exception, SystemExit) as error:  # whatever the module does when it is imported
        reason = f"{type(error).__name__}: {error}"
        raise raised(f"the {what} {name}: {module} cannot be imported: {reason}") from error


def _siblings(module: str) -> list[str]:
    """The modules in the same package as one, by their full names."""
    package, _, _ = module.rpartition(".")
    path = getattr(importlib.import_module(package), "__path__", []) if package else None
    prefix = f"{package}." if package else ""
    return [each.name for each in pkgutil.iter_modules(path, prefix)]


def reason_of(error: BaseException, cls: type) -> str:
    """What went wrong in a user's code, and in which line of it.

    Args:
        error: What was raised.
        cls: The class of the user.
    """
    try:
        path = inspect.getsourcefile(cls)
    except TypeError:  # written in no file
        path = None
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == path]
    place = f" ({path}:{lines[-1]})" if lines else ""
    return f"{type(error).__name__}: {error}{place}"
