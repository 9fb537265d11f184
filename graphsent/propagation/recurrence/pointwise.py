"""Pointwise functions of torch: arithmetic, activations, comparisons and choices."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor

from graphsent.propagation.recurrence.symbols import (
    TRACING,
    Condition,
    Symbol,
    Untraceable,
    is_a,
)
from graphsent.propagation.recurrence.tracing import beforehand, pointwise, traced

_HALF = 0.5
_SMALL = 1e-30  # beyond, the inverse of a number may not be a normal number of its type

for _name in (
    *("sigmoid", "tanh", "relu", "exp", "expm1", "log", "log1p", "erf", "sqrt", "sin", "cos"),
):
    traced(_name)(partial(pointwise, _name))


def _scaled(op: str, a: Any, b: Any, *, alpha: float = 1) -> Symbol:
    return pointwise(op, a, b if alpha == 1 else pointwise("mul", b, alpha))


traced("add")(partial(_scaled, "add"))
traced("sub", "subtract")(partial(_scaled, "sub"))
traced("rsub")(lambda a, b: pointwise("sub", b, a))
traced("neg", "negative")(lambda a: pointwise("sub", 0.0, a))


@traced("mul", "multiply")
def _mul(a: Any, b: Any) -> Symbol:
    if all(is_a(part, (int, float, Condition)) for part in (a, b)):
        raise Untraceable("it computes with the results of comparisons")
    return pointwise("mul", a, b)


@traced("div", "truediv", "true_divide", "divide")
def _div(a: Any, b: Any) -> Symbol:
    if is_a(b, (int, float)) and _SMALL < abs(b) < 1 / _SMALL:
        return pointwise("mul", a, 1 / b)
    return pointwise("div", a, b)


_POWERS: dict[float, Callable[[Any], Symbol]] = {
    0: lambda a: a.new_ones(a.shape),
    2: lambda a: a * a,
    3: lambda a: a * a * a,
    0.5: lambda a: a.sqrt(),
    -0.5: lambda a: 1 / a.sqrt(),
    -1: lambda a: 1 / a,
}


@traced("pow", "square")
def _pow(a: Any, exponent: Any = 2) -> Symbol:
    known = _POWERS.get(exponent) if is_a(exponent, (int, float)) else None
    return pointwise("pow", a, exponent) if known is None else known(a)


traced("rsqrt")(_POWERS[-0.5])
traced("reciprocal")(_POWERS[-1])
traced("atanh", "arctanh")(lambda a: 0.5 * (a.log1p() - (-a).log1p()))


@traced("addcmul")
def _addcmul(a: Any, b: Any, c: Any, *, value: float = 1) -> Symbol:
    return _scaled("add", a, pointwise("mul", b, c), alpha=value)


@traced("addcdiv")
def _addcdiv(a: Any, b: Any, c: Any, *, value: float = 1) -> Symbol:
    return _scaled("add", a, _div(b, c), alpha=value)


# Comparisons and choices


def _ge(a: Any, b: Any) -> Any:
    return pointwise("step", a, b)


def _gt(a: Any, b: Any) -> Any:
    return _ge(a, b) * (1 - _ge(b, a))  # 0 where one of them is NaN


def _eq(a: Any, b: Any) -> Any:
    return _ge(a, b) * _ge(b, a)


def _comparison(function: Callable[..., Any], *args: Any) -> Condition:
    found = function(*args)
    return Condition(found.codes, found.shape)


_COMPARISONS: dict[tuple[str, ...], Callable[..., Any]] = {
    ("ge", "greater_equal"): _ge,
    ("le", "less_equal"): lambda a, b: _ge(b, a),
    ("gt", "greater"): _gt,
    ("lt", "less"): lambda a, b: _gt(b, a),
    ("eq",): _eq,
    ("ne", "not_equal"): lambda a, b: 1 - _eq(a, b),
    ("invert", "logical_not"): lambda a: 1 - _number(a),
    ("and", "logical_and"): lambda a, b: _number(a) * _number(b),
    ("or", "logical_or"): lambda a, b: 1 - (1 - _number(a)) * (1 - _number(b)),
}
for _names, _function in _COMPARISONS.items():
    traced(*_names)(partial(_comparison, _function))


def _number(condition: Any) -> Any:
    if not is_a(condition, Condition):
        raise Untraceable("it combines a comparison with something else")
    return Symbol(condition.codes, condition.shape)


@traced("where")
def where(condition: Any, a: Any, b: Any) -> Any:
    """The first of two tensors or numbers where a condition is true, else the second."""
    if _is_condition(a):
        if _is_condition(condition):
            raise Untraceable("it chooses between the results of comparisons")
        condition, a = a, condition  # as a method, a.where(condition, b)
    if not _is_condition(condition):
        raise Untraceable("it chooses by a tensor that is not the result of a comparison")
    if all(is_a(part, (int, float, Condition)) for part in (a, b)):
        raise Untraceable("it chooses between numbers, whose dtype is not that of the states")
    if is_a(condition, Tensor):
        condition = beforehand(Tensor.to, condition, TRACING.tracer.like.dtype)
    return pointwise("where", condition, a, b)


def _is_condition(given: Any) -> bool:
    """Whether it is the result of a comparison, or a mask such as a boolean buffer."""
    return is_a(given, Condition) or (is_a(given, Tensor) and given.dtype == torch.bool)


@traced("masked_fill")
def _masked_fill(a: Any, mask: Any, value: Any) -> Symbol:
    if not is_a(value, (int, float)) and value.dim():
        raise Untraceable("it calls masked_fill with a value that is not a number")
    return where(mask, value, a)


@traced("maximum")
def maximum(a: Any, b: Any) -> Any:
    """The larger of two tensors; where they are equal, each has half of the gradient."""
    if not all(is_a(part, (Symbol, Tensor)) for part in (a, b)):
        raise Untraceable("it takes the maximum of a tensor and a number")
    return pointwise("larger", a, b)


@traced("minimum")
def minimum(a: Any, b: Any) -> Any:
    """The smaller of two tensors, as :func:`maximum`."""
    return -maximum(*(beforehand(Tensor.neg, x) if is_a(x, Tensor) else -x for x in (a, b)))


@traced("abs", "absolute")
def _abs(a: Any) -> Any:
    return a * (_ge(a, 0.0) - _ge(0.0, a))  # without a gradient at 0


@cache
def _has_gradients_at_bounds() -> bool:
    """Whether torch's clamp has a gradient at its bounds, as it had up to version 2.13."""
    with torch.inference_mode(False), torch.enable_grad():
        x = torch.zeros((), requires_grad=True)
        return bool(torch.autograd.grad(x.clamp(min=0), x)[0])


