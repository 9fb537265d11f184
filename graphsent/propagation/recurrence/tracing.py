"""Tracing: a function of tensors is called once with symbols, which record expressions."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from graphsent.propagation.recurrence.expressions import Domain, Expressions, Ref, Value
from graphsent.propagation.recurrence.operations import OPERATIONS
from graphsent.propagation.recurrence.symbols import (
    CHILDREN,
    NODES,
    TRACING,
    Call,
    Condition,
    Known,
    Size,
    Symbol,
    Untraceable,
    is_a,
    leaves,
    mapped,
    shape_of,
)

MOST_PIECES = 256
"""A tensor composed of more pieces of other tensors is not worth compiling."""

DRAWS = "it draws random numbers"
"""The reason not to trace a call: it would be repeated in every run, with other numbers."""

MOVING = (
    *("reshape", "view", "flatten", "unflatten", "expand", "broadcast_to", "unsqueeze", "squeeze"),
    *("transpose", "swapaxes", "swapdims", "permute", "movedim", "moveaxis", "select", "narrow"),
    *("t", "unbind", "chunk", "split", "split_with_sizes", "repeat", "tile", "repeat_interleave"),
)
"""Methods of tensors that only move columns, or repeat them."""

_Function = TypeVar("_Function", bound=Callable[..., Any])
_COLUMNS = 1 << 32
_OF_CONDITIONS = {"where", "masked_fill", "mul", "to", "type", "type_as", "float", "double"}
_OF_CONDITIONS |= {*MOVING, "getitem", "expand_as", "view_as", "reshape_as"}
_OF_CONDITIONS |= {"and", "or", "invert", "logical_and", "logical_or", "logical_not"}
_FIXED = {"size", "dim", "ndimension", "numel", "nelement", "__len__", "__hash__"}
_FIXED |= {"is_floating_point", "is_complex", "element_size", "get_device"}
"""Functions that do not depend on the values of tensors."""
_DYNAMIC = {torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output}

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""The functions of torch that can be traced, by name; they take its arguments."""

_SHARING: set[str] = set()
"""Those whose result may share memory with their first argument."""


def traced(*names: str, sharing: bool = False) -> Callable[[_Function], _Function]:
    """A decorator that enters a function in :data:`FUNCTIONS` under some names.

    It may be written with methods and operators of symbols: what these share is not noted within.
    """

    def enter(function: _Function) -> _Function:
        FUNCTIONS.update(dict.fromkeys(names, function))
        _SHARING.update(names if sharing else ())
        return function

    return enter


def like_of(tensors: Mapping[str, Tensor], dtype: torch.dtype) -> Tensor:
    """A tensor with the dtype and device of parameters; without any, one of this dtype."""
    real = (tensor for tensor in tensors.values() if tensor.is_floating_point())
    return next(real, torch.empty(0, dtype=dtype))


def _check_gradients() -> None:
    """Refuses code without gradients: functions are traced with gradients enabled."""
    if not torch.is_grad_enabled():
        raise Untraceable("it computes under no_grad or in an autograd.Function")


class _DynamicSizes(TorchDispatchMode):
    """Notes calls of functions whose results, or their sizes, depend on values that may change.

    Args:
        fixed: Identities of tensors that never change.

    Attributes:
        found: Whether there was one.
    """

    def __init__(self, fixed: set[int]) -> None:
        super().__init__()
        self.fixed, self.found = fixed, False

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # as all of the engine, see `untraced`: torch's way takes seconds to import

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Any = (), kwargs: Any = None
    ) -> Any:
        if _DYNAMIC & {*func.tags}:
            read = [part for part in leaves(args) if is_a(part, Tensor)]
            if func is torch.ops.aten.index.Tensor:  # by numbers, the sizes are known
                read = [part for part in read[1:] if part.dtype in (torch.bool, torch.uint8)]
            self.found |= any(id(part) not in self.fixed for part in read)
        return func(*args, **(kwargs or {}))


