"""Checks of constructor arguments that models have in common."""

from __future__ import annotations

from collections.abc import Sequence

from graphsent.errors import ModelError

__all__ = ["check_rates", "check_sizes", "class_names"]


def check_sizes(**sizes: int) -> None:
    """Raises a ModelError unless every size is at least 1."""
    for name, size in sizes.items():
        if size < 1:
            raise ModelError(f"{name}: expected at least 1, got {size}")


def check_rates(**rates: float) -> None:
    """Raises a ModelError unless every rate is a probability."""
    for name, rate in rates.items():
        if not 0 <= rate <= 1:
            raise ModelError(f"{name}: expected a probability from 0 to 1, got {rate}")


def class_names(num_classes: int, names: Sequence[str] | None) -> tuple[str, ...]:
    """The names of classes 0, 1, ..., by default these numbers.

    Raises:
        ModelError: There are no classes, or there is not one name for each.
    """
    check_sizes(num_classes=num_classes)
    checked = tuple(map(str, range(num_classes)) if names is None else names)
    if len(checked) != num_classes:
        raise ModelError(f"label_names: expected {num_classes} for as many classes, got {checked}")
    return checked
