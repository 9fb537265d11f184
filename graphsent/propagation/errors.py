"""The error of propagation, and words for what is not what was expected."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from graphsent.errors import GraphsentError
from graphsent.graphs.levels import cycle_message


class PropagationError(GraphsentError, ValueError):
    """A graph cannot be propagated over, or not in the way that was asked for."""


def cycle_error(num_nodes: int) -> PropagationError:
    """What to raise where there is no topological order."""
    return PropagationError(cycle_message(num_nodes))


def described(value: Any) -> str:
    """What something is that is no tensor of the right kind, or no tuple of such."""
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)} and {value.dtype} on {value.device}"
    if isinstance(value, tuple | list):
        parts = [*map(described, value[:3]), *(["..."] if len(value) > 3 else [])]
        return f"a {type(value).__name__} of {len(value)}: {', '.join(parts)}"
    return "None" if value is None else f"a {type(value).__name__}"