class Tracer(TorchFunctionMode):
    """Records the functions that are called while it is active as expressions.

    Args:
        tensors: Parameters and buffers by name, those of real numbers on one device.
        dtype: Dtype of these, and of the inputs.
        num_slots: Slots per node; None if predecessors are unordered.
    """

    def __init__(
        self,
        tensors: Mapping[str, Tensor],
        dtype: torch.dtype,
        num_slots: int | None = None,
    ) -> None:
        super().__init__()
        self.num_slots = num_slots
        self.like = like_of(tensors, dtype)
        self.expressions = Expressions()
        self.num_inputs: int | None = None  # set if products of inputs are to be hoisted
        self.hoisted: list[Value] = []
        self.calls: list[Call] = []
        self.constants: dict[Known, tuple[int, ...]] = {}
        self._inside = False  # a function of FUNCTIONS
        self._known = {id(tensor): Known(name) for name, tensor in tensors.items()}
        self._kept: list[Tensor] = []  # so that their ids are not reused
        self._fixed: set[int] = set()  # ids of those that do not depend on parameters or buffers

    def __enter__(self) -> Tracer:
        self._outer = TRACING.tracer
        TRACING.tracer, TRACING.reason = self, None
        return super().__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        super().__exit__(kind, error, trace)
        TRACING.tracer, reason = self._outer, TRACING.reason
        if reason and kind is not Untraceable and issubclass(kind or Exception, Exception):
            raise Untraceable(reason) from error  # which the function caught

    # Symbols

    def input(self, number: int, width: int) -> Symbol:
        """A symbol for inputs, (nodes, width)."""
        value = self.expressions.make("input", Domain.NODE, width, (), number)
        return symbol_of([value.ref()], (NODES, width), shared=True)

    def children(self, part: int, width: int) -> Symbol:
        """A symbol for a part of the predecessors' states, (nodes, predecessors, width)."""
        make = self.expressions.make
        if self.num_slots is None:
            value = make("state", Domain.SOURCE, width, (), (part, None))
            return symbol_of([value.ref()], (NODES, CHILDREN, width), shared=True)
        slots = range(self.num_slots)
        values = [make("state", Domain.NODE, width, (), (part, slot)) for slot in slots]
        refs = [value.ref() for value in values]
        return symbol_of(refs, (NODES, self.num_slots, width), shared=True)

    def refs(self, symbol: Symbol) -> list[Ref]:
        """The columns of a row of a symbol, in order."""
        return [refs[0] for refs in self.runs(symbol.codes)]

    def runs(self, *given: Tensor) -> list[tuple[Ref, ...]]:
        """Splits tensors of codes into ranges in which each of them runs through one value."""
        codes = [part.reshape(-1).numpy() for part in given]
        length = len(codes[0])
        steps = np.stack([np.diff(part) for part in codes])
        found, begin = [], 0
        while begin < length:
            end, step = begin + 1, steps[:, begin : begin + 1]  # empty at the last code
            if step.size and ((step == 0) | (step == 1)).all():
                others = np.flatnonzero((steps[:, begin:] != step).any(0))
                end = end + int(others[0]) if len(others) else length
            found.append(tuple(self._ref(part, begin, end) for part in codes))
            begin = end
            if len(found) > MOST_PIECES:
                raise Untraceable(f"a tensor consists of more than {MOST_PIECES} pieces")
        return found

    def _ref(self, codes: np.ndarray, begin: int, end: int) -> Ref:
        number, first = divmod(int(codes[begin]), _COLUMNS)
        spread = end > begin + 1 and codes[begin + 1] == codes[begin]
        value = self.expressions.values[number]
        return Ref(value, first, end - begin, spread or value.op == "number")

    def constant(self, tensor: Tensor) -> int:
        """The number of a constant: a parameter, a buffer, or a function of these."""
        known = self._known.get(id(tensor))
        if known is None:
            raise Untraceable(
                f"it uses a tensor of shape {tuple(tensor.shape)} that is not a parameter or buffer"
            )
        if (tensor.dtype, tensor.device) != (self.like.dtype, self.like.device):
            raise Untraceable(f"it uses a tensor of {tensor.dtype} on {tensor.device}")
        self.constants.setdefault(known, tuple(tensor.shape))
        return [*self.constants].index(known)

    # Calls

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch._C._set_grad_enabled:  # what no_grad calls
            return func(*args)
        _check_gradients()
        if not _contain(Symbol, args, kwargs):
            return self.call_now(func, tuple(args), kwargs)
        return self.call(func.__name__, tuple(args), kwargs)

    def call(self, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The result of a function of torch for symbols."""
        _check_gradients()
        if _is_in_place(name, kwargs):
            return self._call_in_place(name, args, kwargs)
        name = name.strip("_").removeprefix("special_")  # as of torch.special
        kwargs = {"dim" if key == "axis" else key: value for key, value in kwargs.items()}
        kwargs.pop("inplace", None)
        if not args and "input" in kwargs:
            args = (kwargs.pop("input"),)
        if "other" in kwargs:  # it comes after those without a name
            args = (*args, kwargs.pop("other"))
        if name not in FUNCTIONS:
            raise Untraceable(f"it calls {name}, which cannot be traced")
        if name not in _OF_CONDITIONS and _contain(Condition, args, kwargs):
            raise Untraceable("it computes with the results of comparisons")
        inside, self._inside = self._inside, True
        try:
            with torch._C.DisableTorchFunction():  # operations on codes are not traced
                result = FUNCTIONS[name](*args, **kwargs)
        except Exception as error:
            if inside or type(error) is Untraceable:
                raise
            # Without the name of the function of this package that an argument does not fit.
            problem = re.sub(r"^\S+\(\) ", "", str(error))
            raise Untraceable(f"it calls {name}: {problem}") from error
        finally:
            self._inside = inside
        if name in _SHARING and not inside:
            for part in leaves((args[:1], result)):
                if is_a(part, Symbol):
                    part.shared = True
        return result

    def _call_in_place(self, name: str, args: tuple, kwargs: dict[str, Any]) -> Symbol:
        """Calls a function that changes its first argument: the symbol stands for its result."""
        target: Any = args[0] if args else kwargs.get("input")
        if name == "__setitem__" or "out" in kwargs or not is_a(target, Symbol) or target.shared:
            raise Untraceable("it changes a tensor in place, and possibly others that share memory")
        others = {key: value for key, value in kwargs.items() if key != "inplace"}
        of_operator = name.startswith("__")  # "__iadd__", otherwise "add_", or inplace=True
        name = name.strip("_").removeprefix("i") if of_operator else name.rstrip("_")
        result = self.call(name, args, others)
        if type(result) is not type(target) or result.numbers != target.numbers:
            raise Untraceable("it changes the shape or dtype of a tensor in place")
        target.codes = result.codes
        return target

    def call_now(self, func: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
        """Calls a function of tensors, and records the call if these are known."""
        tensors = [leaf for leaf in leaves((args, kwargs)) if is_a(leaf, Tensor)]
        if tensors and _is_in_place(func.__name__, kwargs):
            raise Untraceable("it changes a tensor in place")
        if _contain(torch.Generator, args, kwargs):
            raise Untraceable(DRAWS)
        drawn = torch.get_rng_state()
        sizes = _DynamicSizes(self._fixed)
        with torch.no_grad(), sizes:
            result = func(*args, **kwargs)
        if not torch.equal(drawn, torch.get_rng_state()):  # the cell may restore it
            raise Untraceable(DRAWS)
        if tensors and (sizes.found or not _is_fixed(func.__name__, result)):
            raise Untraceable("it depends on the values of a tensor")
        known = mapped(lambda leaf: self._known.get(id(leaf), leaf), (args, kwargs))
        if not _contain(Tensor, known):
            self._record(Call(func, *known), result)
            if all(id(tensor) in self._fixed for tensor in tensors):
                self._fixed |= {id(leaf) for leaf in leaves(result)}
        return result

    def _record(self, call: Call, result: Any) -> None:
        """Records the call of a function of known tensors with its results."""
        if is_a(result, Tensor):
            if id(result) not in self._known:
                self._known[id(result)] = Known(len(self.calls))
                self.calls.append(call)
                self._kept.append(result)
        elif is_a(result, (tuple, list)) and any(is_a(part, Tensor) for part in result):
            number = len(self.calls)
            self.calls.append(call)
            for place, part in enumerate(result):
                self._record(Call(operator.getitem, (Known(number), place), {}), part)


# For the functions of torch


def symbol_of(refs: Sequence[Ref], shape: Sequence[int | Size], *, shared: bool = False) -> Symbol:
    """A symbol for columns, in the order of its elements."""
    parts = [np.zeros(0, np.int64)]
    for ref in refs:
        columns = np.arange(ref.width, dtype=np.int64) * (not ref.spread)
        parts.append(ref.value.number * _COLUMNS + ref.first + columns)
    sizes = [1 if isinstance(size, Size) else size for size in shape]
    return Symbol(torch.from_numpy(np.concatenate(parts)).reshape(sizes), shape, shared)


def lifted(given: Any) -> Symbol:
    """Converts a number or a known tensor to a symbol."""
    if is_a(given, Symbol):
        return given
    tracer: Tracer = TRACING.tracer
    if is_a(given, Tensor):
        number = tracer.constant(given)
        value = tracer.expressions.make("constant", Domain.CONSTANT, given.numel(), (), number)
        return symbol_of([value.ref()], given.shape)
    if is_a(given, (int, float)):
        return symbol_of([tracer.expressions.number(given, 1)], ())
    if is_a(given, Size):
        given.refuse()
    raise Untraceable(f"it uses {type(given).__name__} as a number")


def beforehand(function: Callable[..., Any], *given: Any) -> Tensor:
    """A function of parameters alone, which each run computes once for all nodes."""
    return TRACING.tracer.call_now(function, given, {})


def pointwise(op: str, *given: Any) -> Any:
    """A pointwise operation, with broadcasting."""
    if _contain(Tensor, given) and not _contain(Symbol, given):
        return beforehand(OPERATIONS[op].function, *given)
    return each(partial(TRACING.tracer.expressions.pointwise, op), *given)


def each(make: Callable[..., Ref], *given: Any) -> Symbol:
    """A function of the columns of symbols, with broadcasting."""
    tracer: Tracer = TRACING.tracer
    symbols = [lifted(part) for part in given]
    shape = shape_of(np.broadcast_shapes(*(symbol.numbers for symbol in symbols)))
    codes = torch.broadcast_tensors(*(symbol.codes for symbol in symbols))
    return symbol_of([make(*refs) for refs in tracer.runs(*codes)], shape)


def _is_in_place(name: str, kwargs: Mapping[str, Any]) -> bool:
    """Whether a function changes a tensor in place."""
    if name.startswith("__"):
        return name in ("__setitem__", "__set__", "__delitem__") or (
            name.startswith("__i")
            and name not in ("__index__", "__int__", "__invert__", "__iter__")
        )
    return name.endswith("_") or kwargs.get("out") is not None or bool(kwargs.get("inplace"))


def _is_fixed(name: str, result: Any) -> bool:
    """Whether a result contains values of tensors only inside tensors."""
    if is_a(result, Tensor) or name in _FIXED:
        return True
    if name == "__get__":
        return is_a(result, (torch.Size, torch.dtype, torch.device, int)) and not is_a(result, bool)
    return is_a(result, (tuple, list)) and all(is_a(part, Tensor) for part in result)


def _contain(kind: type, *given: Any) -> bool:
    return any(is_a(leaf, kind) for leaf in leaves(given))
