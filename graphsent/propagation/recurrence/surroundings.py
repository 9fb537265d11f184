"""Variables other than tensors that the functions of a cell read: they may change between calls."""

from __future__ import annotations

import builtins
import ctypes
import random
import sys
import weakref
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dis import get_instructions
from functools import partial
from logging import Logger
from types import (
    BuiltinFunctionType,
    CellType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_CONTAINERS = (list, tuple, set, frozenset, deque, dict)
_MANY = (*_CONTAINERS, array, bytearray)
_OF_CELLS, _CALLED = ("project", "start", "combine"), ("forward", "__call__")
_OF_NEW = ("__init__", "__new__")
_OF_BYTES = (memoryview, ctypes._SimpleCData, ctypes.Array, ctypes.Structure)
_TENSORS = ("_parameters", "_buffers")
_LONG = 1000
"""Of longer lists and dictionaries, only the length is watched."""
_LEVELS = 5
_OPAQUE = (*_PLAIN, type)
_BUILTINS = vars(builtins)  # which every module refers to
_WRAPPED = ("__func__", "__wrapped__", "fget", "func")
_MOST = 5000
"""With more parts than this, a value cannot be watched: it would take 10 ms of each call."""
_METHODS = (
    *(FunctionType, staticmethod, classmethod, property),
    *(BuiltinFunctionType, ClassMethodDescriptorType, GetSetDescriptorType, MethodDescriptorType),
)
"""What is watched as far as it is called, and what is written in C."""
_LIBRARIES = ("builtins", "collections", "dgl", "torch", "numpy", __name__.partition(".")[0])
_BYTES = 2048
"""As long as a part takes so many bytes of an array."""
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


class _Walked:
    """The parts of a value that have been looked at, and how many more may be."""

    def __init__(self) -> None:
        self.left = _MOST
        self.seen: dict[int, Any] = {}  # keeps them alive: identities are not used again

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise TooManyParts

    def is_new(self, value: Any) -> bool:
        """Whether a part is met for the first time: parts may refer to each other."""
        known = len(self.seen)
        self.seen[id(value)] = value
        return len(self.seen) > known


def fact(value: Any, walked: _Walked | None = None) -> Any:
    """A fingerprint of a value, which differs once the value, or what it contains, has changed.

    If it is contained in another value, ``walked`` are the parts of that.

    Raises:
        TooManyParts: It contains too much.
        RecursionError: It is nested too deeply.
    """
    if isinstance(value, _PLAIN):
        return value
    walked = walked or _Walked()
    if isinstance(value, _MANY) and len(value) > _LONG:
        return _Same(value), len(value)
    if isinstance(value, np.ndarray):
        walked.take(value.nbytes // _BYTES)
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, _OF_BYTES):  # also in multiprocessing.Value
        return bytes(value)
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, np.random.Generator):
        return fact(value.bit_generator.state, walked)
    if isinstance(value, np.random.RandomState):
        return fact(value.get_state(legacy=False), walked)
    if isinstance(value, torch.Generator):
        return bytes(value.get_state().tolist())
    if _is_leaf(value) or not walked.is_new(value):
        return _Same(value)
    if isinstance(value, _MANY):
        walked.take(len(value))
        parts = [*value, *value.values()] if isinstance(value, dict) else value
        return type(value), *[fact(part, walked) for part in parts]
    if isinstance(value, MappingProxyType):
        return fact({**value}, walked)
    if isinstance(value, weakref.ref):
        return _Same(value), fact(value(), walked)
    if isinstance(value, ContextVar):
        return _Same(value), fact(value.get(None), walked)
    if isinstance(value, MethodType):
        return _Same(value.__func__), fact(value.__self__, walked)
    if isinstance(value, partial):
        return fact((value.func, value.args, value.keywords), walked)
    held = _held(value)
    walked.take(len(held))
    return _Same(value), *[(name, fact(part, walked)) for name, part in held.items()]


def _is_leaf(value: Any) -> bool:
    """Whether nothing that a value refers to is watched: tensors, modules of libraries, loggers."""
    if isinstance(value, ModuleType):
        name = vars(value).get("__name__")
        return _is_of_library(name) or str(name).partition(".")[0] in sys.stdlib_module_names
    return type(value) is Logger or value is _BUILTINS or isinstance(value, Tensor)


