"""Functions of torch that only move columns or repeat a number: torch itself moves the codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from graphsent.propagation.recurrence.symbols import (
    CHILDREN,
    NODES,
    Condition,
    Size,
    Symbol,
    Untraceable,
    is_a,
    leaves,
    mapped,
    shape_of,
)
from graphsent.propagation.recurrence.tracing import Tracer, registering

_VIEWS = (
    *("reshape", "view", "flatten", "unflatten", "expand", "broadcast_to", "unsqueeze", "squeeze"),
    *("transpose", "swapaxes", "swapdims", "permute", "movedim", "moveaxis", "select", "narrow"),
    *("t", "unbind", "chunk", "split", "split_with_sizes"),
)
_RESHAPING = (Tensor.reshape, Tensor.view)
"""They could exchange columns and predecessors: ``h.reshape(h.shape[0], 2, -1)`` of 2 columns."""
_SOME = "it selects some of the nodes or predecessors, or merges them with columns"


def _view(function: Callable[..., Any]) -> Callable[..., Any]:
    """Applies a function that moves columns to symbols.

    It is called twice: with codes, and with a meta tensor in which nodes and predecessors have
    unique sizes, so that these dimensions can be found in the result.
    """

    def view(tracer: Tracer, given: Any, *args: Any, **kwargs: Any) -> Any:
        symbol = tracer.lifted(given)

        def called(tensor: Tensor, number: Callable[[Size], int]) -> Any:
            others = mapped(lambda part: number(part) if is_a(part, Size) else part, (args, kwargs))
            return function(tensor, *others[0], **others[1])

        codes = called(symbol.codes, lambda size: 1)
        given = torch.empty(symbol.numbers, device="meta")
        moved = called(given, lambda size: size.number)
        if function in _RESHAPING and not _steps(given).items() <= _steps(moved).items():
            raise Untraceable(_SOME)
        parts = leaves((symbol.shape, args, kwargs))
        numbers = sorted({part.number for part in parts if is_a(part, Size)})
        if is_a(codes, Tensor):
            return _moved(symbol, codes, moved, numbers)
        if len(codes) != len(moved):
            raise Untraceable(_SOME)
        return [_moved(symbol, *pair, numbers) for pair in zip(codes, moved, strict=True)]

    return view


def _steps(tensor: Tensor) -> dict[int, int]:
    """The distances in memory from node to node, and from predecessor to predecessor."""
    numbers = NODES.number, CHILDREN.number
    return {n: step for n, step in zip(tensor.shape, tensor.stride(), strict=True) if n in numbers}


def _moved(symbol: Symbol, codes: Tensor, moved: Tensor, numbers: Sequence[int]) -> Symbol:
    """A symbol for codes, with the dimensions of a meta tensor."""
    result = Symbol(symbol.tracer, codes, shape_of(moved.shape))
    unknown = sorted(size.number for size in result.shape if isinstance(size, Size))
    known = tuple(1 if isinstance(size, Size) else size for size in result.shape)
    if unknown != list(numbers) or known != tuple(codes.shape):
        raise Untraceable(_SOME)
    return result


def sharing(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose result may share memory with its first argument."""

    def call(tracer: Tracer, a: Any, *args: Any, **kwargs: Any) -> Any:
        result = function(tracer, a, *args, **kwargs)
        for symbol in leaves((a, result)):
            if is_a(symbol, Symbol):
                symbol.shared = True
        return result

    return call


_moving = {name: _view(getattr(Tensor, name)) for name in _VIEWS}
VIEWS: dict[str, Callable[..., Any]] = {name: sharing(view) for name, view in _moving.items()}
_register = registering(VIEWS)
_item, _expand, _reshape = _view(Tensor.__getitem__), _moving["expand"], _moving["reshape"]
chunk, squeeze, transpose, unbind, unsqueeze = (
    _moving[name] for name in ("chunk", "squeeze", "transpose", "unbind", "unsqueeze")
)


def broadcast(tracer: Tracer, *given: Any) -> list[Symbol]:
    """Symbols of the same shape."""
    symbols = [tracer.lifted(part) for part in given]
    shape = shape_of(torch.broadcast_shapes(*(symbol.numbers for symbol in symbols)))
    return [_expand(tracer, symbol, *shape) for symbol in symbols]


@_register("getitem")
@sharing
def _getitem(tracer: Tracer, a: Symbol, index: Any) -> Symbol:
    for part in leaves(index):
        if is_a(part, bool) or not is_a(part, (int, slice, type(None), type(...))):
            raise Untraceable("it indexes with a tensor or a mask")
    return _item(tracer, a, index)


_register("expand_as")(sharing(lambda tracer, a, other: _expand(tracer, a, *other.shape)))
_register("view_as", "reshape_as")(
    sharing(lambda tracer, a, other: _reshape(tracer, a, *other.shape))
)


@_register("new_full")
def _repeated(
    tracer: Tracer, a: Symbol, size: Any, fill_value: float, dtype: Any = None, device: Any = None
) -> Symbol:
    like = tracer.like
    if dtype not in (None, like.dtype) or device not in (None, like.device, like.device.type):
        raise Untraceable("it changes the dtype or device of a tensor")
    return _expand(tracer, fill_value, tuple(size))


@_register("full_like")
def _full_like(tracer: Tracer, input: Symbol, fill_value: float, **kind: Any) -> Symbol:
    return _repeated(tracer, input, input.shape, fill_value, **kind)


def _repeating(number: float, tracer: Tracer, input: Symbol, *shape: Any, **kind: Any) -> Symbol:
    size = kind.pop("size", shape or input.shape)
    size = size[0] if len(size) == 1 and is_a(size[0], (tuple, list)) else size
    return _repeated(tracer, input, size, number, **kind)


_register("zeros_like", "new_zeros")(partial(_repeating, 0.0))
_register("ones_like", "new_ones")(partial(_repeating, 1.0))


_register("clone")(lambda tracer, a: Symbol(tracer, a.codes, a.shape))


@_register("to", "type_as", "contiguous")
@sharing
def _same(tracer: Tracer, a: Symbol, *args: Any, **kwargs: Any) -> Symbol:
    like = tracer.like
    others = {like.dtype} if is_a(a, Condition) else {like.dtype, like.device, like.device.type}
    same = ((is_a(p, Symbol) and not is_a(p, Condition)) or p in others for p in args)
    if kwargs or not all(same):
        raise Untraceable("it changes the dtype or device of a tensor")
    return Symbol(tracer, a.codes, a.shape)


_register("float")(lambda tracer, a: _same(tracer, a, torch.float32))
_register("double")(lambda tracer, a: _same(tracer, a, torch.float64))


@_register("cat", "concat", "concatenate")
def _cat(tracer: Tracer, tensors: Sequence[Any], dim: int = 0) -> Symbol:
    symbols = [tracer.lifted(part) for part in tensors]
    dim = range(symbols[0].dim())[dim]
    others = {(*part.numbers[:dim], *part.numbers[dim + 1 :]) for part in symbols}
    if len(others) > 1 or any(is_a(part.shape[dim], Size) for part in symbols):
        raise Untraceable("it concatenates nodes or predecessors, or tensors of different sizes")
    codes = torch.cat([part.codes for part in symbols], dim)
    shape = symbols[0].shape
    return Symbol(tracer, codes, (*shape[:dim], codes.shape[dim], *shape[dim + 1 :]))


@_register("stack")
def _stack(tracer: Tracer, tensors: Sequence[Any], dim: int = 0) -> Symbol:
    return _cat(tracer, [unsqueeze(tracer, part, dim) for part in tensors], dim)
