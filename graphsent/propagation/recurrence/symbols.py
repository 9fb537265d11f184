"""Symbols, which stand for tensors while a function is traced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor


class Untraceable(Exception):
    """Something in a function of tensors that has no expression; the message says what."""


class Size:
    """A number of nodes or of predecessors, which is not known when a function is traced.

    Attributes:
        name: of what.
        number: stands for it in sizes of tensors without numbers.
    """

    def __init__(self, name: str, number: int) -> None:
        self.name, self.number = name, number

    def _refuse(self, *_: Any) -> Any:
        raise Untraceable(f"it computes with the number of {self.name}")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _refuse
    __rtruediv__ = __floordiv__ = __lt__ = __le__ = __gt__ = __ge__ = __int__ = __index__ = _refuse
    __float__ = __bool__ = __neg__ = __mod__ = __pow__ = _refuse

    def __eq__(self, other: object) -> bool:
        return True if self is other else self._refuse()

    __hash__ = __str__ = __format__ = _refuse


NODES, CHILDREN = Size("nodes", 99_991), Size("predecessors", 99_989)  # primes
_SIZES = {size.number: size for size in (NODES, CHILDREN)}


def shape_of(numbers: Sequence[int]) -> tuple[int | Size, ...]:
    """The sizes that some numbers stand for."""
    return tuple(_SIZES.get(n, n) for n in numbers)


class Recorder(Protocol):
    """What symbols hand the functions to that are called with them."""

    like: Tensor

    def call(self, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """What a function of torch returns for symbols."""


class Symbol:
    """Stands for a tensor: the column of a value at each place.

    Attributes:
        tracer: what knows the values.
        codes: int64, number of the value and column at each place; of size 1 where ``shape`` has a
            :class:`Size`.
        shape: of the tensor.
    """

    __array_priority__ = 1000
    __hash__ = object.__hash__

    def __init__(self, tracer: Recorder, codes: Tensor, shape: Sequence[int | Size]) -> None:
        self.tracer, self.codes, self.shape = tracer, codes, tuple(shape)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The shape, with the numbers that stand for sizes."""
        return tuple(n.number if isinstance(n, Size) else n for n in self.shape)

    def size(self, dim: int | None = None) -> Any:
        """As of a tensor."""
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        """As of a tensor."""
        return len(self.shape)

    ndim = property(dim)

    @property
    def dtype(self) -> torch.dtype:
        """That of the parameters."""
        return self.tracer.like.dtype

    @property
    def device(self) -> torch.device:
        """That of the parameters."""
        return self.tracer.like.device

    def __bool__(self) -> bool:
        raise Untraceable("what it does depends on the numbers in a tensor")

    __float__ = __int__ = __index__ = item = tolist = all = any = __bool__

    @property  # type: ignore[misc]  # it can be set, of any object
    def __class__(self) -> type:
        """What ``isinstance`` asks for: the answer would not be that of a tensor."""
        raise Untraceable(
            "it asks for the type of a tensor, itself, or in an autograd.Function, or as "
            "it sets attributes of modules"
        )

    def __len__(self) -> int:
        return self.shape[0].__index__()

    def __iter__(self) -> Any:
        return iter(self.unbind(0))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(Tensor, name):
            raise AttributeError(name)
        if not callable(getattr(Tensor, name)):
            raise Untraceable(f"it reads {name} of a tensor")
        return lambda *args, **kwargs: self.tracer.call(name, (self, *args), kwargs)

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        raise Untraceable(f"it calls {func.__name__} outside of the function that is traced")


def _operator(name: str, turned: bool = False) -> Callable[..., Any]:
    def operate(self: Symbol, *args: Any) -> Any:
        return self.tracer.call(name, (*args, self) if turned else (self, *args), {})

    return operate


for _name, _called in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div"}.items():
    setattr(Symbol, f"__{_name}__", _operator(_called))
    setattr(Symbol, f"__r{_name}__", _operator(_called, turned=True))
for _name in ("neg", "getitem", "matmul", "pow", "eq", "ge", "le", "gt", "lt", "ne"):
    setattr(Symbol, f"__{_name}__", _operator(_name))


class Condition(Symbol):
    """What a comparison returns: 1 where it is true, else 0, of which torch has other types."""

    @property
    def dtype(self) -> torch.dtype:
        """As of a tensor."""
        return torch.bool


def _changes_in_place(self: Symbol, _: Any) -> Any:
    raise Untraceable("it changes a tensor in place")  # and perhaps others that are views of it


for _name in ("add", "sub", "mul", "truediv", "pow", "matmul"):
    setattr(Symbol, f"__i{_name}__", _changes_in_place)


def is_a(given: Any, kinds: type | tuple[type, ...]) -> bool:
    """As ``isinstance``, which symbols refuse."""
    return issubclass(type(given), kinds)