def _held(value: Any) -> dict[str, Any]:
    """The attributes of an object and its classes, by name, except methods."""
    own, kinds = _own(value), value.__mro__ if isinstance(value, type) else ()
    if isinstance(value, nn.Module):  # a tensor that is not of the cell is not traced
        own = {name: part for name, part in vars(value).items() if name not in _TENSORS}
    held: dict[str, Any] = {}
    for kind in reversed((*kinds, *type(value).__mro__)):
        if not _is_of_library(kind.__module__):
            for name, part in vars(kind).items():
                if not (isinstance(part, _METHODS) or name.startswith("__")):
                    slot = isinstance(part, MemberDescriptorType)
                    held[name] = getattr(value, name, None) if slot else part
    return {**held, **own} if isinstance(own, dict) else held


def _own(value: Any) -> Any:
    """The ``__dict__`` of an object; None if it has none."""
    try:
        return getattr(value, "__dict__", None)
    except Exception:  # from its __getattr__, as in parts of pydantic's models
        return None


def containers(value: Any) -> list[Any]:
    """The lists, dictionaries and so on in a value, and the attributes of objects in it.

    Those in up to five levels.

    Raises:
        TooManyParts: There are too many.
    """
    found: dict[int, Any] = {}
    parts, walked = [value], _Walked()
    for _ in range(_LEVELS):
        inner: list[Any] = []
        for part in parts:
            each = part if isinstance(part, _CONTAINERS) else _own(part)
            if isinstance(each, _CONTAINERS) and id(each) not in found:
                found[id(each)] = each
                inner += [p for p in contents(each) if not (isinstance(p, _OPAQUE) or _is_leaf(p))]
        walked.take(len(inner))
        parts = inner
    return [*found.values()]


def contents(container: Any) -> list[Any]:
    """The values in a container."""
    return [*(container.values() if isinstance(container, dict) else container)]


def restore(container: Any, before: Any) -> bool:
    """Restores the values in a container, from a copy; returns whether they had changed."""
    if isinstance(container, dict):  # only what differs: other threads may use it
        missing = object()
        added = container.keys() - before.keys()
        changed = [n for n, old in before.items() if container.get(n, missing) is not old]
        container.update({name: before[name] for name in changed})
        for name in added:
            del container[name]
        return bool(changed or added)
    if [*map(id, container)] == [*map(id, before)]:
        return False
    container.clear()
    (container.update if isinstance(container, set) else container.extend)(before)
    return True


def variables_read(cell: nn.Module) -> tuple[list[Variable], set[str]]:
    """The variables that a cell reads, and all names in its code, except Python's own functions.

    Its code is the methods of its modules, and of objects and functions that are attributes of
    these, and all functions that these call, also through a container, an object or a class.

    Raises:
        TooManyParts: There are too many objects or functions.
    """
    found: dict[tuple[int, str], Variable] = {}
    seen: set[FunctionType] = set()
    names_seen: set[str] = set()
    modules = list(cell.modules())
    held = [part for m in modules for each in containers(vars(m)) for part in contents(each)]
    held = [part for part in held if isinstance(part, Tensor) or not _is_leaf(part)]
    held += [part.__self__ for part in held if isinstance(part, MethodType)]
    kinds = dict.fromkeys(part for value in (*modules, *held) for part in type(value).__mro__)
    of_kinds = [vars(kind) for kind in kinds if not _is_of_library(kind.__module__)]
    known = {name for attributes in of_kinds for name in attributes}
    for own in of_kinds:
        found |= {(id(own), name): partial(own.get, name) for name in _CALLED if name in own}
    waiting = [own[name] for own in of_kinds for name in _OF_CELLS if name in own]
    waiting += [own[name] for own in of_kinds for name in own if _is_implicit(name)]
    waiting += held
    while waiting:
        function = _function_of(waiting.pop())
        if function is None or function in seen:
            continue
        seen.add(function)
        if len(seen) > _LONG:
            raise TooManyParts
        waiting.append(vars(function).get("__wrapped__"))
        codes = [*_codes(function.__code__)]
        names = {name for code in codes for name in code.co_names}
        if (function.__module__ or "").partition(".")[0] not in sys.stdlib_module_names:
            names_seen |= names
        strings = {part for code in codes for part in code.co_consts if isinstance(part, str)}
        names |= strings
        read: dict[tuple[int, str], Variable] = {}
        own_names = strings.union(*map(_globals_of, codes))
        for space, found_there in _spaces(function, names, own_names):
            read |= {(id(space), name): partial(space.get, name) for name in found_there}
        for attributes in of_kinds:  # a class may define a name of another one later
            read |= {(id(attributes), n): partial(attributes.get, n) for n in names & known}
        closed = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        read |= {(id(cell), name): partial(_content, cell) for name, cell in closed}
        read[id(function), "contents"] = partial(_contents, weakref.ref(function))
        waiting += [each for variable in read.values() for each in _called_in(variable(), names)]
        found |= read
    own_modules = set(map(id, modules))  # whose attributes the caller compares
    variables = [variable for variable in found.values() if id(variable()) not in own_modules]
    return [variable for variable in variables if _matters(variable())], names_seen


