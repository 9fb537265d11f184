"""Functions of torch over a dimension: sums, products, maxima, softmax, norms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import torch
from torch import Tensor

from graphsent.propagation.recurrence.expressions import Domain, Ref, Value
from graphsent.propagation.recurrence.pointwise import maximum, minimum, where
from graphsent.propagation.recurrence.symbols import (
    CHILDREN,
    TRACING,
    Indices,
    Size,
    Symbol,
    Untraceable,
    is_a,
    shape_of,
)
from graphsent.propagation.recurrence.tracing import each, lifted, pointwise, symbol_of, traced

FEW = 8
"""Up to this size, a sum is a chain of additions in the order of torch."""

_OTHER_NORM = "it takes another norm than the Euclidean"

LONGEST_CHAIN = 32
"""Dimensions up to this size, other than the last, are reduced by a chain of operations."""


def dim_of(a: Symbol, dim: Any) -> int:
    """The index of a single dimension, counted from the first."""
    if is_a(dim, (tuple, list)) and len(dim) == 1:
        dim = dim[0]
    if dim is None or is_a(dim, bool):  # h.var(True) is unbiased, over everything
        raise Untraceable("it reduces over all dimensions, including the nodes of a level")
    if not is_a(dim, int):
        raise Untraceable("it reduces over several dimensions at once")
    return range(a.dim())[dim]


def _over_dims(reduction: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a reduction over one dimension take several, which it reduces one by one."""

    def reduced(a: Symbol, dim: Any = None, keepdim: bool = False) -> Symbol:
        given = dim if is_a(dim, (tuple, list)) else [dim]
        dims = sorted({dim_of(a, one) for one in given}, reverse=True)
        if not dims or len(dims) < len(given):
            raise Untraceable("it reduces over all dimensions, or over one of them twice")
        for one in dims:
            a = reduction(a, one, keepdim)
        return a

    return reduced


@traced("sum")
@_over_dims
def _sum(a: Symbol, dim: int, keepdim: bool) -> Symbol:
    if dim == a.dim() - 1 and a.codes.shape[dim] > FEW:
        return sums(a, keepdim=keepdim)
    return _reduced("sum", "add", a, dim, keepdim)


@traced("prod")
def _prod(a: Symbol, dim: Any = None, keepdim: bool = False) -> Symbol:
    return _reduced("prod", "mul", a, dim_of(a, dim), keepdim)


@traced("mean")
@_over_dims
def _mean(a: Symbol, dim: int, keepdim: bool) -> Symbol:
    total = _sum(a, dim, keepdim)
    if a.shape[dim] is not CHILDREN:
        return pointwise("mul", total, 1 / a.codes.shape[dim])
    return pointwise("div", total, symbol_of([_degree().ref()], (1,)))


def _degree() -> Value:
    """The number of predecessors."""
    return TRACING.tracer.expressions.make("degree", Domain.NODE, 1)


