"""Pointwise functions of torch: arithmetic, activations, comparisons and choices."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor

from graphsent.propagation.recurrence.symbols import Condition, Symbol, Untraceable, is_a
from graphsent.propagation.recurrence.tracing import Tracer, registering

_HALF = 0.5
_SMALL = 1e-30  # beyond, the inverse of a number may not be a normal number of its type
POINTWISE: dict[str, Callable[..., Any]] = {}
_register = registering(POINTWISE)


def _pointwise(op: str, tracer: Tracer, *args: Any, inplace: bool = False) -> Symbol:
    return tracer.pointwise(op, *args)


for _name in ("sigmoid", "tanh", "exp", "expm1", "log", "log1p", "erf", "sqrt", "relu"):
    POINTWISE[_name] = partial(_pointwise, _name)


@_register("add")
def _add(tracer: Tracer, a: Any, b: Any, *, alpha: float = 1) -> Symbol:
    return tracer.pointwise("add", a, b if alpha == 1 else tracer.pointwise("mul", b, alpha))


@_register("sub", "subtract")
def _sub(tracer: Tracer, a: Any, b: Any, *, alpha: float = 1) -> Symbol:
    return tracer.pointwise("sub", a, b if alpha == 1 else tracer.pointwise("mul", b, alpha))


_register("rsub")(lambda tracer, a, b: tracer.pointwise("sub", b, a))
_register("neg", "negative")(lambda tracer, a: tracer.pointwise("sub", 0.0, a))


@_register("mul", "multiply")
def _mul(tracer: Tracer, a: Any, b: Any) -> Symbol:
    if all(is_a(part, (int, float, Condition)) for part in (a, b)):
        raise Untraceable("it computes with the results of comparisons")
    return tracer.pointwise("mul", a, b)


@_register("div", "truediv", "true_divide", "divide")
def _div(tracer: Tracer, a: Any, b: Any) -> Symbol:
    if is_a(b, (int, float)) and _SMALL < abs(b) < 1 / _SMALL:
        return tracer.pointwise("mul", a, 1 / b)
    return tracer.pointwise("div", a, b)


_POWERS: dict[float, Callable[[Any], Symbol]] = {
    1: lambda a: a * 1,
    2: lambda a: a * a,
    3: lambda a: a * a * a,
    0.5: lambda a: a.sqrt(),
    -0.5: lambda a: 1 / a.sqrt(),
    -1: lambda a: 1 / a,
}


@_register("pow", "square")
def _pow(tracer: Tracer, a: Any, exponent: float = 2) -> Symbol:
    if not is_a(exponent, (int, float)) or exponent not in _POWERS:
        raise Untraceable(f"it raises to another power than {', '.join(map(str, _POWERS))}")
    return _POWERS[exponent](a)


_register("rsqrt")(lambda tracer, a: 1 / a.sqrt())
_register("reciprocal")(lambda tracer, a: 1 / a)


@_register("addcmul")
def _addcmul(tracer: Tracer, a: Any, b: Any, c: Any, *, value: float = 1) -> Symbol:
    return _add(tracer, a, tracer.pointwise("mul", b, c), alpha=value)


_register("addcdiv")(
    lambda tracer, a, b, c, *, value=1: _add(tracer, a, _div(tracer, b, c), alpha=value)
)


# Comparisons and choices


def _ge(tracer: Tracer, a: Any, b: Any) -> Any:
    return tracer.pointwise("step", a, b)


def _gt(tracer: Tracer, a: Any, b: Any) -> Any:
    return _ge(tracer, a, b) * (1 - _ge(tracer, b, a))  # 0 where one of them is NaN


def _eq(tracer: Tracer, a: Any, b: Any) -> Any:
    return _ge(tracer, a, b) * _ge(tracer, b, a)


def _comparison(function: Callable[..., Any], *args: Any) -> Condition:
    found = function(*args)
    return Condition(found.tracer, found.codes, found.shape)


_COMPARISONS: dict[tuple[str, ...], Callable[..., Any]] = {
    ("ge", "greater_equal"): _ge,
    ("le", "less_equal"): lambda tracer, a, b: _ge(tracer, b, a),
    ("gt", "greater"): _gt,
    ("lt", "less"): lambda tracer, a, b: _gt(tracer, b, a),
    ("eq",): _eq,
    ("ne", "not_equal"): lambda tracer, a, b: 1 - _eq(tracer, a, b),
    ("invert", "logical_not"): lambda tracer, a: 1 - _number(a),
    ("and", "logical_and"): lambda tracer, a, b: _number(a) * _number(b),
    ("or", "logical_or"): lambda tracer, a, b: 1 - (1 - _number(a)) * (1 - _number(b)),
}
for _names, _function in _COMPARISONS.items():
    _register(*_names)(partial(_comparison, _function))


def _number(condition: Any) -> Any:
    if not is_a(condition, Condition):
        raise Untraceable("it combines a comparison with something else")
    return Symbol(condition.tracer, condition.codes, condition.shape)


@_register("where")
def _where(tracer: Tracer, condition: Any, a: Any, b: Any) -> Symbol:
    if is_a(a, Condition):
        if is_a(condition, Condition):
            raise Untraceable("it chooses between the results of comparisons")
        condition, a = a, condition  # as a method, a.where(condition, b)
    if not is_a(condition, Condition):
        raise Untraceable("it chooses by a tensor that is not the result of a comparison")
    if all(is_a(part, (int, float, Condition)) for part in (a, b)):
        raise Untraceable("it chooses between numbers, whose dtype is not that of the states")
    return tracer.pointwise("where", condition, a, b)


@_register("masked_fill")
def _masked_fill(tracer: Tracer, a: Any, mask: Any, value: Any) -> Symbol:
    if not is_a(value, (int, float)) and value.dim():
        raise Untraceable("it calls masked_fill with a value that is not a number")
    return _where(tracer, mask, value, a)


@_register("maximum")
def maximum(tracer: Tracer, a: Any, b: Any) -> Any:
    """The larger of two tensors; where they are equal, each has half of the gradient."""
    if not all(is_a(part, (Symbol, Tensor)) for part in (a, b)):
        raise Untraceable("it takes the maximum of a tensor and a number")
    return tracer.pointwise("larger", a, b)


@_register("minimum")
def minimum(tracer: Tracer, a: Any, b: Any) -> Any:
    """The smaller of two tensors, as :func:`maximum`."""
    # A parameter is negated beforehand, for all nodes.
    pair = (tracer.call_now(Tensor.neg, (x,), {}) if is_a(x, Tensor) else -x for x in (a, b))
    return -maximum(tracer, *pair)


_register("abs", "absolute")(
    lambda tracer, a: a * (_ge(tracer, a, 0.0) - _ge(tracer, 0.0, a))  # without a gradient at 0
)


@cache
def _has_gradients_at_bounds() -> bool:
    """Whether torch's clamp has a gradient at its bounds, as it had up to version 2.13."""
    with torch.inference_mode(False), torch.enable_grad():
        x = torch.zeros((), requires_grad=True)
        return bool(torch.autograd.grad(x.clamp(min=0), x)[0])


