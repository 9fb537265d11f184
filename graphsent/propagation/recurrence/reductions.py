"""Functions of torch over a dimension: sums, products, maxima, softmax, norms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import torch
from torch import Tensor

from graphsent.propagation.recurrence.expressions import Domain, Ref
from graphsent.propagation.recurrence.pointwise import POINTWISE, maximum, minimum
from graphsent.propagation.recurrence.symbols import (
    CHILDREN,
    Indices,
    Size,
    Symbol,
    Untraceable,
    is_a,
)
from graphsent.propagation.recurrence.tracing import Tracer, registering
from graphsent.propagation.recurrence.views import (
    broadcast,
    sharing,
    squeeze,
    unbind,
    unsqueeze,
)

REDUCTIONS: dict[str, Callable[..., Any]] = {}
_register = registering(REDUCTIONS)

FEW = 8
"""Up to this size, a sum is a chain of additions in the order of torch."""

_OTHER_NORM = "it takes another norm than the Euclidean"

LONGEST_CHAIN = 32
"""Dimensions up to this size, other than the last, are reduced by a chain of operations."""


def dim_of(a: Symbol, dim: Any) -> int:
    """The index of a single dimension, counted from the first."""
    if is_a(dim, (tuple, list)) and len(dim) == 1:
        dim = dim[0]
    if dim is None:
        raise Untraceable("it reduces over all dimensions, including the nodes of a level")
    if not is_a(dim, int):
        raise Untraceable("it reduces over several dimensions at once")
    return range(a.dim())[dim]


def _over_dims(reduction: Callable[..., Symbol]) -> Callable[..., Symbol]:
    """Makes a reduction over one dimension take several, which it reduces one by one."""

    def reduced(tracer: Tracer, a: Symbol, dim: Any = None, keepdim: bool = False) -> Symbol:
        given = dim if is_a(dim, (tuple, list)) else [dim]
        dims = sorted({dim_of(a, each) for each in given}, reverse=True)
        if not dims or len(dims) < len(given):
            raise Untraceable("it reduces over all dimensions, or over one of them twice")
        for each in dims:
            a = reduction(tracer, a, each, keepdim)
        return a

    return reduced


@_register("sum")
@_over_dims
def _sum(tracer: Tracer, a: Symbol, dim: int, keepdim: bool) -> Symbol:
    if dim == a.dim() - 1 and a.codes.shape[dim] > FEW:
        return sums(tracer, a, keepdim=keepdim)
    return _reduced(tracer, "sum", "add", a, dim, keepdim)


@_register("prod")
def _prod(tracer: Tracer, a: Symbol, dim: Any = None, keepdim: bool = False) -> Symbol:
    return _reduced(tracer, "prod", "mul", a, dim_of(a, dim), keepdim)


@_register("mean")
@_over_dims
def _mean(tracer: Tracer, a: Symbol, dim: int, keepdim: bool) -> Symbol:
    total = _sum(tracer, a, dim, keepdim)
    if a.shape[dim] is not CHILDREN:
        return tracer.pointwise("mul", total, 1 / a.codes.shape[dim])
    degree = tracer.expressions.make("degree", Domain.NODE, 1)
    return tracer.pointwise("div", total, Symbol(tracer, tracer.codes_of([degree.ref()]), (1,)))


@_register("var")
def _var(
    tracer: Tracer,
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
    centered = a - _mean(tracer, a, dim, True)
    correction = int(unbiased) if correction is None else correction
    total = _sum(tracer, centered * centered, dim, keepdim)
    return total / max(a.codes.shape[dim] - correction, 0.0)


@_register("std")
def _std(tracer: Tracer, a: Any, *args: Any, **kwargs: Any) -> Any:
    return _root(tracer, _var(tracer, a, *args, **kwargs))


@_register("norm")
def _norm(
    tracer: Tracer, a: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, **options: Any
) -> Any:
    if p not in (2, "fro", None) or any(each is not None for each in options.values()):
        raise Untraceable(_OTHER_NORM)
    return _root(tracer, _sum(tracer, a * a, dim, keepdim))


_register("linalg_vector_norm")(
    lambda tracer, a, ord=2, *args, **options: _norm(tracer, a, ord, *args, **options)
)


@_register("linalg_norm")
def _linalg_norm(
    tracer: Tracer, a: Any, ord: Any = None, dim: Any = None, *args: Any, **options: Any
) -> Any:
    if ord == 2 and is_a(dim, (tuple, list)) and len(dim) == 2:  # the largest singular value
        raise Untraceable(_OTHER_NORM)
    return _norm(tracer, a, ord, dim, *args, **options)


@_register("normalize")
def _normalize(
    tracer: Tracer, a: Any, p: Any = 2.0, dim: int = 1, eps: float = 1e-12, out: None = None
) -> Any:
    return a / _norm(tracer, a, p, dim, True).clamp_min(eps)


@_register("cosine_similarity")
def _cosine(tracer: Tracer, a: Any, b: Any, dim: int = 1, eps: float = 1e-8) -> Symbol:
    a, b = broadcast(tracer, a, b)  # before it takes the norms
    dim = dim_of(a, dim)
    a, b = (each / _at_least(tracer, _norm(tracer, each, 2, dim, True), eps) for each in (a, b))
    return _sum(tracer, a * b, dim, False)


def _at_least(tracer: Tracer, norm: Any, eps: float) -> Any:
    """A norm, or ``eps`` if it is smaller, with the gradient of the norm."""
    return POINTWISE["where"](tracer, norm < eps, norm + _fixed(tracer, eps - norm), norm)


def _root(tracer: Tracer, a: Any) -> Any:
    """The square root, without a gradient at 0, as of norms and standard deviations."""
    is_zero = a == 0
    root = POINTWISE["where"](tracer, is_zero, 1.0, a).sqrt()
    return POINTWISE["where"](tracer, is_zero, a, root)


@_register("max")
def _max(tracer: Tracer, a: Symbol, dim: Any = None, keepdim: bool = False) -> Any:
    if is_a(dim, (Symbol, Tensor)):
        return maximum(tracer, a, dim)
    largest: Any = _reduced(tracer, "max", "maximum", a, dim_of(a, dim), keepdim)
    indices: Any = Indices()
    return torch.return_types.max((largest, indices))


@_register("amax")
def _amax(tracer: Tracer, a: Symbol, dim: Any = None, keepdim: bool = False) -> Symbol:
    dim = dim_of(a, dim)
    if a.shape[dim] is CHILDREN:
        return _over_edges(tracer, "amax", a, dim, keepdim)
    parts = _parts(tracer, a, dim)
    largest = tracer.pointwise("largest", *parts) if len(parts) > 1 else parts[0]
    return unsqueeze(tracer, largest, dim) if keepdim else largest


@_register("min")
def _min(tracer: Tracer, a: Any, dim: Any = None, keepdim: bool = False) -> Any:
    if is_a(dim, (Symbol, Tensor)):
        return minimum(tracer, a, dim)
    negated, indices = _max(tracer, -a, dim, keepdim)
    return torch.return_types.min((-negated, indices))


_register("amin")(lambda tracer, a, *args, **kwargs: -_amax(tracer, -a, *args, **kwargs))


@_register("softmax")
def _softmax(
    tracer: Tracer, a: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None
) -> Symbol:
    exponentials = _lowered(tracer, a, dim, _stacklevel, dtype).exp()
    return exponentials / _sum(tracer, exponentials, dim, True)


@_register("logsumexp")
@_over_dims
def _logsumexp(tracer: Tracer, a: Any, dim: int, keepdim: bool) -> Symbol:
    offset = _finite(tracer, _amax(tracer, a, dim, True))
    result = _sum(tracer, (a - offset).exp(), dim, True).log() + offset
    return result if keepdim else squeeze(tracer, result, dim)


@_register("logaddexp")
def _logaddexp(tracer: Tracer, a: Any, b: Any) -> Any:
    offset = _finite(tracer, maximum(tracer, a, b))
    a, b = (tracer.pointwise("sub", each, offset).exp() for each in (a, b))
    return (a + b).log() + offset


def _finite(tracer: Tracer, a: Any) -> Any:
    """The numbers without a gradient, and 0 for infinite ones."""
    a = _fixed(tracer, a)
    return POINTWISE["where"](tracer, a - a == 0, a, 0.0)


_register("softmin")(lambda tracer, a, *args, **kwargs: _softmax(tracer, -a, *args, **kwargs))


@_register("log_softmax")
def _log_softmax(
    tracer: Tracer, a: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None
) -> Symbol:
    lowered = _lowered(tracer, a, dim, _stacklevel, dtype)
    return lowered - _sum(tracer, lowered.exp(), dim, True).log()


def _lowered(tracer: Tracer, a: Any, dim: Any, _stacklevel: Any, dtype: Any) -> Any:
    """Numbers less the largest of them, of which no exponential is infinite."""
    if dtype is not None or not is_a(_stacklevel, int):  # methods have dtype as third argument
        raise Untraceable("it changes the dtype of a tensor")
    # A softmax does not depend on the number subtracted, so it needs no gradient.
    return a - _fixed(tracer, _amax(tracer, a, dim, True))


@_register("layer_norm")
def _layer_norm(
    tracer: Tracer,
    a: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
) -> Symbol:
    centered = a - _mean(tracer, a, -1, True)
    normal = _rms_norm(tracer, centered, normalized_shape, weight, eps)
    return normal if bias is None else normal + bias


@_register("rms_norm")
def _rms_norm(
    tracer: Tracer, a: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None
) -> Symbol:
    if tuple(normalized_shape) != tuple(a.shape[-1:]):
        raise Untraceable("it normalizes over several dimensions")
    eps = torch.finfo(tracer.like.dtype).eps if eps is None else eps
    normal = a / (_mean(tracer, a * a, -1, True) + eps).sqrt()
    return normal if weight is None else normal * weight


def _fixed(tracer: Tracer, a: Symbol) -> Any:
    """The same numbers without a gradient."""
    make = tracer.expressions.make
    return tracer.each(lambda ref: make("fixed", ref.value.domain, ref.width, (ref,)).ref(), a)


_register("detach")(sharing(_fixed))


def sums(tracer: Tracer, a: Symbol, *, keepdim: bool) -> Symbol:
    """Sums over the last dimension."""

    def total(ref: Ref) -> Ref:
        value = ref.value
        if value.op == "number":
            return tracer.expressions.number(value.data * ref.width, 1)
        if value.domain == Domain.CONSTANT:
            raise Untraceable("it adds up columns of a tensor that is the same for all nodes")
        return tracer.expressions.make("rowsum", value.domain, 1, (ref,)).ref()

    rows = a.codes.reshape(-1, a.codes.shape[-1])
    results = []
    for row in rows:
        parts = [total(run[0]) for run in tracer.runs(row)]
        results.append(reduce(partial(tracer.expressions.pointwise, "add"), parts))
    codes = tracer.codes_of(results).reshape(a.codes.shape[:-1])
    summed = Symbol(tracer, codes, a.shape[:-1])
    return unsqueeze(tracer, summed, -1) if keepdim else summed


def _reduced(tracer: Tracer, op: str, pointwise: str, a: Symbol, dim: int, keepdim: bool) -> Symbol:
    """``op`` over the predecessors, or a chain of pointwise operations over few columns."""
    if a.shape[dim] is CHILDREN:
        return _over_edges(tracer, op, a, dim, keepdim)
    total = reduce(partial(tracer.pointwise, pointwise), _parts(tracer, a, dim))
    return unsqueeze(tracer, total, dim) if keepdim else total


def _parts(tracer: Tracer, a: Symbol, dim: int) -> Sequence[Symbol]:
    """The parts of a tensor along a dimension, which must be few."""
    if is_a(a.shape[dim], Size):
        raise Untraceable("it mixes the nodes of a level")
    if a.codes.shape[dim] > LONGEST_CHAIN:
        raise Untraceable(f"it reduces over a dimension of size {a.codes.shape[dim]}")
    return unbind(tracer, a, dim)


def _over_edges(tracer: Tracer, op: str, a: Symbol, dim: int, keepdim: bool) -> Symbol:
    """A sum, product or maximum over the predecessors."""

    def make(ref: Ref) -> Ref:
        if ref.value.domain in (Domain.CONSTANT, Domain.NODE):
            raise Untraceable("it reduces over predecessors a tensor that is the same for all")
        return tracer.expressions.make(op, Domain.NODE, ref.width, (ref,)).ref()

    result = tracer.each(make, a)
    reduced = Symbol(tracer, result.codes, (*a.shape[:dim], 1, *a.shape[dim + 1 :]))
    return reduced if keepdim else squeeze(tracer, reduced, dim)
