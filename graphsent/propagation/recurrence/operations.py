"""The pointwise operations: each in torch and in C, with the gradients of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Operation(NamedTuple):
    """A pointwise operation.

    Attributes:
        function: in torch.
        code: in C, from that of the arguments.
        gradients: of the arguments, None where there is none: from the gradient of the result, the
            result and the arguments, all of them :class:`~.differentiation.Columns`.
        slow: whether its result is rather kept than made again.
    """

    function: Callable[..., Tensor]
    code: Callable[..., str]
    gradients: Callable[..., Sequence[Any]]
    slow: bool = False


def _largest_gradients(g: Any, y: Any, *args: Any) -> list[Any]:
    """All arguments that are the largest one have the same share."""
    equal = [arg.at_least(y) for arg in args]
    share = g / sum(equal[1:], equal[0])
    return [share * one for one in equal]


OPERATIONS = {
    "add": Operation(torch.add, "({} + {})".format, lambda g, y, a, b: (g, g)),
    "sub": Operation(torch.sub, "({} - {})".format, lambda g, y, a, b: (g, -g)),
    "mul": Operation(torch.mul, "({} * {})".format, lambda g, y, a, b: (g * b, g * a)),
    "div": Operation(torch.div, "({} / {})".format, lambda g, y, a, b: (g / b, -(g / b * y))),
    "sigmoid": Operation(
        torch.sigmoid, "sigmoid({})".format, lambda g, y, a: (g * (y - y * y),), slow=True
    ),
    "tanh": Operation(
        torch.tanh, "hyperbolic_tangent({})".format, lambda g, y, a: (g * (1 - y * y),), slow=True
    ),
    "exp": Operation(
        torch.exp, "exponential_or_infinite({})".format, lambda g, y, a: (g * y,), slow=True
    ),
    "relu": Operation(  # others have another gradient at 0
        torch.relu,
        "choose({0} <= all(0), all(0), {0})".format,
        lambda g, y, a: (g * (1 - y.number(0).at_least(y)),),
    ),
    "maximum": Operation(  # the first of equal numbers
        lambda a, b: torch.where((a >= b) | a.isnan(), a, b),
        "first_of_largest({}, {})".format,
        lambda g, y, a, b: (g * a.at_least(b), g * (1 - a.at_least(b))),
    ),
    "largest": Operation(  # of several arguments
        lambda *parts: torch.amax(torch.stack(torch.broadcast_tensors(*parts)), 0),
        lambda *parts: reduce("first_of_largest({}, {})".format, parts),
        _largest_gradients,
    ),
    "step": Operation(  # 1 where the first argument is not less than the second, else 0
        lambda a, b: (a >= b).to(a.dtype), "at_least({}, {})".format, lambda *_: (None, None)
    ),
    "where": Operation(  # the second argument where the first is not 0, else the third
        lambda condition, a, b: torch.where(condition != 0, a, b),
        "choose({} != all(0), {}, {})".format,
        lambda g, y, condition, a, b: (None, *condition.chosen(g)),
    ),
    "fixed": Operation(  # the same without a gradient
        Tensor.detach, "{}".format, lambda *_: (None,)
    ),
}