@traced("clamp", "clip")
def _clamp(a: Any, min: Any = None, max: Any = None) -> Symbol:
    if not all(is_a(bound, (int, float, type(None))) for bound in (min, max)):
        raise Untraceable("it clamps a tensor between others")
    return _clamped(a, min, max, at_bounds=_has_gradients_at_bounds())


def _clamped(a: Any, min: float | None, max: float | None, *, at_bounds: bool) -> Any:
    """A tensor clamped between numbers, with a gradient at the bounds or without."""
    if min is not None:
        a = where(a < min if at_bounds else a <= min, min, a)
    return a if max is None else where(a > max if at_bounds else a >= max, max, a)


traced("clamp_min")(lambda a, min: _clamp(a, min))
traced("clamp_max")(lambda a, max: _clamp(a, None, max))


@traced("lerp")
def _lerp(a: Any, b: Any, weight: Any) -> Symbol:
    difference = pointwise("sub", b, a)
    if is_a(weight, (int, float)):
        end, share = (a, weight) if abs(weight) < _HALF else (b, weight - 1)
    else:  # the result is b where the weight is 1
        if is_a(weight, Tensor):
            low, share = beforehand(_low_and_share, weight)
        else:
            low = abs(weight) < _HALF
            share = where(low, weight, weight - 1)
        end = pointwise("where", low, a, b)
    return pointwise("add", end, pointwise("mul", share, difference))


def _low_and_share(weight: Tensor) -> tuple[Tensor, Tensor]:
    low = weight.abs() < _HALF
    return low.to(weight.dtype), torch.where(low, weight, weight - 1)


# Activations

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805  # Klambauer et al. 2017


@traced("elu")
def _elu(a: Any, alpha: float = 1) -> Any:
    return where(a > 0, a, alpha * _clamped(a, None, 0.0, at_bounds=True).expm1())


traced("silu")(lambda a: a * a.sigmoid())
traced("selu")(lambda a: _elu(a, _SELU_ALPHA) * _SELU_SCALE)
traced("leaky_relu")(lambda a, negative_slope=0.01: where(a > 0, a, a * negative_slope))
traced("softsign")(lambda a: a / (abs(a) + 1))


@traced("gelu")
def _gelu(a: Any, *, approximate: str = "none") -> Any:
    if approximate == "none":
        return a * 0.5 * (1 + (a * math.sqrt(0.5)).erf())
    if approximate != "tanh":
        raise Untraceable("it calls gelu with another approximation than tanh")
    return a * 0.5 * (1 + ((a + 0.044715 * a**3) * math.sqrt(2 / math.pi)).tanh())


@traced("hardtanh")
def _hardtanh(a: Any, min_val: float = -1.0, max_val: float = 1.0) -> Symbol:
    return _clamped(a, min_val, max_val, at_bounds=False)


traced("relu6")(lambda a: _hardtanh(a, 0.0, 6.0))


@traced("prelu")
def _prelu(a: Any, weight: Any) -> Symbol:
    if weight.numel() > 1 and a.dim() != 2:
        raise Untraceable("it calls prelu with one slope for each position in the second dimension")
    return where(a > 0, a, a * weight)


@traced("softplus")
def _softplus(a: Any, beta: float = 1, threshold: float = 20) -> Any:
    scaled = a * beta
    soft = _clamped(scaled, None, threshold, at_bounds=True).exp().log1p() / beta
    return where(scaled > threshold, a, soft)


traced("mish")(lambda a: a * _softplus(a).tanh())
traced("logsigmoid", "log_sigmoid")(
    lambda a: -_softplus(-a, threshold=40)  # from where on 1 + exp(a) is exp(a)
)


@traced("dropout")
def _dropout(a: Any, p: float = 0.5, training: bool = True) -> Symbol:
    if training and p > 0:
        raise Untraceable(
            "it calls dropout in training: a mask that extra_inputs returns can be traced"
        )
    return a
