"""The functions of torch that have expressions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from graphsent.propagation.recurrence.expressions import Domain, Ref, common_domain
from graphsent.propagation.recurrence.tracing import (
    CHILDREN,
    NODES,
    Condition,
    Size,
    Symbol,
    Tracer,
    Untraceable,
    broadcast_tags,
    is_a,
)

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""By name; each takes the tracer and what torch's function takes."""

FEW = 8
"""The sum of so many numbers is made of additions, in the order of torch."""


def _register(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS.update(dict.fromkeys(names, function))
        return function

    return register


def _pointwise(op: str) -> Callable[..., Symbol]:
    def call(tracer: Tracer, *args: Any, inplace: bool = False) -> Symbol:
        if inplace:
            raise Untraceable("it changes a tensor in place")
        return tracer.pointwise(op, *args)

    return call


for _name in ("sigmoid", "tanh", "exp", "relu"):
    FUNCTIONS[_name] = _pointwise(_name)


@_register("add", "radd")
def _add(tracer: Tracer, a: Any, b: Any, *, alpha: float = 1) -> Symbol:
    return tracer.pointwise("add", a, b if alpha == 1 else tracer.pointwise("mul", b, alpha))


@_register("sub", "subtract")
def _sub(tracer: Tracer, a: Any, b: Any, *, alpha: float = 1) -> Symbol:
    return tracer.pointwise("sub", a, b if alpha == 1 else tracer.pointwise("mul", b, alpha))


@_register("rsub")
def _rsub(tracer: Tracer, a: Any, b: Any) -> Symbol:
    return tracer.pointwise("sub", b, a)


@_register("mul", "rmul", "multiply")
def _mul(tracer: Tracer, a: Any, b: Any) -> Symbol:
    if all(is_a(part, (int, float, Condition)) for part in (a, b)):
        raise Untraceable("it computes with the results of comparisons")
    return tracer.pointwise("mul", a, b)


@_register("div", "truediv", "true_divide", "divide")
def _div(tracer: Tracer, a: Any, b: Any) -> Symbol:
    if is_a(b, (int, float)):
        return tracer.pointwise("mul", a, 1 / b)
    return tracer.pointwise("div", a, b)


@_register("rdiv", "rtruediv")
def _rdiv(tracer: Tracer, a: Any, b: Any) -> Symbol:
    return tracer.pointwise("div", b, a)


@_register("neg", "negative")
def _neg(tracer: Tracer, a: Any) -> Symbol:
    return tracer.pointwise("sub", 0.0, a)


@_register("pow", "square")
def _pow(tracer: Tracer, a: Any, exponent: float = 2) -> Symbol:
    if not is_a(exponent, (int, float)) or exponent != 2:
        raise Untraceable(f"it raises to the power {exponent!r}")
    return tracer.pointwise("mul", a, a)


@_register("addcmul")
def _addcmul(tracer: Tracer, a: Any, b: Any, c: Any, *, value: float = 1) -> Symbol:
    return _add(tracer, a, tracer.pointwise("mul", b, c), alpha=value)


@_register("lerp")
def _lerp(tracer: Tracer, a: Any, b: Any, weight: Any) -> Symbol:
    difference = tracer.pointwise("sub", b, a)
    return tracer.pointwise("add", a, tracer.pointwise("mul", weight, difference))


# Choices


def _comparison(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def compare(*args: Any) -> Condition:
            found = function(*args)
            return Condition(found.tracer, found.codes, found.tags)

        _register(*names)(compare)
        return function

    return register


@_comparison("ge", "greater_equal")
def _ge(tracer: Tracer, a: Any, b: Any) -> Symbol:
    return tracer.pointwise("step", a, b)


@_comparison("le", "less_equal")
def _le(tracer: Tracer, a: Any, b: Any) -> Symbol:
    return tracer.pointwise("step", b, a)


@_comparison("gt", "greater")
def _gt(tracer: Tracer, a: Any, b: Any) -> Symbol:
    return _ge(tracer, a, b) * (1 - _le(tracer, a, b))  # 0 where one of them is NaN


@_comparison("lt", "less")
def _lt(tracer: Tracer, a: Any, b: Any) -> Symbol:
    return _gt(tracer, b, a)


@_comparison("eq")
def _eq(tracer: Tracer, a: Any, b: Any) -> Symbol:
    return _ge(tracer, a, b) * _le(tracer, a, b)


@_comparison("ne", "not_equal")
def _ne(tracer: Tracer, a: Any, b: Any) -> Symbol:
    return 1 - _eq(tracer, a, b)


@_register("where")
def _where(tracer: Tracer, condition: Any, a: Any, b: Any) -> Symbol:
    if all(is_a(part, (int, float, Condition)) for part in (a, b)):
        raise Untraceable("it chooses between numbers, whose type is not that of the states")
    return tracer.pointwise("where", condition, a, b)


# Linear maps


@_register("linear")
def _linear(tracer: Tracer, input: Any, weight: Any, bias: Any = None) -> Symbol:
    if not (is_a(input, Symbol) and is_a(weight, Tensor) and weight.dim() == 2):
        raise Untraceable("it multiplies by a matrix that is no parameter")
    if input.codes.shape[-1] != weight.shape[1] or input.tags[-1] is not None:
        raise Untraceable(f"it multiplies {input.shape} by a weight {tuple(weight.shape)}")
    rows = input.codes.reshape(-1, weight.shape[1])
    if len(weight) == 1:
        result = _sums(tracer, tracer.pointwise("mul", input, _row(tracer, weight)), keepdim=True)
    else:
        number = tracer.constant(weight)
        refs = [
            tracer.product([run[0] for run in tracer._runs([row])], number, len(weight))
            for row in rows
        ]
        codes = tracer.codes_of(refs).reshape(*input.codes.shape[:-1], len(weight))
        result = Symbol(tracer, codes, input.tags)
    return result if bias is None else tracer.pointwise("add", result, bias)


def _row(tracer: Tracer, weight: Tensor) -> Symbol:
    lifted = tracer.lifted(weight)
    return Symbol(tracer, lifted.codes.reshape(-1), (None,))


@_register("gru_cell")
def _gru_cell(
    tracer: Tracer, x: Any, h: Any, w_x: Any, w_h: Any, b_x: Any = None, b_h: Any = None
) -> Symbol:
    """What ``torch.nn.GRUCell`` computes."""
    gates = (_linear(tracer, x, w_x, b_x), _linear(tracer, h, w_h, b_h))
    (x_r, x_z, x_n), (h_r, h_z, h_n) = (_chunk(tracer, each, 3, -1) for each in gates)
    reset, update = (
        tracer.pointwise("sigmoid", tracer.pointwise("add", *pair))
        for pair in ((x_r, h_r), (x_z, h_z))
    )
    new = tracer.pointwise("add", x_n, tracer.pointwise("mul", reset, h_n))
    return _lerp(tracer, tracer.pointwise("tanh", new), h, update)


@_register("matmul", "mm", "mv")
def _matmul(tracer: Tracer, a: Any, b: Any) -> Symbol:
    if is_a(b, Tensor) and b.dim() == 2:
        return _linear(tracer, a, tracer.call_now(Tensor.t, (b,), {}))
    if is_a(b, Tensor) and b.dim() == 1:
        return _sums(tracer, tracer.pointwise("mul", a, b), keepdim=False)
    raise Untraceable("it multiplies by a matrix that is no parameter")


# Sums and other things along a dimension


@_register("sum")
def _sum(tracer: Tracer, a: Symbol, dim: Any = None, keepdim: bool = False) -> Symbol:
    dim = _dim(a, dim)
    if a.tags[dim] is CHILDREN:
        return _over_edges(tracer, "sum", a, dim, keepdim)
    if dim == a.dim() - 1 and a.codes.shape[dim] > FEW:
        return _sums(tracer, a, keepdim=keepdim)
    return _chain(tracer, a, dim, keepdim, partial(tracer.pointwise, "add"))


@_register("mean")
def _mean(tracer: Tracer, a: Symbol, dim: Any = None, keepdim: bool = False) -> Symbol:
    dim, total = _dim(a, dim), _sum(tracer, a, dim, keepdim)
    if a.tags[dim] is not CHILDREN:
        return tracer.pointwise("mul", total, 1 / a.codes.shape[dim])
    degree = tracer.expressions.make("degree", Domain.NODE, 1)
    shape = [1] * total.dim()
    codes = tracer.codes_of([degree.ref()]).reshape(shape)
    tags = (NODES, *(None,) * (total.dim() - 1))
    return tracer.pointwise("div", total, Symbol(tracer, codes, tags))


class _Largest(NamedTuple):
    """What ``torch.max`` returns, but for the indices."""

    values: Symbol
    indices: None = None


@_register("max")
def _max(tracer: Tracer, a: Symbol, dim: Any = None, keepdim: bool = False) -> _Largest:
    if is_a(dim, (Symbol, Tensor)):
        raise Untraceable("it takes the maximum of two tensors")
    _check_largest(a, dim)
    pairs = _chain(tracer, a, _dim(a, dim), keepdim, partial(tracer.pointwise, "maximum"))
    return _Largest(pairs)


@_register("amax")
def _amax(tracer: Tracer, a: Symbol, dim: Any = None, keepdim: bool = False) -> Symbol:
    _check_largest(a, dim)
    parts = _unbind(tracer, a, dim)
    largest = tracer.pointwise("largest", *parts) if len(parts) > 1 else parts[0]
    return _unsqueeze(tracer, largest, _dim(a, dim)) if keepdim else largest


def _check_largest(a: Symbol, dim: Any) -> None:
    if a.tags[_dim(a, dim)] is CHILDREN:
        raise Untraceable("it takes the maximum over any number of predecessors")
    if a.codes.shape[_dim(a, dim)] > 4 * FEW:
        raise Untraceable(f"it goes over a dimension of size {a.codes.shape[_dim(a, dim)]}")


@_register("softmax")
def _softmax(
    tracer: Tracer, a: Symbol, dim: Any = None, _stacklevel: int = 3, dtype: Any = None
) -> Symbol:
    if dtype is not None or not is_a(_stacklevel, int):
        raise Untraceable("it changes the type of numbers")
    dim = _dim(a, dim)
    if a.tags[dim] is CHILDREN:
        return _over_edges(tracer, "softmax", a, dim, True)
    if a.codes.shape[dim] > 4 * FEW:
        raise Untraceable(f"it takes the softmax of {a.codes.shape[dim]} columns")
    # The weights do not depend on what is subtracted, so neither do the gradients.
    highest = _chain(tracer, a, dim, True, partial(tracer.pointwise, "maximum"))
    fixed = tracer.each(lambda ref: _fixed(tracer, ref), highest)
    exponentials = tracer.pointwise("exp", tracer.pointwise("sub", a, fixed))
    total = _sum(tracer, exponentials, dim, True)
    return tracer.pointwise("div", exponentials, total)


def _fixed(tracer: Tracer, ref: Ref) -> Ref:
    return tracer.expressions.make("fixed", ref.value.domain, ref.width, (ref,)).ref()


def _sums(tracer: Tracer, a: Symbol, *, keepdim: bool) -> Symbol:
    """Sums of the last dimension."""
    rows = a.codes.reshape(-1, a.codes.shape[-1])
    results = []
    for row in rows:
        parts = [
            tracer.expressions.make("rowsum", run[0].value.domain, 1, run).ref()
            for run in tracer._runs([row])
        ]
        total = parts[0]
        for part in parts[1:]:
            total = tracer.expressions.pointwise("add", total, part)
        results.append(total)
    shape, tags = a.codes.shape[:-1], a.tags[:-1]
    if keepdim:
        shape, tags = (*shape, 1), (*tags, None)
    return Symbol(tracer, tracer.codes_of(results).reshape(shape), tags)


def _chain(
    tracer: Tracer, a: Symbol, dim: int, keepdim: bool, combine: Callable[[Any, Any], Symbol]
) -> Symbol:
    if a.tags[dim] is not None:
        raise Untraceable("it mixes the nodes of a level")
    if a.codes.shape[dim] > 4 * FEW:
        raise Untraceable(f"it goes over a dimension of size {a.codes.shape[dim]}")
    parts = _unbind(tracer, a, dim)
    total = parts[0]
    for part in parts[1:]:
        total = combine(total, part)
    return _unsqueeze(tracer, total, dim) if keepdim else total


def _over_edges(tracer: Tracer, op: str, a: Symbol, dim: int, keepdim: bool) -> Symbol:
    """A sum or softmax over the predecessors."""
    domain = Domain.EDGE if op == "softmax" else Domain.NODE

    def make(ref: Ref) -> Ref:
        if common_domain([ref.value.domain]) in (Domain.CONSTANT, Domain.NODE):
            raise Untraceable("it goes over predecessors where there is nothing of them")
        return tracer.expressions.make(op, domain, ref.width, (ref,)).ref()

    result = tracer.each(make, a)
    if op == "softmax":
        return result
    tags = tuple(None if n == dim else tag for n, tag in enumerate(a.tags))
    summed = Symbol(tracer, result.codes, tags)
    return summed if keepdim else _squeeze(tracer, summed, dim)


def _dim(a: Symbol, dim: Any) -> int:
    if is_a(dim, (tuple, list)) and len(dim) == 1:
        dim = dim[0]
    if dim is None:
        raise Untraceable("it goes over all dimensions, so over the nodes of a level")
    if not is_a(dim, int):
        raise Untraceable("it goes over several dimensions at once")
    if not -a.dim() <= dim < a.dim():
        raise Untraceable(f"it goes over dimension {dim} of {a.dim()}")
    return dim % a.dim()


@_register("zeros_like", "new_zeros")
def _zeros(tracer: Tracer, a: Symbol, *shape: Any) -> Symbol:
    if len(shape) == 1 and not is_a(shape[0], (int, Size)):
        shape = tuple(shape[0])
    sizes = shape or a.shape
    tags = tuple(size if is_a(size, Size) else None for size in sizes)
    places = {id(NODES): 0, id(CHILDREN): 1}
    if any(tag is not None and places[id(tag)] != dim for dim, tag in enumerate(tags)):
        raise Untraceable("it makes zeros that are not rows of nodes or predecessors")
    lengths = [1 if is_a(size, Size) else size for size in sizes]
    return Symbol(tracer, np.broadcast_to(tracer.lifted(0.0).codes, lengths), tags)


# Views


@_register("to", "type_as", "contiguous", "clone")
def _same(tracer: Tracer, a: Symbol, *args: Any, **kwargs: Any) -> Symbol:
    like = tracer.like
    others = {like.dtype} if is_a(a, Condition) else {like.dtype, like.device, like.device.type}
    same = ((is_a(p, Symbol) and not is_a(p, Condition)) or p in others for p in args)
    if kwargs or not all(same):
        raise Untraceable("it changes the type or device of numbers")
    return Symbol(tracer, a.codes, a.tags)


@_register("unsqueeze")
def _unsqueeze(tracer: Tracer, a: Symbol, dim: int) -> Symbol:
    dim = dim % (a.dim() + 1)
    tags = (*a.tags[:dim], None, *a.tags[dim:])
    return Symbol(tracer, np.expand_dims(a.codes, dim), tags)


@_register("squeeze")
def _squeeze(tracer: Tracer, a: Symbol, dim: Any = None) -> Symbol:
    dim = _dim(a, dim)
    if a.codes.shape[dim] > 1:
        return a
    if a.tags[dim] is not None:
        raise Untraceable("it drops the dimension of nodes or predecessors")
    return Symbol(tracer, a.codes.squeeze(dim), (*a.tags[:dim], *a.tags[dim + 1 :]))


@_register("getitem", "select", "narrow")
def _getitem(tracer: Tracer, a: Symbol, index: Any, *others: int, **kwargs: Any) -> Symbol:
    if kwargs:
        raise Untraceable(f"it names the arguments {' and '.join(kwargs)}")
    if others:
        dim, *where = (_dim(a, index), *others)
        item = slice(where[0], where[0] + where[1]) if len(where) > 1 else where[0]
        index = (*(slice(None),) * dim, item)
    index = index if is_a(index, tuple) else (index,)
    missing = a.dim() - sum(part is not None and part is not Ellipsis for part in index)
    if Ellipsis in index:
        at = index.index(Ellipsis)
        index = (*index[:at], *(slice(None),) * missing, *index[at + 1 :])
    else:
        index = (*index, *(slice(None),) * missing)
    tags: list[Size | None] = []
    left = list(a.tags)
    for part in index:
        if part is None:
            tags.append(None)
            continue
        tag = left.pop(0)
        if tag is not None and part != slice(None):
            raise Untraceable("it takes some of the nodes or predecessors")
        if not is_a(part, (int, slice)):
            raise Untraceable("it takes rows or columns by a list")
        if is_a(part, slice):
            tags.append(tag)
    return Symbol(tracer, a.codes[index], tags)


@_register("unbind")
def _unbind(tracer: Tracer, a: Symbol, dim: int = 0) -> list[Symbol]:
    dim = _dim(a, dim)
    if a.tags[dim] is not None:
        raise Untraceable("it takes some of the nodes or predecessors")
    head = (slice(None),) * dim
    return [_getitem(tracer, a, (*head, n)) for n in range(a.codes.shape[dim])]


@_register("split", "split_with_sizes")
def _split(tracer: Tracer, a: Symbol, sizes: int | Sequence[int], dim: int = 0) -> list[Symbol]:
    dim = _dim(a, dim)
    length = a.codes.shape[dim]
    if a.tags[dim] is not None:
        raise Untraceable("it takes some of the nodes or predecessors")
    if is_a(sizes, int):
        sizes = [min(sizes, length - begin) for begin in range(0, length, sizes)]
    if sum(sizes) != length:
        raise Untraceable(f"it splits {length} columns in {list(sizes)}")
    head, ends = (slice(None),) * dim, np.cumsum(sizes)
    return [
        _getitem(tracer, a, (*head, slice(int(end) - size, int(end))))
        for size, end in zip(sizes, ends, strict=True)
    ]


@_register("chunk")
def _chunk(tracer: Tracer, a: Symbol, chunks: int, dim: int = 0) -> list[Symbol]:
    length = a.codes.shape[_dim(a, dim)]
    return _split(tracer, a, -(-length // chunks), dim)


@_register("cat", "concat")
def _cat(tracer: Tracer, tensors: Sequence[Any], dim: int = 0) -> Symbol:
    symbols = [tracer.lifted(part) for part in tensors]
    dim = _dim(symbols[0], dim)
    tags = broadcast_tags([_without(tracer, symbol, dim) for symbol in symbols])
    if tags[dim] is not None or any(symbol.tags[dim] is not None for symbol in symbols):
        raise Untraceable("it joins along the dimension of nodes or predecessors")
    return Symbol(tracer, np.concatenate([symbol.codes for symbol in symbols], dim), tags)


def _without(tracer: Tracer, a: Symbol, dim: int) -> Symbol:
    head = (slice(None),) * dim
    return Symbol(tracer, a.codes[(*head, slice(0, 1))], a.tags)


@_register("stack")
def _stack(tracer: Tracer, tensors: Sequence[Any], dim: int = 0) -> Symbol:
    symbols = [tracer.lifted(part) for part in tensors]
    dim = dim % (symbols[0].dim() + 1)
    return _cat(tracer, [_unsqueeze(tracer, symbol, dim) for symbol in symbols], dim)


@_register("reshape", "view", "view_as", "reshape_as")
def _reshape(tracer: Tracer, a: Symbol, *shape: Any) -> Symbol:
    if len(shape) == 1 and not is_a(shape[0], (int, Size)):
        shape = shape[0].shape if is_a(shape[0], Symbol) else tuple(shape[0])
    sizes, tags = list(shape), [None] * len(shape)
    for at, tag in enumerate(a.tags):
        if tag is None:
            continue
        if at >= len(sizes) or not (sizes[at] is tag or sizes[at] == -1):
            raise Untraceable("it moves the dimension of nodes or predecessors")
        sizes[at], tags[at] = 1, tag
    if any(is_a(size, Size) for size in sizes):
        raise Untraceable("it moves the dimension of nodes or predecessors")
    return Symbol(tracer, a.codes.reshape(sizes), tags)


@_register("flatten")
def _flatten(tracer: Tracer, a: Symbol, start_dim: int = 0, end_dim: int = -1) -> Symbol:
    first, last = _dim(a, start_dim), _dim(a, end_dim)
    size = math.prod(a.codes.shape[first : last + 1])
    tags = a.tags[first : last + 1]
    if any(tag is not None for tag in tags):
        raise Untraceable("it joins the dimension of nodes or predecessors with others")
    shape = (*a.codes.shape[:first], size, *a.codes.shape[last + 1 :])
    tags = (*a.tags[:first], None, *a.tags[last + 1 :])
    return Symbol(tracer, a.codes.reshape(shape), tags)


@_register("unflatten")
def _unflatten(tracer: Tracer, a: Symbol, dim: int, sizes: Sequence[int]) -> Symbol:
    dim = _dim(a, dim)
    if a.tags[dim] is not None:
        raise Untraceable("it divides the dimension of nodes or predecessors")
    ends = a.codes.shape[:dim], a.codes.shape[dim + 1 :]
    sizes = np.empty(a.codes.shape[dim]).reshape(tuple(sizes)).shape  # one may be -1
    tags = (*a.tags[:dim], *(None,) * len(sizes), *a.tags[dim + 1 :])
    return Symbol(tracer, a.codes.reshape(*ends[0], *sizes, *ends[1]), tags)


@_register("transpose", "swapaxes")
def _transpose(tracer: Tracer, a: Symbol, dim0: int, dim1: int) -> Symbol:
    dim0, dim1 = _dim(a, dim0), _dim(a, dim1)
    tags = list(a.tags)
    tags[dim0], tags[dim1] = tags[dim1], tags[dim0]
    if tags[: len(a.tags)] != list(a.tags):
        raise Untraceable("it moves the dimension of nodes or predecessors")
    return Symbol(tracer, a.codes.swapaxes(dim0, dim1), tags)


@_register("expand")
def _expand(tracer: Tracer, a: Symbol, *shape: Any) -> Symbol:
    sizes = list(shape[0]) if len(shape) == 1 and is_a(shape[0], (tuple, list)) else shape
    shift = len(sizes) - a.dim()
    wanted, tags = [], []
    for at, size in enumerate(sizes):
        n = a.codes.shape[at - shift] if at >= shift else 1
        tag = a.tags[at - shift] if at >= shift else None
        wanted.append(n if is_a(size, Size) or size == -1 else size)
        tags.append(size if is_a(size, Size) else tag)
    return Symbol(tracer, np.broadcast_to(a.codes, wanted), tags)


@_register("expand_as")
def _expand_as(tracer: Tracer, a: Symbol, other: Symbol) -> Symbol:
    return _expand(tracer, a, *other.shape)
