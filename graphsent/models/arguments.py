"""Shared checks of the models' constructor arguments."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any, get_args, get_origin

import numpy as np

from graphsent._numbers import is_integer
from graphsent.errors import ModelError
from graphsent.models.signatures import hints_of

__all__ = [
    "check_classes",
    "check_limits",
    "check_rates",
    "check_sizes",
    "check_types",
    "class_names",
    "without_numpy",
]

_LARGEST = 10**6  # larger sizes would only exhaust memory
_KINDS: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    int: ("an integer", is_integer),
    float: ("a number", lambda value: isinstance(value, Real) and type(value) is not bool),
    str: ("a string", lambda value: isinstance(value, str)),
    bool: ("true or false", lambda value: type(value) is bool),
}


def check_types(cls: type, arguments: Mapping[str, Any]) -> None:
    """Raises a ModelError if an argument annotated with a plain type has another type.

    Args:
        cls: The class whose constructor takes the arguments.
        arguments: Its arguments by name.
    """
    hints = hints_of(cls)
    for name, value in arguments.items():
        _check_type(name, hints.get(name), value)


def _check_type(name: str, hint: Any, value: Any) -> None:
    if get_origin(hint) is tuple:  # of any length, all of one type; a list in JSON
        if not isinstance(value, list | tuple):
            raise ModelError(f"{name}: expected a list, got {value!r}")
        for place, each in enumerate(value):
            _check_type(f"{name}[{place}]", get_args(hint)[0], each)
    expected, holds = _KINDS.get(hint, ("", None))
    if holds is not None and not holds(value):
        raise ModelError(f"{name}: expected {expected}, got {value!r}")


def without_numpy(value: Any) -> Any:
    """A value with numbers of Python instead of numpy's, also in lists."""
    if type(value) in (list, tuple):
        return type(value)(map(without_numpy, value))
    return value.item() if isinstance(value, np.generic) else value


def check_sizes(**sizes: int) -> None:
    """Raises a ModelError unless every size is an integer from 1 to a million."""
    for name, size in sizes.items():
        if not is_integer(size):
            raise ModelError(f"{name}: expected an integer, got {size!r}")
        if size < 1:
            raise ModelError(f"{name}: expected at least 1, got {size}")
        if size > _LARGEST:
            raise ModelError(f"{name}: expected at most {_LARGEST}, got {size}")


def check_rates(**rates: float) -> None:
    """Raises a ModelError unless every rate is a probability."""
    for name, rate in rates.items():
        if not 0 <= rate <= 1:
            raise ModelError(f"{name}: expected a probability from 0 to 1, got {rate}")


def check_limits(**limits: float) -> None:
    """Raises a ModelError unless every limit is a finite number that is not negative."""
    for name, limit in limits.items():
        if not 0 <= limit < math.inf:
            raise ModelError(f"{name}: expected a positive number, or 0 for no limit, got {limit}")


def check_classes(gold: Any, num_classes: int, unit: str) -> None:
    """Raises a ModelError if a gold value is not a class (-1 means unlabelled).

    Args:
        gold: Integers.
        num_classes: Number of classes.
        unit: What a value belongs to, for the message: ``"node"`` or ``"pair"``.
    """
    if len(gold) and int(gold.max()) >= num_classes:
        raise ModelError(
            f"the model has {num_classes} classes, 0 to {num_classes - 1}, but a {unit} has the "
            f"label {int(gold.max())}"
        )


def class_names(num_classes: int, names: Sequence[str] | None) -> tuple[str, ...]:
    """The names of classes 0, 1, ..., by default these numbers.

    Raises:
        ModelError: There are no classes, or the names are not one distinct string per class.
    """
    check_sizes(num_classes=num_classes)
    if names is not None and (
        isinstance(names, str)
        or not isinstance(names, Sequence)
        or not all(isinstance(name, str) for name in names)
    ):
        raise ModelError(f"label_names: expected a list of strings, got {names!r}")
    checked = tuple(map(str, range(num_classes)) if names is None else names)
    if len(checked) != num_classes:
        raise ModelError(f"label_names: expected {num_classes} names, one per class, got {checked}")
    if len(set(checked)) < num_classes:
        twice = next(name for name, count in Counter(checked).items() if count > 1)
        raise ModelError(f"label_names: expected distinct names, got {twice!r} more than once")
    return checked
