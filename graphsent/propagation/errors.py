"""The error of propagation, and descriptions of invalid values for messages."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from graphsent.errors import GraphsentError


class PropagationError(GraphsentError, ValueError):
    """A graph cannot be propagated over, or not in the requested way."""


def described(value: Any) -> str:
    """Describes a value for an error: its type, and shape, dtype and device of tensors in it."""
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)} and {value.dtype} on {value.device}"
    if isinstance(value, tuple | list):
        parts = [*map(described, value[:3]), *(["..."] if len(value) > 3 else [])]
        return f"a {type(value).__name__} of {len(value)}: {', '.join(parts)}"
    return "None" if value is None else f"a {type(value).__name__}"
