"""What may change is watched: a cell is traced again after a change."""

from __future__ import annotations

import multiprocessing
import os
import random
import re
import sys
import weakref
from array import array
from collections import deque
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from functools import partial, reduce, wraps
from pathlib import Path
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
import torch
import traced_cell
from generated_cases import needs_compiler, tree
from torch import nn
from traced_cell import assert_same

from graphsent.kernels.library import SWITCH
from graphsent.propagation.recurrence.modules import recurrence_of

FACTOR = 1.0
SETTINGS = ModuleType("settings")
SETTINGS.within = SimpleNamespace(factor=1.0)
SETTINGS.SETTINGS = SETTINGS  # modules may import each other


class Shared:
    """A class attribute that all objects share."""

    factor = 1.0


class Numbered(type):
    """The class of a class."""

    number = 1.0


class Nested(metaclass=Numbered):
    """A class that holds an object and a class."""

    within = SimpleNamespace(factor=1.0)

    class Inner:
        """A namespace."""

        factor = 1.0


NESTED = Nested()


@dataclass(slots=True)
class Slotted:
    """An object with __slots__ instead of a dictionary."""

    factor: float = 1.0


class Mode(Enum):
    """Its members refer to each other."""

    PLUS = 1
    MINUS = -1


def by_factor(function):
    @wraps(function)
    def wrapper(h):
        return FACTOR * function(h)

    return wrapper


@by_factor
def decorated(h):
    return 2 * h


@wraps(nn.functional.softsign)
def renamed(h):
    return FACTOR * h


def edited(h):
    return 2.0 * h


def scaled(h, factors=[1.0]):  # noqa: B006
    return h * factors[0]


class Helper:
    """An object whose methods read variables."""

    factor = 1.0

    def scaled(self, h):
        return self.factor * FACTOR * h

    __call__ = scaled


class Other:
    """An object whose class may be replaced."""

    factor, number = 1.0, 1.0


class New:
    """An object that is made by a function of its own."""

    def __new__(cls, h):
        new = object.__new__(cls)
        new.h = FACTOR * h
        return new


class Strict:
    """An object that raises another error if one of its ``__slots__`` is empty."""

    __slots__ = ("empty", "factor")

    def __getattr__(self, name):
        raise KeyError(name)


class Numbers(dict):
    """A dictionary with an attribute."""

    factor = 1.0


class Steps:
    """An object with a method that calls another one."""

    def first(self, h):
        return self.second(h)

    def second(self, h):
        return FACTOR * h


class Twice(nn.Module):
    """A module without attributes."""

    def forward(self, h):
        return 2 * h


class Cell(traced_cell.Cell):
    """An object of numbers and other attributes to compute with."""

    factor = 1.0

    def __init__(self):
        super().__init__()
        self._number, self.numbers, self.named = 1.0, [1.0], {"a": [1.0]}
        self.options = SimpleNamespace(factor=1.0, module=Temperature())
        self.modules_in_list = [Temperature()]
        self.listed = [SimpleNamespace(within=SimpleNamespace(factor=1.0))]
        self.lists = SimpleNamespace(within=[SimpleNamespace(factor=1.0)])
        self.shared, self.slotted, self.last = Shared(), Slotted(), deque([1.0], 1)
        self.helper, self.functions = Helper(), [lambda h: FACTOR * h]
        self.scaled, self.partial = Helper().scaled, partial(lambda k, h: k * FACTOR * h, 2.0)
        self.mode, self.items, self.called = Mode.PLUS, Items(), Steps().first
        self.other, self.with_attribute = Other(), Numbers(a=1.0)
        self.twice, self.array, self.long = Twice(), array("d", [1.0]), [0] * 2000
        self.numpy, self.by_first = np.ones(2), partial(lambda k, h: k[0] * h, [1.0])
        self.by_name = partial(lambda h, numbers: numbers[0] * h, numbers=[1.0])
        self.in_partial = partial(lambda function, h: function(h), lambda h: FACTOR * h)
        self.in_slots = Slotted(lambda h: FACTOR * h)
        inner = SimpleNamespace(b=SimpleNamespace(c=SimpleNamespace(factor=1.0, all=[])))
        self.deep = (SimpleNamespace(a=inner),)
        inner.b.c.all += [inner, self.deep, self.deep]  # which refer to each other
        self.dictionaries = {"number": 1.0}
        for _ in range(6):
            self.dictionaries = {1: self.dictionaries}


