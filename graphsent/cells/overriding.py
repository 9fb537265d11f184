"""Whether a cell does what its class says."""

from __future__ import annotations

from torch import nn
from torch.nn.modules.module import _has_any_global_hook


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
