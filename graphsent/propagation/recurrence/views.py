"""Functions of torch that only move columns or repeat a number: torch itself moves the codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from graphsent.propagation.recurrence.symbols import (
    CHILDREN,
    NODES,
    TRACING,
    Condition,
    Size,
    Symbol,
    Untraceable,
    is_a,
    leaves,
    mapped,
    shape_of,
)
from graphsent.propagation.recurrence.tracing import MOVING, lifted, traced

_RESHAPING = (Tensor.reshape, Tensor.view)
"""They could exchange columns and predecessors: ``h.reshape(h.shape[0], 2, -1)`` of 2 columns."""
_SOME = "it selects some of the nodes or predecessors, or merges them with columns"


def _view(function: Callable[..., Any]) -> Callable[..., Any]:
    """Applies a function that moves columns to symbols.

    It is called twice: with codes, and with a meta tensor in which nodes and predecessors have
    unique sizes, so that these dimensions can be found in the result.
    """

    def view(given: Any, *args: Any, **kwargs: Any) -> Any:
        symbol = lifted(given)

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
    result = type(symbol)(codes, shape_of(moved.shape))
    unknown = sorted(size.number for size in result.shape if isinstance(size, Size))
    known = tuple(1 if isinstance(size, Size) else size for size in result.shape)
    if unknown != list(numbers) or known != tuple(codes.shape):
        raise Untraceable(_SOME)
    return result


for _name in MOVING:
    traced(_name, sharing=True)(_view(getattr(Tensor, _name)))
_item = _view(Tensor.__getitem__)


@traced("getitem", sharing=True)
def _getitem(a: Symbol, index: Any) -> Symbol:
    for part in leaves(index):
        if is_a(part, bool) or not is_a(part, (int, slice, type(None), type(...))):
            raise Untraceable("it indexes with a tensor or a mask")
    return _item(a, index)


traced("expand_as", sharing=True)(lambda a, other: lifted(a).expand(*other.shape))
traced("view_as", "reshape_as", sharing=True)(lambda a, other: lifted(a).reshape(*other.shape))


@traced("new_full")
def _repeated(
    a: Symbol, size: Any, fill_value: float, dtype: Any = None, device: Any = None
) -> Symbol:
    like = TRACING.tracer.like
    if dtype not in (None, like.dtype) or device not in (None, like.device, like.device.type):
        raise Untraceable("it changes the dtype or device of a tensor")
    return lifted(fill_value).expand(tuple(size))


def _repeating(number: float, input: Symbol, *shape: Any, **kind: Any) -> Symbol:
    size = kind.pop("size", shape or input.shape)
    size = size[0] if len(size) == 1 and is_a(size[0], (tuple, list)) else size
    return _repeated(input, size, number, **kind)


traced("full_like")(lambda a, fill_value, **kind: _repeated(a, a.shape, fill_value, **kind))
traced("zeros_like", "new_zeros")(partial(_repeating, 0.0))
traced("ones_like", "new_ones")(partial(_repeating, 1.0))
traced("clone")(lambda a: Symbol(a.codes, a.shape))
traced("pos", "positive", sharing=True)(lambda a: Symbol(a.codes, a.shape))


@traced("to", "type_as", "contiguous", sharing=True)
def _same(a: Symbol, *args: Any, **kwargs: Any) -> Symbol:
    like = TRACING.tracer.like
    others = {like.dtype} if is_a(a, Condition) else {like.dtype, like.device, like.device.type}
    same = ((is_a(p, Symbol) and not is_a(p, Condition)) or p in others for p in args)
    if kwargs or not all(same):
        raise Untraceable("it changes the dtype or device of a tensor")
    return Symbol(a.codes, a.shape)


traced("type", sharing=True)(lambda a, dtype: _same(a, dtype))
traced("float", sharing=True)(lambda a: _same(a, torch.float32))
traced("double", sharing=True)(lambda a: _same(a, torch.float64))


@traced("cat", "concat", "concatenate")
def _cat(tensors: Sequence[Any], dim: int = 0) -> Symbol:
    symbols = [lifted(part) for part in tensors]
    dim = range(symbols[0].dim())[dim]
    others = {(*part.numbers[:dim], *part.numbers[dim + 1 :]) for part in symbols}
    if len(others) > 1 or any(is_a(part.shape[dim], Size) for part in symbols):
        raise Untraceable("it concatenates nodes or predecessors, or tensors of different sizes")
    codes = torch.cat([part.codes for part in symbols], dim)
    shape = symbols[0].shape
    return Symbol(codes, (*shape[:dim], codes.shape[dim], *shape[dim + 1 :]))


@traced("pad")
def _pad(a: Symbol, pad: Sequence[int], mode: str = "constant", value: Any = None) -> Symbol:
    kept = a.dim() - len(pad) // 2
    if mode != "constant" or any(is_a(size, Size) for size in a.shape[kept:]):
        raise Untraceable("it pads nodes or predecessors, or by other than a number")
    code = float(lifted(0.0 if value is None else value).codes)
    codes = functional.pad(a.codes, pad, value=code)
    return Symbol(codes, (*a.shape[:kept], *codes.shape[kept:]))


@traced("stack")
def _stack(tensors: Sequence[Any], dim: int = 0) -> Symbol:
    return _cat([lifted(part).unsqueeze(dim) for part in tensors], dim)
