"""What the results of models share: conversion to JSON, and classes by probability."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["Jsonable", "ranked", "rounded"]

_DIGITS = 6  # decimal places of numbers in JSON


class Jsonable:
    """Base class of results that can be converted to JSON."""

    def to_dict(self) -> dict[str, Any]:
        """Converts the result to a dictionary of JSON values."""
        raise NotImplementedError

    def to_json(self, indent: int | None = None) -> str:
        """Serializes :meth:`to_dict` as JSON.

        Args:
            indent: Number of spaces per level; None for a single line.
        """
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)


def rounded(values: np.ndarray) -> list[Any]:
    """Probabilities or scores as (nested) lists of numbers for JSON."""
    return values.astype(float).round(_DIGITS).tolist()


def ranked(names: Sequence[str], probabilities: np.ndarray) -> list[tuple[str, float]]:
    """The names of all classes with their probabilities, most probable first."""
    return sorted(zip(names, probabilities.tolist(), strict=True), key=lambda each: -each[1])
