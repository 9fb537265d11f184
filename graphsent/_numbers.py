"""Numbers in decimal notation, and what counts as an integer."""

from __future__ import annotations

import re
from numbers import Integral
from typing import Any

__all__ = ["decimal", "is_integer"]

# Python's float reads more: 1_000, digits of other scripts.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_LARGEST = 3e38  # of float32, in which models compute


def decimal(text: str) -> float | None:
    """The value of a number in decimal notation; None for other text, or beyond float32."""
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if abs(value) < _LARGEST else None


def is_integer(value: Any) -> bool:
    """Whether a value is an integer of Python or NumPy; a bool is none."""
    return isinstance(value, Integral) and type(value) is not bool
