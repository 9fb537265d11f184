"""From functions of tensors to expressions: they are called once, with symbols for tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from graphsent.propagation.recurrence.expressions import (
    Domain,
    Expressions,
    Ref,
    Term,
    Value,
    reached,
)

MOST_PIECES = 256
"""A tensor of more pieces of other tensors is not worth to be compiled."""

_COLUMNS = 1 << 32


class Untraceable(Exception):
    """Something in a function of tensors that has no expression; the message says what."""


class Size:
    """A number of nodes or of predecessors, which is not known when a function is traced."""

    def __init__(self, name: str) -> None:
        self.name = name

    def _refuse(self, *_: Any) -> Any:
        raise Untraceable(f"it computes with the number of {self.name}")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _refuse
    __rtruediv__ = __floordiv__ = __lt__ = __le__ = __gt__ = __ge__ = __int__ = __index__ = _refuse
    __float__ = __bool__ = __neg__ = __mod__ = __pow__ = _refuse

    def __eq__(self, other: object) -> bool:
        return True if self is other else self._refuse()

    __hash__ = __str__ = __format__ = _refuse


NODES, CHILDREN = Size("nodes"), Size("predecessors")


class Symbol:
    """Stands for a tensor: the column of a value at each place.

    Attributes:
        tracer: what knows the values.
        codes: number of the value and column at each place; size 1 where ``tags`` has a size.
        tags: for each dimension its :class:`Size`, or None.
    """

    __array_priority__ = 1000
    __hash__ = object.__hash__

    def __init__(self, tracer: Tracer, codes: np.ndarray, tags: Sequence[Size | None]) -> None:
        self.tracer, self.codes, self.tags = tracer, codes, tuple(tags)

    @property
    def shape(self) -> tuple[int | Size, ...]:
        """Sizes, some of which are not known."""
        return tuple(
            n if tag is None else tag for n, tag in zip(self.codes.shape, self.tags, strict=True)
        )

    def size(self, dim: int | None = None) -> Any:
        """As of a tensor."""
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        """As of a tensor."""
        return len(self.tags)

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

    @property
    def __class__(self) -> type:
        """What ``isinstance`` asks for: the answer would not be that of a tensor."""
        raise Untraceable(
            "it asks for the type of a tensor, itself, or in an autograd.Function, or as "
            "it sets attributes of modules"
        )

    def __len__(self) -> int:
        if self.tags[0] is not None:
            return self.tags[0]._refuse()
        return len(self.codes)

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


def _check_gradients() -> None:
    """Refuses what torch does not differentiate: functions are traced with gradients enabled."""
    if not torch.is_grad_enabled():
        raise Untraceable("it computes under no_grad, or in an autograd.Function")


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

_OF_CONDITIONS = {"where", "mul", "to", "type_as"}
_FIXED = {"size", "dim", "ndimension", "numel", "nelement", "stride", "__len__", "__hash__"}
_FIXED |= {"is_floating_point", "is_complex", "is_contiguous", "element_size", "get_device"}
"""Functions that do not depend on the numbers in tensors."""


def is_a(given: Any, kinds: type | tuple[type, ...]) -> bool:
    """As ``isinstance``, which symbols refuse."""
    return issubclass(type(given), kinds)


class Call(NamedTuple):
    """A function of parameters alone, which is called before the nodes are computed.

    Attributes:
        function: of torch.
        args: its arguments; :class:`Known` stands for a tensor.
        kwargs: the same.
    """

    function: Callable[..., Any]
    args: tuple
    kwargs: dict[str, Any]


class Known(NamedTuple):
    """A parameter or buffer, by its name, or what a :class:`Call` returned, by its number."""

    key: str | int


class Tracer(TorchFunctionMode):
    """Makes expressions of the functions that are called while it is active.

    Args:
        functions: of torch, by name, each with the tracer as first argument.
        tensors: parameters and buffers by name, all of one type and on one device.
        num_slots: of predecessors that are told apart; None if they are not.
    """

    def __init__(
        self,
        functions: Mapping[str, Callable[..., Any]],
        tensors: Mapping[str, Tensor],
        num_slots: int | None = None,
    ) -> None:
        super().__init__()
        self.functions, self.num_slots = functions, num_slots
        self.like = next(iter(tensors.values()), torch.empty(0))
        self.expressions = Expressions()
        self.num_inputs: int | None = None  # if products of inputs alone are to become inputs
        self.hoisted: list[Value] = []
        self.calls: list[Call] = []
        self.constants: list[Known] = []
        self.shapes: list[tuple[int, ...]] = []
        self._known = {id(tensor): Known(name) for name, tensor in tensors.items()}
        self._kept: list[Tensor] = []  # so that their ids stay theirs

    # Symbols

    def symbol(self, value: Value) -> Symbol:
        """A symbol for a row of each node, or of each edge."""
        codes = value.number * _COLUMNS + np.arange(value.width)
        if value.domain == Domain.NODE:
            return Symbol(self, codes[None], (NODES, None))
        return Symbol(self, codes[None, None], (NODES, CHILDREN, None))

    def input(self, number: int, width: int) -> Symbol:
        """A symbol for inputs, (nodes, width)."""
        return self.symbol(self.expressions.make("input", Domain.NODE, width, (), number))

    def children(self, part: int, width: int) -> Symbol:
        """A symbol for a part of the predecessors' states, (nodes, predecessors, width)."""
        make = self.expressions.make
        if self.num_slots is None:
            return self.symbol(make("state", Domain.SOURCE, width, (), (part, None)))
        slots = range(self.num_slots)
        values = [make("state", Domain.NODE, width, (), (part, slot)) for slot in slots]
        codes = np.stack([v.number * _COLUMNS + np.arange(width) for v in values])
        return Symbol(self, codes[None], (NODES, None, None))

    def refs(self, symbol: Symbol) -> list[Ref]:
        """The columns of a row of a symbol, in their order."""
        if any(tag is not None for tag in symbol.tags[2:]):
            raise Untraceable("it moves the dimension of nodes or predecessors")
        return [refs[0] for refs in self._runs([symbol.codes.ravel()])]

    def known_of(self, tensor: Tensor) -> Known:
        """What a tensor is; it must be a parameter, a buffer, or made of them."""
        if id(tensor) not in self._known:
            raise Untraceable(
                f"it uses a tensor of shape {tuple(tensor.shape)} that is no parameter or buffer"
            )
        return self._known[id(tensor)]

    def constant(self, tensor: Tensor) -> int:
        """The number of a constant."""
        known = self.known_of(tensor)
        if (tensor.dtype, tensor.device) != (self.like.dtype, self.like.device):
            raise Untraceable(f"it uses a tensor of {tensor.dtype} on {tensor.device}")
        if known not in self.constants:
            self.constants.append(known)
            self.shapes.append(tuple(tensor.shape))
        return self.constants.index(known)

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
        if not _contains(Symbol, (args, kwargs)):
            return self.call_now(func, tuple(args), kwargs)
        return self.call(func.__name__, tuple(args), kwargs)

    def call(self, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """What a function of torch returns for symbols."""
        _check_gradients()
        in_place = name.endswith("_") and not name.endswith("__")
        name = name.strip("_")
        if kwargs.get("out") is not None or in_place or name not in self.functions:
            raise Untraceable(f"it calls {name}, of which there is no expression")
        if name not in _OF_CONDITIONS and _contains(Condition, (args, kwargs)):
            raise Untraceable("it computes with the results of comparisons")
        return self.functions[name](self, *args, **kwargs)

    def call_now(self, func: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
        """Calls a function of tensors that are there, and takes note if they are known."""
        if _is_in_place(func.__name__, kwargs) and _contains(Tensor, (args, kwargs)):
            raise Untraceable("it changes a tensor in place")
        with torch.no_grad():
            result = func(*args, **kwargs)
        if not _is_fixed(func.__name__, result) and _contains(Tensor, (args, kwargs)):
            raise Untraceable("what it does depends on the numbers in a tensor")
        made = is_a(result, Tensor) and id(result) not in self._known
        if made and _all_known(self._known, (args, kwargs)):
            known = _mapped(lambda t: self._known[id(t)], (args, kwargs))
            self._known[id(result)] = Known(len(self.calls))
            self.calls.append(Call(func, *known))
            self._kept.append(result)
        return result

    # What the functions are made of

    def lifted(self, given: Any) -> Symbol:
        """A symbol for a number, a tensor that is known, or a symbol."""
        if is_a(given, Symbol):
            return given
        if is_a(given, Tensor):
            number = self.constant(given)
            width = given.numel()
            value = self.expressions.make("constant", Domain.CONSTANT, width, (), number)
            codes = value.number * _COLUMNS + np.arange(width)
            return Symbol(self, codes.reshape(given.shape), (None,) * given.dim())
        if is_a(given, (int, float)):
            value = self.expressions.number(given, 1).value
            return Symbol(self, np.array(value.number * _COLUMNS), ())
        raise Untraceable(f"it uses {type(given).__name__} as a number")

    def pointwise(self, op: str, *given: Any) -> Symbol:
        """A pointwise operation, with broadcasting."""
        return self.each(lambda *refs: self.expressions.pointwise(op, *refs), *given)

    def each(self, make: Callable[..., Ref], *given: Any) -> Symbol:
        """A function of each column of symbols, with broadcasting."""
        symbols = [self.lifted(part) for part in given]
        tags = broadcast_tags(symbols)
        codes = np.broadcast_arrays(*(symbol.codes for symbol in symbols))
        results = [make(*refs) for refs in self._runs([part.ravel() for part in codes])]
        if any(_is_made_of_constants(ref.value) for ref in results):
            raise Untraceable("it combines parameters after the states of nodes")
        return Symbol(self, self.codes_of(results).reshape(codes[0].shape), tags)

    def codes_of(self, refs: Sequence[Ref]) -> np.ndarray:
        """The number of the value and column of each column."""
        parts = []
        for ref in refs:
            columns = np.zeros(ref.width, np.int64) if ref.spread else np.arange(ref.width)
            parts.append(ref.value.number * _COLUMNS + ref.first + columns)
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    def _runs(self, codes: Sequence[np.ndarray]) -> list[tuple[Ref, ...]]:
        """Ranges of places in which each of several symbols goes through one value."""
        length = len(codes[0])
        steps = np.stack([np.diff(part) for part in codes])
        found, begin = [], 0
        while begin < length:
            end = begin + 1
            if end < length:
                step = steps[:, begin]
                if ((step == 0) | (step == 1)).all():
                    others = np.flatnonzero((steps[:, begin:] != step[:, None]).any(0))
                    end = begin + 1 + (int(others[0]) if len(others) else length - begin - 1)
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

    def product(self, refs: Sequence[Ref], weight: int, out_feats: int) -> Ref:
        """The sum of products of columns side by side with a weight."""
        groups: dict[tuple[Domain, bool], list[Term]] = {}
        column = 0
        for ref in refs:
            value = ref.value
            if value.op == "number" and value.data == 0:
                column += ref.width
                continue
            whole = (ref.first, ref.width, ref.spread) == (0, value.width, False)
            if not whole or value.op == "number":
                value = self.expressions.make("pack", value.domain, ref.width, (ref,))
            key = value.domain, _is_of_inputs(value)
            groups.setdefault(key, []).append(Term(value, weight, column, 0, out_feats))
            column += ref.width
        make = self.expressions.make
        results = []
        for (domain, _), terms in groups.items():
            joined = self._joined(domain, terms)
            value = make("product", domain, out_feats, (), tuple(joined))
            results.append(self._hoisted(value).ref())
        total = results[0] if results else self.expressions.number(0, out_feats)
        for other in results[1:]:
            total = self.expressions.pointwise("add", total, other)
        return total

    def _hoisted(self, value: Value) -> Value:
        """An input in place of a value that depends on inputs alone."""
        if self.num_inputs is None or not _is_of_inputs(value):
            return value
        if value not in self.hoisted:
            self.hoisted.append(value)
        number = self.num_inputs + self.hoisted.index(value)
        return self.expressions.make("input", Domain.NODE, value.width, (), number)

    def _joined(self, domain: Domain, terms: list[Term]) -> list[Term]:
        """The terms, those side by side as one; states in slots are multiplied by themselves."""
        joined: list[list[Term]] = []
        for term in terms:
            state = self.num_slots is not None and term.rows.op == "state"
            last = joined[-1] if joined else None
            follows = (
                last is not None
                and not state
                and not (self.num_slots is not None and last[-1].rows.op == "state")
                and last[-1].column + last[-1].rows.width == term.column
            )
            if follows:
                last.append(term)
            else:
                joined.append([term])
        results = []
        for group in joined:
            if len(group) > 1:
                refs = [_unpacked(term.rows) for term in group]
                width = sum(ref.width for ref in refs)
                rows = self.expressions.make("pack", domain, width, refs)
                results.append(Term(rows, *group[0][1:]))
            else:
                results.append(group[0])
        return results


def _is_of_inputs(value: Value) -> bool:
    return not {part.op for part in reached([value])} & {"state", "degree"}


def _is_made_of_constants(value: Value) -> bool:
    return value.domain == Domain.CONSTANT and value.op not in ("constant", "number")


def _unpacked(value: Value) -> Ref:
    return value.args[0] if value.op == "pack" and len(value.args) == 1 else value.ref()


def broadcast_tags(symbols: Sequence[Symbol]) -> tuple[Size | None, ...]:
    """The sizes that are not known, of several symbols together."""
    dims = max(symbol.dim() for symbol in symbols)
    tags: list[Size | None] = [None] * dims
    sizes = [1] * dims
    for symbol in symbols:
        shift = dims - symbol.dim()
        for dim, (tag, n) in enumerate(zip(symbol.tags, symbol.codes.shape, strict=True)):
            known = tags[shift + dim]
            if tag is not None and known is not None and tag is not known:
                raise Untraceable("it combines the dimensions of nodes and of predecessors")
            tags[shift + dim] = known if tag is None else tag
            sizes[shift + dim] = max(sizes[shift + dim], n)
    if any(tag is not None and n > 1 for tag, n in zip(tags, sizes, strict=True)):
        raise Untraceable("it combines a dimension of nodes or predecessors with another one")
    return tuple(tags)


def _is_in_place(name: str, kwargs: Mapping[str, Any]) -> bool:
    """Whether a function of tensors changes one."""
    if name.startswith("__"):
        return name in ("__setitem__", "__set__", "__delitem__") or (
            name.startswith("__i")
            and name not in ("__index__", "__int__", "__invert__", "__iter__")
        )
    return name.endswith("_") or kwargs.get("out") is not None or bool(kwargs.get("inplace"))


def _is_fixed(name: str, result: Any) -> bool:
    """Whether a result has no numbers of tensors but in tensors."""
    if is_a(result, Tensor) or name in _FIXED:
        return True
    if name == "__get__":
        return is_a(result, (torch.Size, torch.dtype, torch.device, int)) and not is_a(result, bool)
    return is_a(result, (tuple, list)) and all(is_a(part, Tensor) for part in result)


def _contains(kind: type, given: Any) -> bool:
    if is_a(given, kind):
        return True
    if is_a(given, (tuple, list)):
        return any(_contains(kind, part) for part in given)
    return is_a(given, dict) and _contains(kind, tuple(given.values()))


def _all_known(known: Mapping[int, Known], given: Any) -> bool:
    if is_a(given, Tensor):
        return id(given) in known
    if is_a(given, dict):
        given = tuple(given.values())
    return not is_a(given, (tuple, list)) or all(_all_known(known, p) for p in given)


def _mapped(function: Callable[[Tensor], Any], given: Any) -> Any:
    if is_a(given, Tensor):
        return function(given)
    if is_a(given, dict):
        return {name: _mapped(function, part) for name, part in given.items()}
    if type(given) in (tuple, list):
        return type(given)(_mapped(function, part) for part in given)
    return given


def run_calls(
    calls: Sequence[Call], wanted: Sequence[Known], tensors: Mapping[str, Tensor]
) -> list[Tensor]:
    """The tensors of some constants, from parameters and buffers; autograd sees it."""
    results: list[Tensor] = []

    def tensor_of(known: Any) -> Tensor:
        return tensors[known.key] if is_a(known.key, str) else results[known.key]

    def filled(given: Any) -> Any:
        if is_a(given, Known):
            return tensor_of(given)
        if is_a(given, dict):
            return {name: filled(part) for name, part in given.items()}
        return type(given)(map(filled, given)) if type(given) in (tuple, list) else given

    for call in calls:
        results.append(call.function(*filled(call.args), **filled(call.kwargs)))
    return [tensor_of(known) for known in wanted]