def cell_of(function):
    """A cell with this function, and no attributes that it does not read: they read FACTOR, too."""
    cell = type("Mine", (Cell,), {"of": function})()
    more = vars(cell).keys() - vars(traced_cell.Cell()).keys()
    for name in more - set(function.__code__.co_names):
        delattr(cell, name)
    return cell


def set_global(cell):
    global FACTOR
    FACTOR += 1


def set_library(cell):
    global ACTIVATION, LAYER, NUMBERS
    one = ACTIVATION is nn.functional.softsign
    ACTIVATION = nn.functional.tanhshrink if one else nn.functional.softsign
    LAYER, NUMBERS = (nn.Sigmoid, THREE) if one else (nn.Tanh, ONE)


def set_forward(cell):
    Twice.forward = lambda self, h: 3 * h


def patch_forward(cell):
    Twice.before, Twice.forward = Twice.forward, lambda self, h: 4 * h


def set_free(cell):
    with torch.no_grad():
        cell.V.weight = nn.Parameter(cell.U.weight + 1)


class Computed:
    """A descriptor that keeps a function under some name."""

    def __init__(self, name, function):
        self.name = name
        vars(self)[name] = function

    def __get__(self, holder, kind=None):
        return vars(self)[self.name](holder)


class SlottedComputed:
    """A descriptor that keeps a function in a slot."""

    __slots__ = ("func",)

    def __init__(self, func):
        self.func = func

    def __get__(self, holder, kind=None):
        return self.func(holder)


class Calling:
    """An object that calls a function."""

    def __init__(self, function):
        self.function = function

    def __call__(self, h):
        return self.function(h)


class Product:
    """An object made at each call, with an operator of its own."""

    def __init__(self, h):
        self.h = h

    def __mul__(self, other):
        return FACTOR * other * self.h


class Formula:
    """An object with methods, properties and descriptors."""

    by_fget = Computed("fget", lambda self: FACTOR)
    by_func = Computed("func", lambda self: FACTOR)
    by_inner = Computed("__func__", lambda self: FACTOR)
    by_wrapped = Computed("__wrapped__", lambda self: FACTOR)
    by_slot = SlottedComputed(lambda self: FACTOR)

    @staticmethod
    def scaled(h):
        return FACTOR * h

    @classmethod
    def scaled_by_class(cls, h):
        return FACTOR * h

    @property
    def factor(self):
        return FACTOR


class Items:
    """An object whose items depend on a variable."""

    def __getitem__(self, item):
        return FACTOR * item


ONE, THREE = ModuleType("one"), ModuleType("three")
ONE.number, THREE.number = 1.0, 3.0
ACTIVATION, LAYER, NUMBERS = nn.functional.softsign, nn.Tanh, ONE
STRICT = Strict()
STRICT.factor = 1.0
FORMULA, ITEMS = Formula(), Items()
HOLDER = SimpleNamespace(function=lambda h: FACTOR * h, within=[SimpleNamespace(part=Helper())])
HOLDER.within.append(HOLDER)
CALLING, STEPS = Calling(lambda h: FACTOR * h), Steps()
FUNCTIONS = {"all": ({"scaled": Formula.scaled},)}
FUNCTIONS["again"] = FUNCTIONS
FAR = reduce(lambda within, _: SimpleNamespace(a=within), range(6), lambda h: FACTOR * h)
CONTEXT: ContextVar[float] = ContextVar("factor", default=1.0)
LATER: ContextVar[float] = ContextVar("later")
OPTIONS = ContextVar("options", default=SimpleNamespace(factor=1.0))  # noqa: B039


class Temperature(nn.Module):
    """A module with an attribute, and with a count of its calls."""

    shared: ClassVar[list] = []  # of modules, of all cells

    def __init__(self):
        super().__init__()
        self.factor, self.calls = 1.0, [0]

    def forward(self, h):
        return self.factor * h


class Scaling(nn.Module):
    """A module that reads a variable."""

    def forward(self, h):
        return FACTOR * h


TEMPERATURE, NETWORK = Temperature(), nn.Sequential(Scaling())
HIDDEN = Temperature()  # which no cell refers to
REFERENCE, READ_ONLY = weakref.ref(HIDDEN), MappingProxyType(vars(HIDDEN))
SHARED, VIEW = multiprocessing.Value("d", 1.0, lock=False), memoryview(array("d", [1.0]))
Temperature.shared.append(TEMPERATURE)


