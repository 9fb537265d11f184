"""Random choices that come out alike on every Python version."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Chooser:
    """Draws from a seeded Mersenne Twister.

    Only ``Random.random()`` is used: its stream is the same on every Python version, which is
    not promised for ``choice``, ``sample`` or ``shuffle``. (Nor is the rounding of ``sum``.)

    Args:
        seed: Whole number; equal seeds give equal draws.
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self._random.random() < probability

    def index(self, size: int) -> int:
        """A number from 0 to ``size - 1``."""
        return int(self._random.random() * size)

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, all equally likely."""
        return options[self.index(len(options))]

    def weighted(self, options: Sequence[tuple[float, T]]) -> T:
        """One of the options of ``(weight, option)`` pairs."""
        point = self._random.random() * fsum(weight for weight, _ in options)
        for weight, option in options:
            point -= weight
            if point < 0:
                return option
        return options[-1][1]

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """The options in random order (Fisher and Yates)."""
        result = list(options)
        for last in range(len(result) - 1, 0, -1):
            other = self.index(last + 1)
            result[last], result[other] = result[other], result[last]
        return result

    def two(self, options: Sequence[T]) -> tuple[T, T]:
        """Two different options."""
        first = self.index(len(options))
        second = self.index(len(options) - 1)
        return options[first], options[second + (second >= first)]
