"""Numbers in decimal notation, rounded numbers, what counts as an integer, and sizes."""

from __future__ import annotations

import re
from numbers import Integral
from typing import Any

__all__ = ["LARGEST", "check_sizes", "decimal", "is_integer", "rounded"]

# Python's float reads more: 1_000, digits of other scripts.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
LARGEST = 3e38  # of float32, in which models compute


def decimal(text: str) -> float | None:
    """The value of a number in decimal notation; None for other text, or beyond float32."""
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if abs(value) < LARGEST else None


def rounded(value: float, places: int) -> str:
    """A number with this many decimal places; if it is below 0.1, with as many significant digits.

    Scores may be of any scale: of those below 0.001, three decimal places would only leave zeros.

    Example:
        >>> rounded(41.23456, 3), rounded(-0.000412345, 3), rounded(0, 3)
        ('41.235', '-0.000412', '0.000')
    """
    is_small = 0 < abs(value) < 0.1
    return f"{value:#.{places}g}" if is_small else f"{value:.{places}f}"


def is_integer(value: Any) -> bool:
    """Whether a value is an integer of Python or NumPy; a bool is none."""
    return isinstance(value, Integral) and type(value) is not bool


def check_sizes(error: type[Exception], **sizes: int) -> None:
    """Raises an error unless every size is an integer of at least 1."""
    for name, size in sizes.items():
        if not is_integer(size):
            raise error(f"expected {name} to be an integer, got {size!r}")
        if size < 1:
            raise error(f"expected {name} of at least 1, got {size}")
