"""Functions of torch that only move columns, or make zeros."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphsent.propagation.recurrence.symbols import (
    CHILDREN,
    NODES,
    Condition,
    Size,
    Symbol,
    Untraceable,
    broadcast_tags,
    is_a,
)
from graphsent.propagation.recurrence.tracing import Tracer, registering

VIEWS: dict[str, Callable[..., Any]] = {}
_register = registering(VIEWS)


def dim_of(a: Symbol, dim: Any) -> int:
    """The number of one dimension, counted from the first."""
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
    tags: Any = tuple(size if is_a(size, Size) else None for size in sizes)
    places = {id(NODES): 0, id(CHILDREN): 1}
    if any(tag is not None and places[id(tag)] != dim for dim, tag in enumerate(tags)):
        raise Untraceable("it makes zeros that are not rows of nodes or predecessors")
    lengths: list[Any] = [1 if is_a(size, Size) else size for size in sizes]
    return Symbol(tracer, np.broadcast_to(tracer.lifted(0.0).codes, lengths), tags)


@_register("to", "type_as", "contiguous", "clone")
def _same(tracer: Tracer, a: Symbol, *args: Any, **kwargs: Any) -> Symbol:
    like = tracer.like
    others = {like.dtype} if is_a(a, Condition) else {like.dtype, like.device, like.device.type}
    same = ((is_a(p, Symbol) and not is_a(p, Condition)) or p in others for p in args)
    if kwargs or not all(same):
        raise Untraceable("it changes the type or device of numbers")
    return Symbol(tracer, a.codes, a.tags)


@_register("unsqueeze")
def unsqueeze(tracer: Tracer, a: Symbol, dim: int) -> Symbol:
    """Torch's function of this name."""
    dim = dim % (a.dim() + 1)
    tags = (*a.tags[:dim], None, *a.tags[dim:])
    return Symbol(tracer, np.expand_dims(a.codes, dim), tags)


@_register("squeeze")
def squeeze(tracer: Tracer, a: Symbol, dim: Any = None) -> Symbol:
    """Torch's function of this name."""
    dim = dim_of(a, dim)
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
        dim, *where = (dim_of(a, index), *others)
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
def unbind(tracer: Tracer, a: Symbol, dim: int = 0) -> list[Symbol]:
    """Torch's function of this name."""
    dim = dim_of(a, dim)
    if a.tags[dim] is not None:
        raise Untraceable("it takes some of the nodes or predecessors")
    head = (slice(None),) * dim
    return [_getitem(tracer, a, (*head, n)) for n in range(a.codes.shape[dim])]


@_register("split", "split_with_sizes")
def _split(tracer: Tracer, a: Symbol, sizes: Any, dim: int = 0) -> list[Symbol]:
    dim = dim_of(a, dim)
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
def chunk(tracer: Tracer, a: Symbol, chunks: int, dim: int = 0) -> list[Symbol]:
    """Torch's function of this name."""
    length = a.codes.shape[dim_of(a, dim)]
    return _split(tracer, a, -(-length // chunks), dim)


@_register("cat", "concat")
def _cat(tracer: Tracer, tensors: Sequence[Any], dim: int = 0) -> Symbol:
    symbols = [tracer.lifted(part) for part in tensors]
    dim = dim_of(symbols[0], dim)
    tags = broadcast_tags([_without(tracer, symbol, dim) for symbol in symbols])
    if tags[dim] is not None or any(symbol.tags[dim] is not None for symbol in symbols):
        raise Untraceable("it joins along the dimension of nodes or predecessors")
    return Symbol(tracer, np.concatenate([symbol.codes for symbol in symbols], dim), tags)


def _without(tracer: Tracer, a: Symbol, dim: int) -> Symbol:
    head = (slice(None),) * dim
    first = (*head, slice(0, 1))
    return Symbol(tracer, a.codes[first], a.tags)


@_register("stack")
def _stack(tracer: Tracer, tensors: Sequence[Any], dim: int = 0) -> Symbol:
    symbols = [tracer.lifted(part) for part in tensors]
    dim = dim % (symbols[0].dim() + 1)
    return _cat(tracer, [unsqueeze(tracer, symbol, dim) for symbol in symbols], dim)


@_register("reshape", "view", "view_as", "reshape_as")
def _reshape(tracer: Tracer, a: Symbol, *shape: Any) -> Symbol:
    if len(shape) == 1 and not is_a(shape[0], (int, Size)):
        shape = shape[0].shape if is_a(shape[0], Symbol) else tuple(shape[0])
    sizes = list(shape)
    tags: list[Size | None] = [None] * len(shape)
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
    first, last = dim_of(a, start_dim), dim_of(a, end_dim)
    size = math.prod(a.codes.shape[first : last + 1])
    tags = a.tags[first : last + 1]
    if any(tag is not None for tag in tags):
        raise Untraceable("it joins the dimension of nodes or predecessors with others")
    shape = (*a.codes.shape[:first], size, *a.codes.shape[last + 1 :])
    tags = (*a.tags[:first], None, *a.tags[last + 1 :])
    return Symbol(tracer, a.codes.reshape(shape), tags)


@_register("unflatten")
def _unflatten(tracer: Tracer, a: Symbol, dim: int, sizes: Sequence[int]) -> Symbol:
    dim = dim_of(a, dim)
    if a.tags[dim] is not None:
        raise Untraceable("it divides the dimension of nodes or predecessors")
    ends = a.codes.shape[:dim], a.codes.shape[dim + 1 :]
    sizes = np.empty(a.codes.shape[dim]).reshape(tuple(sizes)).shape  # one may be -1
    tags = (*a.tags[:dim], *(None,) * len(sizes), *a.tags[dim + 1 :])
    return Symbol(tracer, a.codes.reshape(*ends[0], *sizes, *ends[1]), tags)


@_register("transpose", "swapaxes")
def _transpose(tracer: Tracer, a: Symbol, dim0: int, dim1: int) -> Symbol:
    dim0, dim1 = dim_of(a, dim0), dim_of(a, dim1)
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
