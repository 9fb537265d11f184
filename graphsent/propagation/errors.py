"""The error of propagation, and descriptions for messages."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from graphsent.errors import GraphsentError

_modes = torch._C._TorchDispatchModeKey
_RECORDERS = (_modes.FAKE, _modes.PROXY, _modes.FUNCTIONAL)


class PropagationError(GraphsentError, ValueError):
    """A graph cannot be propagated over, or not in the requested way."""


def mode_problem() -> str | None:
    """Why propagation cannot run under the modes of torch that are active; None if it can.

    Where it cannot, not even a graph can be read.
    """
    if torch._C._are_functorch_transforms_active():  # their tensors have no memory to read
        return (
            "cells and prop_nodes_topo do not run in transforms of torch.func (grad, vmap, jvp, "
            "...): use torch.autograd, which also computes higher-order gradients"
        )
    if torch._C._len_torch_dispatch_stack() and any(map(torch._C._get_dispatch_mode, _RECORDERS)):
        return (
            "cells and prop_nodes_topo do not run where operations are recorded or tensors are "
            "fake (torch.export, make_fx, FakeTensorMode)"
        )
    return None


def described(value: Any) -> str:
    """Describes a value for an error: its type, and shape, dtype and device of tensors in it."""
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)} and {value.dtype} on {value.device}"
    if isinstance(value, tuple | list):
        parts = [*map(described, value[:3]), *(["..."] if len(value) > 3 else [])]
        return f"a {type(value).__name__} of {len(value)}: {', '.join(parts)}"
    return "None" if value is None else f"a {type(value).__name__}"