@_register("clamp", "clip")
def _clamp(tracer: Tracer, a: Any, min: Any = None, max: Any = None) -> Symbol:
    if not all(is_a(bound, (int, float, type(None))) for bound in (min, max)):
        raise Untraceable("it clamps a tensor between others")
    return _clamped(tracer, a, min, max, at_bounds=_has_gradients_at_bounds())


def _clamped(
    tracer: Tracer, a: Any, min: float | None, max: float | None, *, at_bounds: bool
) -> Any:
    """A tensor clamped between numbers, with a gradient at the bounds or without."""
    if min is not None:
        a = _where(tracer, a < min if at_bounds else a <= min, min, a)
    return a if max is None else _where(tracer, a > max if at_bounds else a >= max, max, a)


_register("clamp_min")(lambda tracer, a, min: _clamp(tracer, a, min))
_register("clamp_max")(lambda tracer, a, max: _clamp(tracer, a, None, max))


@_register("lerp")
def _lerp(tracer: Tracer, a: Any, b: Any, weight: Any) -> Symbol:
    difference = tracer.pointwise("sub", b, a)
    if is_a(weight, (int, float)):
        end, share = (a, weight) if abs(weight) < _HALF else (b, weight - 1)
    else:  # the result is b where the weight is 1
        if is_a(weight, Tensor):  # a parameter: beforehand, for all nodes
            low, share = (tracer.call_now(part, (weight,), {}) for part in (_is_low, _share))
        else:
            low = POINTWISE["lt"](tracer, abs(weight), _HALF)
            share = _where(tracer, low, weight, weight - 1)
        end = tracer.pointwise("where", low, a, b)
    return tracer.pointwise("add", end, tracer.pointwise("mul", share, difference))