def closure(module):
    return lambda s, h: module(h)


def imported(self, h):
    import settings  # type: ignore[import-not-found]  # the test enters it

    return settings.factor * h


def set_module(cell):
    TEMPERATURE.factor += 1


def set_hidden(cell):
    HIDDEN.factor += 1


def by_names(self, h):
    for name in ("factor", "number"):
        h = getattr(Other, name) * h
    return h


CHANGES = {
    "module in a list": (
        lambda s, h: s.modules_in_list[0](h),
        lambda c: setattr(c.modules_in_list[0], "factor", 3.0),
    ),
    "module of an object": (
        lambda s, h: s.options.module(h),
        lambda c: setattr(c.options.module, "factor", 3.0),
    ),
    "global module": (lambda s, h: TEMPERATURE(h), set_module),
    "weak reference": (lambda s, h: REFERENCE()(h), set_hidden),
    "read-only view of a dictionary": (lambda s, h: READ_ONLY["factor"] * h, set_hidden),
    "number of several processes": (
        lambda s, h: SHARED.value * h,
        lambda c: setattr(SHARED, "value", 3.0),
    ),
    "view of memory": (lambda s, h: VIEW[0] * h, lambda c: VIEW.__setitem__(0, 3.0)),
    "module in a list of a class": (lambda s, h: Temperature.shared[0](h), set_module),
    "module in a closure": (closure(TEMPERATURE), set_module),
    "method of a global object": (lambda s, h: FORMULA.scaled(h), set_global),
    "property of a global object": (lambda s, h: FORMULA.factor * h, set_global),
    "descriptor with fget": (lambda s, h: FORMULA.by_fget * h, set_global),
    "descriptor with func": (lambda s, h: FORMULA.by_func * h, set_global),
    "descriptor with __func__": (lambda s, h: FORMULA.by_inner * h, set_global),
    "descriptor with __wrapped__": (lambda s, h: FORMULA.by_wrapped * h, set_global),
    "descriptor with a slot": (lambda s, h: FORMULA.by_slot * h, set_global),
    "static method": (lambda s, h: Formula.scaled(h), set_global),
    "class method": (lambda s, h: Formula.scaled_by_class(h), set_global),
    "function in a container": (lambda s, h: FUNCTIONS["all"][0]["scaled"](h), set_global),
    "function in an object": (lambda s, h: HOLDER.function(h), set_global),
    "object in objects that is called": (lambda s, h: HOLDER.within[0].part(h), set_global),
    "function far within objects": (lambda s, h: FAR.a.a.a.a.a.a(h), set_global),
    "object that calls a function": (lambda s, h: CALLING(h), set_global),
    "method that another one calls": (lambda s, h: STEPS.first(h), set_global),
    "function in a partial": (lambda s, h: s.in_partial(h), set_global),
    "function in slots": (lambda s, h: s.in_slots.factor(h), set_global),
    "module in a module": (lambda s, h: NETWORK(h), set_global),
    "operator of a new object": (lambda s, h: Product(h) * 2.0, set_global),
    "operator of a global object": (lambda s, h: ITEMS[2.0] * h, set_global),
    "operator of an attribute": (lambda s, h: s.items[2.0] * h, set_global),
    "context variable": (lambda s, h: CONTEXT.get() * h, lambda c: CONTEXT.set(3.0)),
    "context variable that is set later": (
        lambda s, h: LATER.get(1.0) * h,
        lambda c: LATER.set(3.0),
    ),
    "name in a string": (
        lambda s, h: getattr(s, "factor", 0.0) * h,
        lambda c: setattr(type(c), "factor", 3.0),
    ),
    "name in a tuple": (by_names, lambda c: setattr(Other, "factor", Other.factor + 1)),
    "attribute that is set later": (
        lambda s, h: getattr(Other, "late", 1.0) * h,
        lambda c: setattr(Other, "late", 3.0),
    ),
    "variable by a string": (lambda s, h: globals()["FACTOR"] * h, set_global),
    "attribute of a dictionary": (
        lambda s, h: s.with_attribute.factor * h,
        lambda c: setattr(c.with_attribute, "factor", 3.0),
    ),
    "object of another class": (
        lambda s, h: s.other.factor * h,
        lambda c: setattr(c.other, "__class__", Shared),
    ),
    "function that makes an object": (lambda s, h: New(h).h, set_global),
    "slots of which one is empty": (
        lambda s, h: STRICT.factor * h,
        lambda c: setattr(STRICT, "factor", 3.0),
    ),
    "default of a context variable": (
        lambda s, h: OPTIONS.get().factor * h,
        lambda c: setattr(OPTIONS.get(), "factor", 3.0),
    ),
    "class": (lambda s, h: s.factor * h, lambda c: setattr(type(c), "factor", 3.0)),
    "private": (lambda s, h: s._number * h, lambda c: setattr(c, "_number", 3.0)),
    "list": (lambda s, h: s.numbers[0] * h, lambda c: c.numbers.__setitem__(0, 3.0)),
    "dictionary": (lambda s, h: s.named["a"][0] * h, lambda c: c.named["a"].append(3.0)),
    "within": (lambda s, h: s.named["a"][-1] * h, lambda c: c.named["a"].append(3.0)),
    "object": (lambda s, h: s.options.factor * h, lambda c: setattr(c.options, "factor", 3.0)),
    "objects in a list": (
        lambda s, h: s.listed[0].within.factor * h,
        lambda c: setattr(c.listed[0].within, "factor", 3.0),
    ),
    "list of objects in an object": (
        lambda s, h: s.lists.within[0].factor * h,
        lambda c: setattr(c.lists.within[0], "factor", 3.0),
    ),
    "object in objects": (
        lambda s, h: s.deep[0].a.b.c.factor * h,
        lambda c: setattr(c.deep[0].a.b.c, "factor", 3.0),
    ),
    "dictionary in dictionaries": (
        lambda s, h: s.dictionaries[1][1][1][1][1][1]["number"] * h,
        lambda c: c.dictionaries[1][1][1][1][1][1].update(number=3.0),
    ),
    "global": (lambda s, h: FACTOR * h, set_global),
    "function of a library": (lambda s, h: ACTIVATION(h), set_library),
    "class of a library": (lambda s, h: LAYER()(h), set_library),
    "module that is replaced": (lambda s, h: NUMBERS.number * h, set_library),
    "function named as one of a library": (lambda s, h: renamed(h), set_global),
    "tied weights": (lambda s, h: s.V(h), set_free),
    "other module": (
        lambda s, h: SETTINGS.within.factor * h,
        lambda c: setattr(SETTINGS.within, "factor", 3.0),
    ),
    "class of an object": (
        lambda s, h: s.shared.factor * h,
        lambda c: setattr(Shared, "factor", Shared.factor + 1),
    ),
    "global class": (
        lambda s, h: Shared.factor * h,
        lambda c: setattr(Shared, "factor", Shared.factor + 1),
    ),
    "object of a global class": (
        lambda s, h: Nested.within.factor * h,
        lambda c: setattr(Nested.within, "factor", Nested.within.factor + 1),
    ),
    "object of the class of a global object": (
        lambda s, h: NESTED.within.factor * h,
        lambda c: setattr(Nested.within, "factor", Nested.within.factor + 1),
    ),
    "class in a class": (
        lambda s, h: Nested.Inner.factor * h,
        lambda c: setattr(Nested.Inner, "factor", Nested.Inner.factor + 1),
    ),
    "class of a class": (
        lambda s, h: Nested.number * h,
        lambda c: setattr(Numbered, "number", Numbered.number + 1),
    ),
    "slots": (lambda s, h: s.slotted.factor * h, lambda c: setattr(c.slotted, "factor", 3.0)),
    "function within": (lambda s, h: (lambda: FACTOR * h)(), set_global),
    "imported module": (imported, lambda c: setattr(sys.modules["settings"], "factor", 3.0)),
    "decorated function": (lambda s, h: decorated(h), set_global),
    "enumeration": (lambda s, h: s.mode.value * h, lambda c: setattr(c, "mode", Mode.MINUS)),
    "functions": (lambda s, h: s.functions[0](h), set_global),
    "method of an object": (lambda s, h: s.helper.scaled(h), set_global),
    "bound method": (lambda s, h: s.scaled(h), lambda c: setattr(c.scaled.__self__, "factor", 3.0)),
    "method that a bound method calls": (lambda s, h: s.called(h), set_global),
    "object that is called": (lambda s, h: s.helper(h), set_global),
    "argument of a partial": (
        lambda s, h: s.by_first(h),
        lambda c: c.by_first.args[0].__setitem__(0, 3.0),
    ),
    "number that becomes a truth value": (
        lambda s, h: -h if s._number is True else h,
        lambda c: setattr(c, "_number", True),
    ),
    "number in a list that becomes a truth value": (
        lambda s, h: -h if s.numbers[0] is True else h,
        lambda c: c.numbers.__setitem__(0, True),
    ),
    "number of an object that becomes a truth value": (
        lambda s, h: -h if s.options.factor is True else h,
        lambda c: setattr(c.options, "factor", True),
    ),
    "named argument of a partial": (
        lambda s, h: s.by_name(h),
        lambda c: c.by_name.keywords["numbers"].__setitem__(0, 3.0),
    ),
    "partial": (lambda s, h: s.partial(h), set_global),
    "forward of a class": (lambda s, h: s.twice(h), set_forward),
    "forward of a class that a patch keeps": (lambda s, h: s.twice(h), patch_forward),
    "array": (lambda s, h: s.array[0] * h, lambda c: c.array.__setitem__(0, 3.0)),
    "numpy array": (lambda s, h: s.numpy[0] * h, lambda c: c.numpy.__setitem__(0, 3.0)),
    "length of a long list": (lambda s, h: len(s.long) * h / 2000, lambda c: c.long.append(0)),
    "queue": (lambda s, h: s.last[0] * h, lambda c: c.last.append(3.0)),
    "default": (lambda s, h: scaled(h), lambda c: scaled.__defaults__[0].__setitem__(0, 3.0)),
    "edited function, reloaded in place": (
        lambda s, h: edited(h),
        lambda c: setattr(edited, "__code__", (lambda h: 3.0 * h).__code__),
    ),
    "environment": (
        lambda s, h: len(os.environ.get("GRAPHSENT_TEST", "")) * h,
        lambda c: os.environ.__setitem__("GRAPHSENT_TEST", "three"),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changes_after_which_a_cell_is_traced_again(name, monkeypatch):
    monkeypatch.setenv(SWITCH, "0")  # what is traced is not compiled, to save time
    monkeypatch.setenv("GRAPHSENT_TEST", "a")
    monkeypatch.setitem(sys.modules, "settings", ModuleType("settings"))
    sys.modules["settings"].factor = 1.0
    of, change = CHANGES[name]
    cell = cell_of(of)
    assert cell.explain(tree(20, 3)).way == "traced"
    assert_same(cell)
    change(cell)
    assert_same(cell)


def test_training_and_evaluation_take_turns():
    """Each is traced once, however often they alternate, and again after a change."""
    of = {"of": lambda self, h: (self.factor if self.training else 3.0) * h, "factor": 2.0}
    cell = type("Mine", (Cell,), of)()
    for cell.factor in (2.0, 4.0):
        traced = []
        for training in (True, False) * 2:
            assert_same(cell.train(training))
            traced.append(recurrence_of(cell, torch.float64))
        assert [each is first for each in traced for first in traced[:2]] == [
            *(True, False, False, True) * 2
        ]


@needs_compiler
def test_a_module_of_ones_own_as_an_attribute():
    cell = type("Mine", (Cell,), {"of": lambda self, h: self.settings.factor * h})()
    cell.settings = ModuleType("settings")
    exec("factor = 1.0\ndef doubled(h): return 2 * h", vars(cell.settings))  # and all builtins
    graph, feat = tree(20, 3), torch.randn(20, 3, dtype=torch.float64)
    for factor in (1.0, 3.0):
        cell.settings.factor = factor
        assert cell.explain(graph).way == "compiled"
        expected = cell(graph, feat, engine="dgl")
        torch.testing.assert_close(cell(graph, feat), expected, rtol=1e-10, atol=1e-10)
    del cell.settings.__name__
    assert cell.explain(graph).way == "compiled"


class Proxy:
    """An object on which every attribute exists, and is a number."""

    __slots__ = ()

    def __getattr__(self, name):
        return 2.0

    def __deepcopy__(self, memo):
        return self


def test_an_object_that_has_everything():
    cell = type("Mine", (Cell,), {"of": lambda self, h: self.proxy.factor * h})()
    cell.proxy = Proxy()
    assert_same(cell)


class Node:
    """An object that a dictionary of its own has as a key."""

    def __init__(self):
        self.links = {self: 2.0}

    def __deepcopy__(self, memo):
        return self


def test_an_object_that_is_a_key_of_itself():
    cell = type("Mine", (Cell,), {"of": lambda self, h: self.node.links[self.node] * h})()
    cell.node = Node()
    assert_same(cell)
    cell.node.links[cell.node] = 3.0
    assert_same(cell)


@needs_compiler
def test_a_graph_that_a_cell_keeps():
    cell = type("Mine", (Cell,), {"of": lambda self, h: h})()
    cell.graph = tree(20, 3)
    cell(cell.graph, torch.randn(20, 3, dtype=torch.float64))
    assert cell.explain(cell.graph).way == "compiled"
    assert_same(cell)


def test_a_global_variable_with_the_name_of_an_attribute(monkeypatch):
    """A script may reuse the name at every step."""
    cell = type("Mine", (Cell,), {"of": lambda self, h: self.factor * h.unsqueeze(1).mean(1)})()
    graph, feat = tree(20, 3), torch.randn(20, 3, dtype=torch.float64)
    monkeypatch.setitem(globals(), "mean", 0.0)
    monkeypatch.setitem(globals(), "factor", graph)
    cell(graph, feat)
    traced = recurrence_of(cell, feat.dtype)
    assert not isinstance(traced, str)
    monkeypatch.setitem(globals(), "mean", 1.0)
    monkeypatch.setitem(globals(), "factor", tree(20, 3))
    cell(graph, feat)
    assert recurrence_of(cell, feat.dtype) is traced


def test_a_closure():
    factor = 1.0

    def of(self, h):
        return factor * h

    cell = type("Mine", (Cell,), {"of": of})()
    assert_same(cell)
    factor = 3.0
    assert_same(cell)


def test_a_variable_of_a_closure_that_is_set_later():
    def of(self, h):
        return h if self.training else later * h

    cell = type("Mine", (Cell,), {"of": of})()
    assert_same(cell)
    later = 2.0
    assert_same(cell.eval())


def test_a_module_that_is_not_registered_counts_its_calls():
    def of(self, h):
        module = self.modules_in_list[0]
        module.calls[0] += 1
        module.factor = module.factor + 1
        return module(h)

    cell = type("Mine", (Cell,), {"of": of})()
    assert "changes attributes" in cell.explain(tree(20, 3)).reason
    (module,) = cell.modules_in_list
    assert (module.calls, module.factor) == ([0], 1.0)


def test_a_cell_that_moves_to_another_device():
    def of(self, h):
        return h * torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=h.dtype, device=h.device)

    cell, graph = type("Mine", (traced_cell.Cell,), {"of": of})(), tree(20, 3)
    cell.V = nn.Linear(4, 4).double()  # tied weights would be told apart by the move
    assert_same(cell)
    feat = torch.randn(20, 3, dtype=torch.float64, device="meta")
    assert cell.to("meta")(graph, feat).device == feat.device


class Unfinished:
    """Raises when asked for a dictionary that it lacks, as parts of pydantic's models do."""

    __slots__ = ()

    def __getattr__(self, name):
        raise (ValueError if name == "__dict__" else AttributeError)(name)


def test_an_object_that_raises_when_asked_for_an_attribute():
    options = SimpleNamespace(factor=2.0, part=Unfinished())
    cell = type("Mine", (Cell,), {"of": lambda s, h: s.settings.factor * h})()
    cell.settings = options
    assert_same(cell)
    options.factor = 3.0
    assert_same(cell)


def test_a_vocabulary():
    """Of many words, only the number is compared."""
    cell = type("Mine", (Cell,), {"of": lambda self, h: h})()
    cell.words = {str(number): number for number in range(20_000)}
    assert cell.explain(tree(20, 3)).way in ("compiled", "traced")


def test_an_object_that_keeps_what_it_has_computed():
    cell = type("Mine", (Cell,), {"of": lambda self, h: len(str(self.path)) * h})()
    cell.path = Path("a") / "b"
    assert cell.explain(tree(20, 3)).way in ("compiled", "traced")
    assert_same(cell)


def test_a_generator_without_a_state():
    cell = type("Mine", (Cell,), {"of": lambda self, h: h})()
    cell.random = random.SystemRandom()
    assert cell.explain(tree(20, 3)).way in ("compiled", "traced")


def test_a_function_of_python_that_has_a_cache():
    """re.sub keeps what it compiled, which other code changes, too."""
    of = {"of": lambda self, h: len(re.sub(self.pattern, "", "abc")) * h, "pattern": "ab?"}
    cell = type("Mine", (Cell,), of)()
    re.purge()
    assert cell.explain(tree(20, 3)).way in ("compiled", "traced")