@traced("var")
def _var(
    a: Any,
    dim: Any = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Any:
    dim = dim_of(a, dim)
    if is_a(a.shape[dim], Size):
        raise Untraceable("it takes the variance over predecessors")
    centered = a - _mean(a, dim, True)
    correction = int(unbiased) if correction is None else correction
    total = _sum(centered * centered, dim, keepdim)
    return total / max(a.codes.shape[dim] - correction, 0.0)


traced("std")(lambda a, *args, **kwargs: _root(_var(a, *args, **kwargs)))


@traced("norm")
def _norm(a: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
    if p not in (2, "fro", None) or any(part is not None for part in options.values()):
        raise Untraceable(_OTHER_NORM)
    return _root(_sum(a * a, dim, keepdim))


traced("linalg_vector_norm")(lambda a, ord=2, *args, **options: _norm(a, ord, *args, **options))


@traced("linalg_norm")
def _linalg_norm(a: Any, ord: Any = None, dim: Any = None, *args: Any, **options: Any) -> Any:
    if ord == 2 and is_a(dim, (tuple, list)) and len(dim) == 2:  # the largest singular value
        raise Untraceable(_OTHER_NORM)
    return _norm(a, ord, dim, *args, **options)


@traced("normalize")
def _normalize(a: Any, p: Any = 2.0, dim: int = 1, eps: float = 1e-12, out: None = None) -> Any:
    return a / _norm(a, p, dim, True).clamp_min(eps)


@traced("cosine_similarity")
def _cosine(a: Any, b: Any, dim: int = 1, eps: float = 1e-8) -> Symbol:
    symbols = lifted(a), lifted(b)
    shape = shape_of(torch.broadcast_shapes(*(symbol.numbers for symbol in symbols)))
    a, b = (symbol.expand(shape) for symbol in symbols)  # before it takes the norms
    dim = dim_of(a, dim)
    a, b = (part / _at_least(_norm(part, 2, dim, True), eps) for part in (a, b))
    return _sum(a * b, dim, False)


def _at_least(norm: Any, eps: float) -> Any:
    """A norm, or ``eps`` if it is smaller, with the gradient of the norm."""
    return where(norm < eps, norm + _fixed(eps - norm), norm)


def _root(a: Any) -> Any:
    """The square root, without a gradient at 0, as of norms and standard deviations."""
    is_zero = a == 0
    return where(is_zero, a, where(is_zero, 1.0, a).sqrt())


@traced("max")
def _max(a: Symbol, dim: Any = None, keepdim: bool = False) -> Any:
    if is_a(dim, (Symbol, Tensor)):
        return maximum(a, dim)
    largest: Any = _reduced("max", "maximum", a, dim_of(a, dim), keepdim)
    indices: Any = Indices()
    return torch.return_types.max((largest, indices))


@traced("amax")
def _amax(a: Symbol, dim: Any = None, keepdim: bool = False) -> Any:
    dim = dim_of(a, dim)
    if a.shape[dim] is CHILDREN:
        return _over_edges("amax", a, dim, keepdim)
    parts = _parts(a, dim)
    largest = pointwise("largest", *parts) if len(parts) > 1 else parts[0]
    return largest.unsqueeze(dim) if keepdim else largest


@traced("min")
def _min(a: Any, dim: Any = None, keepdim: bool = False) -> Any:
    if is_a(dim, (Symbol, Tensor)):
        return minimum(a, dim)
    negated, indices = _max(-a, dim, keepdim)
    return torch.return_types.min((-negated, indices))


traced("amin")(lambda a, *args, **kwargs: -_amax(-a, *args, **kwargs))


@traced("softmax")
def _softmax(a: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Symbol:
    exponentials = _lowered(a, dim, _stacklevel, dtype).exp()
    return exponentials / _sum(exponentials, dim, True)


traced("softmin")(lambda a, *args, **kwargs: _softmax(-a, *args, **kwargs))


@traced("log_softmax")
def _log_softmax(a: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Symbol:
    lowered = _lowered(a, dim, _stacklevel, dtype)
    return lowered - _sum(lowered.exp(), dim, True).log()


def _lowered(a: Any, dim: Any, _stacklevel: Any, dtype: Any) -> Any:
    """Numbers less the largest of them, of which no exponential is infinite."""
    if dtype is not None or not is_a(_stacklevel, int):  # methods have dtype as third argument
        raise Untraceable("it changes the dtype of a tensor")
    # A softmax does not depend on the number subtracted, so it needs no gradient.
    return a - _fixed(_amax(a, dim, True))


@traced("logsumexp")
@_over_dims
def _logsumexp(a: Any, dim: int, keepdim: bool) -> Symbol:
    offset = _finite(_amax(a, dim, True))
    result = _sum((a - offset).exp(), dim, True).log() + offset
    return result if keepdim else result.squeeze(dim)


@traced("logaddexp")
def _logaddexp(a: Any, b: Any) -> Any:
    offset = _finite(maximum(a, b))
    a, b = (pointwise("sub", part, offset).exp() for part in (a, b))
    return (a + b).log() + offset


def _finite(a: Any) -> Any:
    """The numbers without a gradient, and 0 for infinite ones."""
    a = _fixed(a)
    return where(a - a == 0, a, 0.0)


@traced("layer_norm")
def _layer_norm(
    a: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Symbol:
    normal = _rms_norm(a - _mean(a, -1, True), normalized_shape, weight, eps)
    return normal if bias is None else normal + bias


@traced("rms_norm")
def _rms_norm(a: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    if tuple(normalized_shape) != tuple(a.shape[-1:]):
        raise Untraceable("it normalizes over several dimensions")
    eps = torch.finfo(a.dtype).eps if eps is None else eps
    normal = a / (_mean(a * a, -1, True) + eps).sqrt()
    return normal if weight is None else normal * weight


@traced("detach", sharing=True)
def _fixed(a: Symbol) -> Any:
    """The same numbers without a gradient."""
    make = TRACING.tracer.expressions.make
    return each(
        lambda ref: make("fixed", max(ref.value.domain, Domain.NODE), ref.width, (ref,)).ref(), a
    )


def sums(a: Symbol, *, keepdim: bool) -> Symbol:
    """Sums over the last dimension."""
    tracer = TRACING.tracer
    expressions = tracer.expressions

    def total(ref: Ref) -> Ref:
        value = ref.value
        if value.op == "number":
            return expressions.number(value.data * ref.width, 1)
        return expressions.make("rowsum", max(value.domain, Domain.NODE), 1, (ref,)).ref()

    results = []
    for row in a.codes.reshape(-1, a.codes.shape[-1]):
        parts = [total(run[0]) for run in tracer.runs(row)]
        results.append(reduce(partial(expressions.pointwise, "add"), parts))
    return symbol_of(results, (*a.shape[:-1], *([1] if keepdim else [])))


def _reduced(op: str, of_two: str, a: Symbol, dim: int, keepdim: bool) -> Symbol:
    """``op`` over the predecessors, or a chain of pointwise operations over few columns."""
    if a.shape[dim] is CHILDREN:
        return _over_edges(op, a, dim, keepdim)
    total = reduce(partial(pointwise, of_two), _parts(a, dim))
    return total.unsqueeze(dim) if keepdim else total


def _parts(a: Symbol, dim: int) -> Sequence[Any]:
    """The parts of a tensor along a dimension, which must be few."""
    if is_a(a.shape[dim], Size):
        raise Untraceable("it mixes the nodes of a level")
    if (size := a.codes.shape[dim]) > LONGEST_CHAIN:
        reason = f"it reduces over a dimension of size {size}: up to {LONGEST_CHAIN} can be traced"
        raise Untraceable(reason)
    return a.unbind(dim)


def _over_edges(op: str, a: Symbol, dim: int, keepdim: bool) -> Symbol:
    """A sum, product or maximum over the predecessors."""
    expressions = TRACING.tracer.expressions

    def make(ref: Ref) -> Ref:
        if ref.value.domain not in (Domain.CONSTANT, Domain.NODE):
            return expressions.make(op, Domain.NODE, ref.width, (ref,)).ref()
        if op not in ("sum", "prod"):
            return ref
        degree = Ref(_degree(), 0, ref.width, spread=True)
        return expressions.pointwise("mul" if op == "sum" else "pow", ref, degree)

    reduced = Symbol(each(make, a).codes, (*a.shape[:dim], 1, *a.shape[dim + 1 :]))
    return reduced if keepdim else reduced.squeeze(dim)