def facts_of(variables: Iterable[Variable]) -> list[Any]:
    """The fingerprints of the current values."""
    return [fact(variable()) for variable in variables]


def _spaces(
    function: FunctionType, names: set[str], own_names: set[str]
) -> list[tuple[dict[str, Any], set[str]]]:
    """The namespaces that a function may read, and the names that it may find there.

    They are its own module, where it finds ``own_names``, and modules that it reads, where it finds
    ``names``. Without this distinction, ``h.mean(1)`` would seem to read a global ``mean``.
    """
    modules = {name: sys.modules[name] for name in names & sys.modules.keys()}
    found = [(function.__globals__, own_names & function.__globals__.keys())]
    found.append((modules, set(modules)))
    known: set[int] = set()
    for space, found_there in found:  # grows below
        values = [space[name] for name in found_there]
        for module in [value for value in values if isinstance(value, ModuleType)]:
            if not _is_of_library(module.__name__) and id(vars(module)) not in known:
                known.add(id(vars(module)))
                found.append((vars(module), names & vars(module).keys()))
    return found


def _globals_of(code: CodeType) -> set[str]:
    """The names of global variables in code, not those of attributes."""
    kinds = ("GLOBAL", "GLOBALS", "NAME")
    return {part.argval for part in get_instructions(code) if part.opname.endswith(kinds)}


def _contents(function: Callable[[], FunctionType | None]) -> Any:
    """Code and default arguments of a function, which may be an attribute of the cell."""
    found = function()  # IPython's autoreload replaces the code of a function that was edited
    parts = () if found is None else (found.__code__, found.__defaults__, found.__kwdefaults__)
    return [part for part in parts if part]


def _content(cell: CellType) -> Any:
    """The value of a variable of a closure."""
    try:
        return cell.cell_contents
    except ValueError:  # it has not been set
        return None


def _function_of(value: Any) -> FunctionType | None:
    """The user-defined function behind a callable; those of libraries do not change."""
    for _ in range(_LEVELS):
        if isinstance(value, FunctionType):
            return None if _is_of_library(value.__module__) else value
        own = _own(value)  # hasattr would be true of any name for some objects
        spaces = [own if isinstance(own, dict) else {}, *map(vars, type(value).__mro__)]
        known = [name for name in _WRAPPED if any(name in space for space in spaces)]
        value = getattr(value, known[0], None) if known else None
    return None


def _is_of_library(module: Any) -> bool:
    """Whether a module's name is that of a library, whose functions and classes do not change."""
    return isinstance(module, str) and module.partition(".")[0] in _LIBRARIES


def _called_in(value: Any, names: set[str], depth: int = 3) -> Iterator[Any]:
    """What code with these names may call in a value: itself, its parts, methods, operators."""
    yield value
    if isinstance(value, _CONTAINERS):
        for part in contents(value) if depth and len(value) <= _LONG else ():
            yield from _called_in(part, names, depth - 1)
    elif not isinstance(value, (*_PLAIN, FunctionType, ModuleType, Tensor)):
        for name, part in _held(value).items() if depth else ():
            if name in names or name == "_modules":
                yield from _called_in(part, names, depth - 1)
        is_class = isinstance(value, type)
        for kind in (value if is_class else type(value)).__mro__:
            for name, part in [] if _is_of_library(kind.__module__) else [*vars(kind).items()]:
                if name in names or _is_implicit(name) or (is_class and name in _OF_NEW):
                    yield part


def _is_implicit(name: str) -> bool:
    """Whether Python calls a method of an object without naming it."""
    return name == "forward" or (name.startswith("__") and name not in _OF_NEW)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function, and of functions defined in it."""
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


def _matters(value: Any) -> bool:
    """Whether a value, or what it contains, may change."""
    if isinstance(value, type):
        return not _is_of_library(value.__module__)
    return not isinstance(value, (Tensor, ModuleType))