def _is_low(weight: Tensor) -> Tensor:
    return (weight.abs() < _HALF).to(weight.dtype)


def _share(weight: Tensor) -> Tensor:
    return torch.where(weight.abs() < _HALF, weight, weight - 1)


# Activations

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805  # Klambauer et al. 2017

_register("silu")(lambda tracer, a, inplace=False: a * a.sigmoid())
_register("leaky_relu")(
    lambda tracer, a, negative_slope=0.01, inplace=False: _where(
        tracer, a > 0, a, a * negative_slope
    )
)
_register("elu")(
    lambda tracer, a, alpha=1, inplace=False: _where(
        tracer, a > 0, a, alpha * _clamped(tracer, a, None, 0.0, at_bounds=True).expm1()
    )
)
_register("selu")(
    lambda tracer, a, inplace=False: POINTWISE["elu"](tracer, a, _SELU_ALPHA) * _SELU_SCALE
)
_register("softsign")(lambda tracer, a: a / (abs(a) + 1))


@_register("gelu")
def _gelu(tracer: Tracer, a: Any, *, approximate: str = "none") -> Any:
    if approximate == "none":
        return a * 0.5 * (1 + (a * math.sqrt(0.5)).erf())
    if approximate != "tanh":
        raise Untraceable("it calls gelu with another approximation than tanh")
    return a * 0.5 * (1 + ((a + 0.044715 * a**3) * math.sqrt(2 / math.pi)).tanh())


@_register("hardtanh")
def _hardtanh(
    tracer: Tracer, a: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Symbol:
    return _clamped(tracer, a, min_val, max_val, at_bounds=False)


_register("relu6")(lambda tracer, a, inplace=False: _hardtanh(tracer, a, 0.0, 6.0))


@_register("prelu")
def _prelu(tracer: Tracer, a: Any, weight: Any) -> Symbol:
    if weight.numel() > 1 and a.dim() != 2:
        raise Untraceable("it calls prelu with one slope for each position in the second dimension")
    return _where(tracer, a > 0, a, a * weight)


@_register("softplus")
def _softplus(tracer: Tracer, a: Any, beta: float = 1, threshold: float = 20) -> Any:
    scaled = a * beta
    soft = _clamped(tracer, scaled, None, threshold, at_bounds=True).exp().log1p() / beta
    return _where(tracer, scaled > threshold, a, soft)


_register("mish")(lambda tracer, a, inplace=False: a * _softplus(tracer, a).tanh())
_register("logsigmoid", "log_sigmoid")(
    lambda tracer, a: -_softplus(tracer, -a, threshold=40)  # from where on 1 + exp(a) is exp(a)
)


@_register("dropout")
def _dropout(
    tracer: Tracer, a: Any, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Symbol:
    if training and p > 0:
        raise Untraceable(
            "it calls dropout in training: a mask that extra_inputs returns can be traced"
        )
    return a
