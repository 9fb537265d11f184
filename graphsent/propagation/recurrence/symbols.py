"""Symbols, which stand for tensors during tracing, and calls of functions of parameters alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor


class _Tracing(threading.local):
    """Of each thread: the :class:`.tracing.Tracer` at work, and the latest reason why it fails."""

    tracer: Any = None
    reason: str | None = None


TRACING = _Tracing()


class Untraceable(Exception):
    """A function cannot be traced; the message is the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        TRACING.reason = reason  # the function may catch it


def _kind(self: Any) -> type:
    """``__class__`` where ``isinstance`` is refused: its result would differ from torch's."""
    if TRACING.tracer is not None:
        raise Untraceable(self.reason)
    return type(self)


class _Refusing:
    """What is unknown during tracing: every use of it as a number is refused.

    Attributes:
        reason: Why the function cannot be traced then.
    """

    reason: str
    __class__: Any = property(_kind)

    def refuse(self, *_: Any, **__: Any) -> Any:
        """Raises Untraceable."""
        raise Untraceable(self.reason)

    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = refuse
    __hash__ = __repr__ = __array__ = refuse


for _name in vars(int).keys() - vars(object).keys():
    setattr(_Refusing, _name, _Refusing.refuse)


class Size(_Refusing):
    """An unknown number of nodes or predecessors, and the ``number`` for it in meta tensors."""

    def __init__(self, name: str, number: int, instead: str) -> None:
        self.name, self.number = name, number
        self.reason = f"it computes with the number of {name}: {instead}"

    def __eq__(self, other: object) -> bool:
        return True if self is other else self.refuse()

    __hash__ = _Refusing.refuse


class Indices(_Refusing):
    """The indices of maxima, which are not traced."""

    reason = "it uses the indices of maxima or minima"
    __getattr__ = __setattr__ = __iter__ = __getitem__ = __len__ = _Refusing.refuse
    __contains__ = __matmul__ = __rmatmul__ = _Refusing.refuse


NODES = Size(
    "nodes", 99_991, "broadcasting, h.reshape and x.new_zeros(x.shape[0], n) can be traced"
)
CHILDREN = Size(
    "predecessors", 99_989, "mean(1) and torch.ones_like(h).sum(1) can be traced"
)  # both are primes
_SIZES = {size.number: size for size in (NODES, CHILDREN)}


class Shape(tuple):
    """The sizes of a tensor."""

    __slots__ = ()
    reason = "it checks the type of the shape of a tensor"
    __class__: Any = property(_kind)


def shape_of(numbers: Sequence[int]) -> Shape:
    """The shape that some sizes of a meta tensor represent."""
    for number, size in _SIZES.items():
        if numbers.count(number) > 1:  # a value has one row per edge, not per pair of edges
            raise Untraceable(f"it pairs the {size.name} with each other")
    return Shape(_SIZES.get(n, n) for n in numbers)


class Symbol:
    """Stands for a tensor: each of its elements is a column of a value.

    Attributes:
        codes: int64, value and column of each element; of size 1 where ``shape`` has a
            :class:`Size`.
        shape: Shape of the tensor.
        shared: Whether it may share its memory with others: arguments, views, what has views.
    """

    __array_priority__ = 1000

    def __init__(self, codes: Tensor, shape: Sequence[int | Size], shared: bool = False) -> None:
        self.codes, self.shape, self.shared = codes, Shape(shape), shared

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in ("codes", "shape", "shared"):
            raise Untraceable(f"it sets {name} of a tensor")
        super().__setattr__(name, value)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The shape of a meta tensor that represents it."""
        return tuple(n.number if isinstance(n, Size) else n for n in self.shape)

    def size(self, dim: int | None = None) -> Any:
        """As of a tensor."""
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        """As of a tensor."""
        return len(self.shape)

    ndim = property(dim)
    mT = property(lambda self: self.transpose(-1, -2))

    @property
    def dtype(self) -> torch.dtype:
        """That of the parameters."""
        return TRACING.tracer.like.dtype

    @property
    def device(self) -> torch.device:
        """That of the parameters."""
        return TRACING.tracer.like.device

    def __bool__(self, *_: Any, **__: Any) -> Any:
        raise Untraceable("it depends on the values of a tensor")

    __float__ = __int__ = __index__ = item = tolist = all = any = __bool__
    __repr__ = __reduce_ex__ = __bool__  # print and copy

    reason = (
        "it checks the type of a tensor, directly or in an autograd.Function, sets attributes of "
        "modules, or calls torch.where(..., h, 0.0) or torch.pow(h, 2); h.where(..., 0.0) and "
        "h ** 2 can be traced"
    )
    __class__: Any = property(_kind)

    def __len__(self) -> int:
        return self.shape[0].__index__()

    def __iter__(self) -> Any:
        return iter(self.unbind(0))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if not callable(getattr(Tensor, name)):
            raise Untraceable(f"it reads {name} of a tensor")
        return lambda *args, **kwargs: _call(name, (self, *args), kwargs)

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        raise Untraceable(f"it calls {func.__name__} outside the traced function")


def _call(name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    if TRACING.tracer is None:
        raise Untraceable(f"it calls {name} outside the traced function")
    return TRACING.tracer.call(name, args, kwargs)


def _operator(name: str, reflected: bool = False) -> Callable[..., Any]:
    def operate(self: Symbol, *args: Any) -> Any:
        return _call(name, (*args, self) if reflected else (self, *args), {})

    return operate


_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
for _name in (*_ARITHMETIC, "and", "or", "xor"):
    setattr(Symbol, f"__{_name}__", _operator(_name))
    setattr(Symbol, f"__r{_name}__", _operator(_name, reflected=True))
    if hasattr(Tensor, f"__i{_name}__"):  # not @=, which makes a new tensor
        setattr(Symbol, f"__i{_name}__", _operator(f"__i{_name}__"))
for _name in (
    *("setitem", "getitem", "pos", "neg", "abs", "invert"),
    *("eq", "ge", "le", "gt", "lt", "ne"),
):
    setattr(Symbol, f"__{_name}__", _operator(f"__{_name}__"))


class Condition(Symbol):
    """The result of a comparison: 1 where it is true, else 0. In torch it has another dtype."""

    @property
    def dtype(self) -> torch.dtype:
        """As of a tensor."""
        return torch.bool


def is_a(given: Any, kinds: type | tuple[type, ...]) -> bool:
    """``isinstance`` for values that may be symbols, which refuse it."""
    return issubclass(type(given), kinds)


# Functions of parameters alone


class Call(NamedTuple):
    """A call of a function of torch; in its arguments, :class:`Known` stands for a tensor."""

    function: Callable[..., Any]
    args: tuple
    kwargs: dict[str, Any]


class Known(NamedTuple):
    """A parameter or buffer by its name, or the result of a :class:`Call` by its number."""

    key: str | int


def leaves(given: Any) -> Iterator[Any]:
    """The leaves of nested tuples, lists and dictionaries."""
    parts = tuple(given.values()) if is_a(given, dict) else given
    if is_a(parts, (tuple, list)):
        for part in parts:
            yield from leaves(part)
    else:
        yield given


def mapped(function: Callable[[Any], Any], given: Any) -> Any:
    """Applies a function to the leaves of nested tuples, lists and dictionaries."""
    if is_a(given, dict):
        return {name: mapped(function, part) for name, part in given.items()}
    if type(given) in (tuple, list, Shape):
        parts = [mapped(function, part) for part in given]
        return parts if is_a(given, list) else tuple(parts)
    return function(given)
