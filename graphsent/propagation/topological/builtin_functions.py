"""DGL's built-in message and reduce functions on the rows of a level."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from graphsent._dgl import dgl

_TARGETS = {0: "src", 1: "dst", 2: "data"}
_OPERATORS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "dot": lambda a, b: (a * b).sum(-1, keepdim=True),
}
_REDUCERS: dict[str, Callable[[Tensor], Tensor]] = {
    "sum": lambda messages: messages.sum(1),
    "mean": lambda messages: messages.mean(1),
    "max": lambda messages: messages.max(1).values,
    "min": lambda messages: messages.min(1).values,
}
_EXTREMES = {"max": -math.inf, "min": math.inf}


def is_builtin(function: object) -> bool:
    """Whether it is a function of ``dgl.function``."""
    return isinstance(function, dgl.function.BuiltinFunction)


def messages_of(function: Any, edges: Any) -> dict[str, Tensor]:
    """The result of a built-in message function for edges with ``src``, ``dst`` and ``data``."""
    if isinstance(function, dgl.function.CopyMessageFunction):
        return {function.out_field: getattr(edges, _TARGETS[function.target])[function.in_field]}
    left = getattr(edges, _TARGETS[function.lhs])[function.lhs_field]
    right = getattr(edges, _TARGETS[function.rhs])[function.rhs_field]
    num_dims = max(left.dim(), right.dim())
    pair = [
        tensor[(slice(None),) + (None,) * (num_dims - tensor.dim())] for tensor in (left, right)
    ]
    return {function.out_field: _OPERATORS[function.binary_op](*pair)}


def reduced_by(
    function: Any, mailbox: Mapping[str, Tensor], beside_others: bool
) -> dict[str, Tensor]:
    """The result of a built-in reduce function for messages (nodes, edges, ...).

    As in DGL, nodes without messages get zeros, except that their maxima and minima are infinite
    if other nodes of the level have messages (``beside_others``).
    """
    messages = mailbox[function.msg_field]
    if messages.shape[1]:
        return {function.out_field: _REDUCERS[function.name](messages)}
    value = _EXTREMES.get(function.name, 0) if beside_others else 0
    shape = (messages.shape[0], *messages.shape[2:])
    return {function.out_field: messages.new_full(shape, value)}
