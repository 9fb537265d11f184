"""The arguments of the models' constructors, whose ``**options`` stand for those of others."""

from __future__ import annotations

import functools
import inspect
from contextlib import suppress
from typing import Any, get_type_hints

__all__ = ["hidden_options", "hints_of", "signature_of"]


def signature_of(cls: type) -> inspect.Signature:
    """The parameters of a constructor, with its ``**options`` expanded.

    ``**options`` stands for the keyword-only parameters with defaults of the class's
    ``encoder_class`` and of its base class; the constructor itself sets the others.
    """
    return inspect.Signature(_parameters(cls.__mro__))


def _parameters(classes: tuple[type, ...]) -> list[inspect.Parameter]:
    place = next(place for place, cls in enumerate(classes) if "__init__" in vars(cls))
    _, *own = inspect.signature(vars(classes[place])["__init__"]).parameters.values()
    if own and own[-1].kind is inspect.Parameter.VAR_KEYWORD:
        encoder = vars(classes[place]).get("encoder_class")
        others = _parameters(encoder.__mro__) if encoder else []
        found = {each.name: each for each in own[:-1]}
        for each in (*others, *_parameters(classes[place + 1 :])):
            if each.kind is each.KEYWORD_ONLY and each.default is not each.empty:
                found.setdefault(each.name, each)
        own = [*found.values()]
    return own


def hidden_options(cls: type) -> dict[str, str]:
    """Arguments with defaults that the constructors of a class's bases take, but not its own.

    Args:
        cls: The class.

    Returns:
        Name -> end of the error message for an unknown option.
    """
    taken = signature_of(cls).parameters
    hidden: dict[str, str] = {}
    for base in cls.__mro__[1:-1]:
        for name, each in inspect.signature(vars(base).get("__init__", object)).parameters.items():
            if each.default is not each.empty and name not in taken:
                hidden.setdefault(
                    name,
                    f"; {base.__name__} has it: let the constructor of {cls.__name__} take "
                    f"{name}={each.default!r} and pass it on",
                )
    return hidden


@functools.cache
def hints_of(cls: type) -> dict[str, Any]:
    """The types of a constructor's arguments, with its ``**options`` expanded.

    Args:
        cls: The class, possibly with an ``encoder_class``.
    """
    hints: dict[str, Any] = {}
    encoder = getattr(cls, "encoder_class", object)
    for each in (*reversed(encoder.__mro__), *reversed(cls.__mro__)):
        with suppress(NameError):  # unresolved annotations of a custom model
            hints |= get_type_hints(vars(each).get("__init__", object))
    return hints
