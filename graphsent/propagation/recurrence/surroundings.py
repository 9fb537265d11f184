"""Variables other than tensors that the functions of a cell read: they may change between calls."""

from __future__ import annotations

import ctypes
import pickle
import random
import sys
import weakref
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dis import get_instructions
from functools import lru_cache, partial
from logging import Logger
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    ModuleType,
)
from typing import Any

import numpy as np
from torch import Tensor, nn

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_MUTABLE = (list, set, deque, dict)
_CONTAINERS = (*_MUTABLE, tuple, frozenset)
_OF_BYTES = (
    *(array, bytearray, memoryview),
    *(ctypes._SimpleCData, ctypes.Array, ctypes.Structure),  # as in multiprocessing.Value
)
_GENERATORS = (random.Random, np.random.Generator, np.random.RandomState)  # torch's are refused
_LEAVES = (Tensor, ModuleType, type, Logger, CodeType)
"""What they refer to is not compared, except variables of modules and classes that code names."""
_METHODS = (FunctionType, staticmethod, classmethod)
_LONG = 1000
"""Of longer lists and dictionaries, only the length is compared."""
_MOST = 10_000
"""With more names and values than this, nothing is watched: it would take 10 ms of each call."""
_BYTES = 1024
"""As long as a part takes so many bytes of an array."""
_LIBRARIES = ("builtins", "collections", "dgl", "torch", "numpy", __name__.partition(".")[0])
Variable = Callable[[], Any]
"""A variable outside the cell, as a function that returns its current value."""


class TooManyParts(Exception):
    """A value refers to too many others to be watched."""


class _Same:
    """Compares by identity, without keeping the object alive."""

    def __init__(self, value: Any) -> None:
        self.value: Callable[[], Any]
        try:
            self.value = weakref.ref(value)
        except TypeError:
            self.value = lambda: value

    def __eq__(self, other: object) -> bool:
        value = self.value()
        return isinstance(other, _Same) and value is not None and value is other.value()


