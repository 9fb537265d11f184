"""The pointwise operations, in torch and in C, with their gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Operation(NamedTuple):
    """A pointwise operation.

    Attributes:
        function: The operation in torch.
        code: Formats it in C, from the code of its arguments.
        gradients: Gradients of the arguments, or None, from the gradient of the result, the result
            and the arguments, all of them :class:`~.differentiation.Operand`.
        slow: Whether to store its result rather than recompute it.
    """

    function: Callable[..., Tensor]
    code: Callable[..., str]
    gradients: Callable[..., Sequence[Any]]
    slow: bool = False


def _largest_gradients(g: Any, y: Any, *args: Any) -> list[Any]:
    """Splits the gradient evenly between all arguments that are the largest."""
    equal = [arg.at_least(y) for arg in args]
    share = g / sum(equal[1:], equal[0])
    return [share * one for one in equal]


OPERATIONS = {
    "add": Operation(torch.add, "({} + {})".format, lambda g, y, a, b: (g, g)),
    "sub": Operation(torch.sub, "({} - {})".format, lambda g, y, a, b: (g, -g)),
    "mul": Operation(torch.mul, "rounded({} * {})".format, lambda g, y, a, b: (g * b, g * a)),
    "div": Operation(torch.div, "({} / {})".format, lambda g, y, a, b: (g / b, -(g / b * y))),
    "sigmoid": Operation(
        torch.sigmoid, "sigmoid({})".format, lambda g, y, a: (g * (y - y * y),), slow=True
    ),
    "tanh": Operation(
        torch.tanh, "hyperbolic_tangent({})".format, lambda g, y, a: (g * (1 - y * y),), slow=True
    ),
    "exp": Operation(
        torch.exp, "exponential_of_any({})".format, lambda g, y, a: (g * y,), slow=True
    ),
    "log": Operation(torch.log, "logarithm({})".format, lambda g, y, a: (g / a,), slow=True),
    "expm1": Operation(
        torch.expm1, "exp_minus_1_of_any({})".format, lambda g, y, a: (g * y + g,), slow=True
    ),
    "log1p": Operation(
        torch.log1p, "log_of_1_plus({})".format, lambda g, y, a: (g / (a.number(1) + a),), slow=True
    ),
    "erf": Operation(
        torch.erf,
        "error_function({})".format,
        lambda g, y, a: (g * ((-a * a).exp() * a.number(2 / math.sqrt(math.pi))),),
        slow=True,
    ),
    "sin": Operation(torch.sin, "sine({})".format, lambda g, y, a: (g * a.cos(),), slow=True),
    "cos": Operation(torch.cos, "cosine({})".format, lambda g, y, a: (-g * a.sin(),), slow=True),
    "pow": Operation(
        torch.pow,
        "power({}, {})".format,
        lambda g, y, a, b: (
            g * b.chosen(b * a.pow(b - b.number(1)))[0],  # not 0 times infinity
            g * a.chosen(y * a.log())[0],
        ),
        slow=True,
    ),
    "sqrt": Operation(torch.sqrt, "square_root({})".format, lambda g, y, a: (g / (y + y),)),
    "relu": Operation(  # other formulas have another gradient at 0
        torch.relu,
        "choose({0} <= all(0), all(0), {0})".format,
        lambda g, y, a: (y.number(0).at_least(y).chosen(g)[1],),
    ),
    "maximum": Operation(  # gradient to the first of equal arguments, or the first NaN
        lambda a, b: torch.where((a >= b) | a.isnan(), a, b),
        "first_of_largest({}, {})".format,
        # The second one's, if it is larger or NaN and the first is not NaN.
        lambda g, y, a, b: (a.at_least(a) * (1 - a.at_least(b))).chosen(g)[::-1],
    ),
    "larger": Operation(torch.maximum, "first_of_largest({}, {})".format, _largest_gradients),
    "largest": Operation(  # of any number of arguments
        lambda *parts: torch.amax(torch.stack(torch.broadcast_tensors(*parts)), 0),
        lambda *parts: reduce("first_of_largest({}, {})".format, parts),
        _largest_gradients,
    ),
    "step": Operation(  # 1 if the first argument is at least the second, else 0
        lambda a, b: (a >= b).to(a.dtype),
        "choose({} >= {}, all(1), all(0))".format,
        lambda *_: (None, None),
    ),
    "where": Operation(  # the second argument if the first is not 0, else the third
        lambda condition, a, b: torch.where(condition != 0, a, b),
        "choose({} != all(0), {}, {})".format,
        lambda g, y, condition, a, b: (None, *condition.chosen(g)),
    ),
    "fixed": Operation(  # without a gradient
        Tensor.detach, "{}".format, lambda *_: (None,)
    ),
}
