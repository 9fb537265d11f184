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
from itertools import chain
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
    referred = _referred(value)
    if referred:
        return fact(referred, walked)
    held = _held(value)
    walked.take(len(held))
    return _Same(value), *[(name, fact(part, walked)) for name, part in held.items()]


def _is_leaf(value: Any) -> bool:
    """Whether nothing that a value refers to is watched: tensors, modules of libraries, loggers."""
    if isinstance(value, ModuleType):
        return _is_fixed(vars(value).get("__name__"))
    return type(value) is Logger or value is _BUILTINS or isinstance(value, Tensor)


def _referred(value: Any) -> list[Any]:
    """What a value refers to other than as its attributes."""
    if isinstance(value, MappingProxyType):
        return [{**value}]
    if isinstance(value, weakref.ref):
        return [value()]
    if isinstance(value, ContextVar):
        return [value.get(None)]
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__]
    return [value.func, value.args, value.keywords] if isinstance(value, partial) else []


def _held(value: Any) -> dict[str, Any]:
    """The attributes of an object and its classes, by name, except methods."""
    is_class = isinstance(value, type)
    own = _own(value)
    if isinstance(value, nn.Module):  # a tensor that is not of the cell is not traced
        own = {name: part for name, part in vars(value).items() if name not in _TENSORS}
    held: dict[str, Any] = {}
    for kind in reversed((*(value.__mro__ if is_class else ()), *type(value).__mro__)):
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

    Those in up to five levels. Of what has no such container, its parts are in a new list.

    Raises:
        TooManyParts: There are too many.
    """
    found: dict[int, Any] = {}
    parts, walked = [value], _Walked()
    for _ in range(_LEVELS):
        inner: list[Any] = []
        for part in parts:
            each = part if isinstance(part, _CONTAINERS) else _referred(part) or _own(part)
            if not isinstance(each, _CONTAINERS):  # with slots, or a class
                each = [*_held(part).values()]
            if id(each) not in found:
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
    these, and all functions that these call, also through a container, an object or a class: in
    the variables that a function reads, every function, and methods whose names are in any code.

    Raises:
        TooManyParts: There are too many objects or functions.
    """
    found: dict[tuple[int, str], Variable] = {}
    seen: set[FunctionType] = set()
    names, names_seen = {*_CALLED}, set[str]()
    orders: dict[type, list[type]] = {}  # a class and its bases, except those that do not change
    walked = _Walked()
    modules = list(cell.modules())
    waiting = [part for module in modules for part in (module, *_parts(vars(module)))]
    while waiting:
        value = waiting.pop()
        kind = value if isinstance(value, type) else type(value)
        if kind not in orders:
            orders[kind] = [each for each in kind.__mro__ if not _is_fixed(each.__module__)]
            for name, part in _attributes(orders[kind]):
                called = name in names or name in _OF_CELLS or _is_implicit(name)
                waiting += [part] if called else []
        if kind is value:  # it may be called
            waiting += [part for name, part in _attributes(orders[kind]) if name in _OF_NEW]
        function = _function_of(value)
        if function is None or function in seen:
            continue
        seen.add(function)
        if len(seen) > _LONG:
            raise TooManyParts
        codes = [*_codes(function.__code__)]
        names_here = {name for code in codes for name in code.co_names}
        of_python = _is_of_python(function.__module__)
        names_seen |= set() if of_python else names_here
        strings = {part for code in codes for part in code.co_consts if isinstance(part, str)}
        names_here |= strings
        read: dict[tuple[int, str], Variable] = {}
        own_names = strings.union(*map(_globals_of, codes))
        for space, found_there in _spaces(function, names_here, own_names):
            read |= {(id(space), name): partial(space.get, name) for name in found_there}
        closed = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        read |= {(id(cell), name): partial(_content, cell) for name, cell in closed}
        read[id(function), "contents"] = partial(_contents, weakref.ref(function))
        values = [read[key]() for key in read.keys() - found.keys()]
        new = names_here - names
        for kind in set(chain(*orders.values())) if new else ():
            values += [vars(kind)[name] for name in new & vars(kind).keys()]
        if not of_python:
            values = [part for each in values if walked.is_new(each) for part in _parts(each)]
            walked.take(len(values))
        waiting += values
        names |= names_here
        found |= read
    for order in orders.values():  # a class may define a name of its bases later
        known = names.intersection(name for name, _ in _attributes(order))
        found |= {(id(each), n): partial(vars(each).get, n) for each in order for n in known}
    own_modules = set(map(id, modules))  # whose attributes the caller compares
    variables = [variable for variable in found.values() if id(variable()) not in own_modules]
    return [variable for variable in variables if _matters(variable())], names_seen


def _attributes(kinds: Iterable[type]) -> list[tuple[str, Any]]:
    """The attributes of classes, without those that they inherit, by name."""
    return [pair for kind in kinds for pair in vars(kind).items()]


def _parts(value: Any) -> list[Any]:
    """A value and what it contains, as far as code can be in it."""
    if isinstance(value, ModuleType) or (isinstance(value, _CONTAINERS) and len(value) > _LONG):
        return [value]
    inner = [part for each in containers(value) for part in contents(each)]
    inner = [part for part in inner if not isinstance(part, _PLAIN)]  # such as a vocabulary's words
    return [value, *[part for part in inner if isinstance(part, Tensor) or not _is_leaf(part)]]


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


def _is_fixed(module: Any) -> bool:
    """Whether a module's name is that of a library, or of one of Python's own modules."""
    return _is_of_library(module) or _is_of_python(module)


def _is_of_python(module: Any) -> bool:
    """Whether a module's name is that of one of Python's own."""
    return str(module).partition(".")[0] in sys.stdlib_module_names


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