class Walk:
    """A walk through values and all that they contain, each of which it enters once.

    Args:
        known: Values that it does not enter.
    """

    def __init__(self, known: Iterable[Any] = ()) -> None:
        self.left = _MOST
        self.seen = {id(value): value for value in known}  # alive: identities are not used again

    def take(self, count: int) -> None:
        """Counts parts; raises TooManyParts after too many."""
        self.left -= count
        if self.left < 0:
            raise TooManyParts

    def _is_new(self, value: Any) -> bool:
        known = len(self.seen)
        self.seen[id(value)] = value
        return len(self.seen) > known

    def fact(self, value: Any) -> Any:
        """A fingerprint of a value, which differs once it, or what it contains, has changed.

        Raises:
            TooManyParts: It contains too much.
            RecursionError: It is nested too deeply.
        """
        if isinstance(value, _PLAIN):
            return type(value), value  # 1 is True, and 1.0
        if isinstance(value, _LEAVES):
            return _Same(value)
        if isinstance(value, np.ndarray):
            self.take(value.nbytes // _BYTES)
            return value.dtype, value.shape, value.tobytes()
        if isinstance(value, _OF_BYTES):
            self.take(memoryview(value).nbytes // _BYTES)
            return bytes(value)
        if type(value) in _GENERATORS:
            return pickle.dumps(value)
        if not self._is_new(value):
            return _Same(value)
        if isinstance(value, _CONTAINERS) and len(value) > _LONG:
            return _Same(value), len(value)
        parts = _inside(value)
        self.take(len(parts))
        same = isinstance(value, (*_CONTAINERS, CellType)) or _Same(value)
        facts = [part if isinstance(part, _PLAIN) else self.fact(part) for part in parts]
        return type(value), same, [*map(type, parts)], facts

    def everything(self, values: Iterable[Any]) -> Iterator[Any]:
        """The values and all that they contain, except plain ones and those already met.

        Raises:
            TooManyParts: There are too many.
        """
        waiting = [*values]
        while waiting:
            value = waiting.pop()
            if self._is_new(value):
                parts = _inside(value)
                self.take(1 if parts else 0)
                waiting += [part for part in parts if not isinstance(part, _PLAIN)]
                yield value


def _inside(value: Any) -> Sequence[Any]:
    """What a value contains or refers to, other than as a variable that a function reads."""
    if isinstance(value, _CONTAINERS):
        parts = [*value, *value.values()] if isinstance(value, dict) else [*value]
        return parts if type(value) in _CONTAINERS else parts + _held(value)
    if isinstance(value, _LEAVES):
        return ()
    if isinstance(value, FunctionType):
        if all(map(_is_fixed, _modules_of(value))):
            return ()
        default = value.__defaults__, value.__kwdefaults__
        # IPython's autoreload replaces the code of a function that was edited.
        parts = [value.__code__, *default, value.__closure__, vars(value)]
        return [part for part in parts if part]
    return next((_INSIDE[kind] for kind in type(value).__mro__ if kind in _INSIDE), _held)(value)


def _content(cell: CellType) -> list[Any]:
    """The value of a variable of a closure."""
    try:
        return [cell.cell_contents]
    except ValueError:  # it has not been set
        return []


def _current(variable: ContextVar[Any]) -> list[Any]:
    """The value of a variable of the context, or its default."""
    try:
        return [variable.get()]
    except LookupError:
        return []


def _held(value: Any) -> list[Any]:
    """The attributes of an object: those in a dictionary and those with a place of their own."""
    try:
        own = getattr(value, "__dict__", None)
    except Exception:  # from its __getattr__, as in parts of pydantic's models
        own = None
    kind: Any = type(value)
    held = [_in_slot(slot, value) for slot in _slots(kind)]
    return [own, *held] if isinstance(own, dict) else held


def _in_slot(slot: MemberDescriptorType, value: Any) -> Any:
    try:  # not by its name, which a property or a __getattr__ may answer
        return slot.__get__(value)
    except AttributeError:
        return None


@lru_cache(1000)
def _slots(kind: type) -> list[MemberDescriptorType]:
    """Those in ``__slots__`` of a class, or of what is built in, such as ``partial.func``."""
    attributes = [part for each in kind.__mro__ for part in vars(each).values()]
    return [part for part in attributes if isinstance(part, MemberDescriptorType)]


_INSIDE: dict[type, Callable[[Any], Sequence[Any]]] = {
    BuiltinFunctionType: lambda method: (method.__self__,),
    CellType: _content,
    ContextVar: _current,
    weakref.ref: lambda reference: (reference(),),
    MappingProxyType: lambda view: ({**view},),
}


def surroundings_of(cell: nn.Module) -> tuple[list[Variable], set[str], set[str], list[Any]]:
    """What a cell may read, found in its code.

    Its code is its ``project``, ``start`` and ``combine``, and all functions in its attributes and
    in the variables that its code reads. Of the classes of these and of Python modules, it reads
    the attributes that are named in any code, and methods that Python calls without naming them.

    Returns:
        Variables outside the cell; all names in its code, and those of global variables among
        them; and the lists, dictionaries and so on in its attributes and in these variables.

    Raises:
        TooManyParts: There are too many objects or functions.
    """
    found: dict[tuple[int, str], Variable] = {}
    walk, names = Walk(), {"forward", "project", "start", "combine"}
    of_globals, strings, set_later = set[str](), set[str](), set[str]()
    spaces: dict[Any, bool] = {}  # modules and classes, and whether these may be called
    waiting: list[Any] = [cell]
    while waiting:
        read: dict[tuple[int, str], Variable] = {}
        for value in walk.everything(waiting):
            spaces.setdefault(type(value), False)
            if isinstance(value, (type, ModuleType)):
                spaces[value] = True
            modules = _modules_of(value) if isinstance(value, FunctionType) else ()
            if not all(map(_is_fixed, modules)):
                walk.take(10)  # so long does its code take
                for code in _codes(value.__code__):
                    named, known = {*_strings(code.co_consts)}, _globals_of(code)
                    # In tuples, there are also the names of arguments, which nobody sets.
                    single = named.intersection(code.co_consts)
                    later = {part for part in single if part.isidentifier()}
                    names |= {*code.co_names}
                    of_globals |= known
                    strings |= named
                    set_later |= later
                    read |= _entries(value.__globals__, named | known, later)
        for space, is_called in spaces.items():
            read |= _attributes(space, names | strings, set_later, is_called)
        read |= _entries(sys.modules, names | strings)
        waiting = [read[key]() for key in read.keys() - found.keys()]
        found |= read
    containers = [value for value in walk.seen.values() if isinstance(value, _MUTABLE)]
    return [*found.values()], names, of_globals, containers


def _entries(
    variables: dict[str, Any], names: set[str], set_later: Iterable[str] = ()
) -> dict[tuple[int, str], Variable]:
    """The variables in a dictionary that have one of some names, or may be set later."""
    known = (names & variables.keys()).union(set_later)
    return {(id(variables), name): partial(variables.get, name) for name in known}


def _attributes(
    space: Any, names: set[str], set_later: set[str], is_called: bool
) -> dict[tuple[int, str], Variable]:
    """The attributes of a module or a class that have one of some names, or need none.

    Others may be set later, such as that in ``getattr(settings, "factor", 1.0)``.
    """
    if isinstance(space, ModuleType):
        name = vars(space).get("__name__")
        return {} if _is_of_library(name) else _entries(vars(space), names, set_later)
    kinds = [kind for kind in space.__mro__ if not _is_fixed(kind.__module__)]
    found = [pair for kind in kinds for pair in vars(kind).items()]
    methods = {n for n, part in found if n.startswith("__") and isinstance(part, _METHODS)}
    known = methods.union(set_later, (n for n, _ in found if n in names))
    known -= set() if is_called else {"__init__", "__new__"}
    # Each in all of them: a class may define a name of its bases later.
    return {(id(kind), n): partial(vars(kind).get, n) for kind in kinds for n in known}


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function, and of functions defined in it."""
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


def _strings(constants: Iterable[Any]) -> Iterator[str]:
    """The strings among constants, also within tuples."""
    for part in constants:
        if isinstance(part, str):
            yield part
        elif isinstance(part, (tuple, frozenset)):
            yield from _strings(part)


def _globals_of(code: CodeType) -> set[str]:
    """The names of global variables in code, not those of attributes: ``h.mean`` is no ``mean``."""
    kinds = ("GLOBAL", "GLOBALS", "NAME")
    return {part.argval for part in get_instructions(code) if part.opname.endswith(kinds)}


def _is_of_library(module: Any) -> bool:
    """Whether a module's name is that of a library, whose functions and classes do not change."""
    return str(module).partition(".")[0] in _LIBRARIES


def _is_fixed(module: Any) -> bool:
    """Whether a module's name is that of a library, or of one of Python's own modules."""
    return _is_of_library(module) or str(module).partition(".")[0] in sys.stdlib_module_names


def _modules_of(function: FunctionType) -> tuple[Any, Any]:
    """The names of a function's modules: functools.wraps copies that of another function."""
    return function.__module__, function.__globals__.get("__name__")
