"""What the fused engines have to know of a cell."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules.module import _has_any_global_hook

from graphsent.propagation.autocast import autocast_enabled
from graphsent.propagation.fused_slots import SlotRule
from graphsent.propagation.linear import FirstOutputs


class Fused(NamedTuple):
    """A cell's recursion as products of states and a pointwise rule.

    The maps are the cell's own modules: where one of them is no plain ``torch.nn.Linear`` (any
    more), the cell runs by its ``combine`` instead.

    Attributes:
        rule: how sums become states.
        maps: the linear maps of the rule's products, in their order.
        bias: the map whose bias is added to all sums; those of other maps are not read.
    """

    rule: SlotRule
    maps: tuple[nn.Module, ...]
    bias: nn.Module | None = None


@functools.cache
def rule_of(kind: type[SlotRule], *sizes: int, **options: Any) -> Any:
    """The rule of a kind; one is for all cells with these sizes and options."""
    return kind(*sizes, **options)


def fused_rule_of(cell: nn.Module) -> Fused | None:
    """The rule that a cell states, if it is all that the cell does."""
    if overridden(cell, "fused_rule", "combine", "project"):
        return None
    fused = cell.fused_rule()
    if fused is None:
        return None
    maps = (*fused.maps, fused.bias)
    return fused if all(is_plain(module) for module in maps if module is not None) else None


def map_nothing(linear: nn.Module, like: Tensor) -> Tensor:
    """What a linear map gives for a row of zeros ``like`` these; its bias, if it is plain."""
    if is_plain(linear) and linear.bias is not None and not autocast_enabled(like.device.type):
        return linear.bias
    return linear(like.new_zeros(1, like.shape[1])).squeeze(0)


def map_first(linear: nn.Module, feat: Tensor, count: int) -> Tensor | FirstOutputs:
    """The first outputs of a linear map, or what makes them; all of them, if it is not plain."""
    if not is_plain(linear) or linear.bias is None:
        return linear(feat)
    if autocast_enabled(feat.device.type):
        return functional.linear(feat, linear.weight[:count], linear.bias[:count])
    return FirstOutputs(feat, linear.weight, linear.bias, count)


def first_columns(x: Tensor | FirstOutputs, count: int) -> Tensor | FirstOutputs:
    """The first columns of rows; the rows themselves, if they have no others."""
    return x if isinstance(x, FirstOutputs) or x.shape[1] == count else x[:, :count]


def is_plain(module: nn.Module) -> bool:
    """Whether a module is a linear map that does nothing but multiply by its weight."""
    return is_own(module, nn.Linear)


def is_own(module: nn.Module, kind: type[nn.Module]) -> bool:
    """Whether a module is just of this kind: no subclass, no hooks, no function of its own.

    Nor are there hooks of all modules.
    """
    return type(module) is kind and not (
        _has_any_global_hook()
        or "forward" in vars(module)
        or module._forward_hooks
        or module._forward_pre_hooks
        or module._backward_hooks
        or module._backward_pre_hooks
    )


def overridden(cell: nn.Module, name: str, *others: str) -> bool:
    """Whether a subclass, or the cell itself, has other methods without the one to agree with them.

    Args:
        cell: the cell.
        name: the method that has to agree.
        *others: the methods.
    """
    for owner in (cell, *type(cell).__mro__):
        if name in vars(owner):
            return False
        if any(other in vars(owner) for other in others):
            return True
    return False
