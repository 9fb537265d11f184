"""Dev splits for corpora without one."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from graphsent.tasks.parses import text_of

__all__ = ["FileReader", "held_out"]


class FileReader:
    """Returns all examples of a file on each call, and knows which are held out of training.

    Args:
        read: Returns the examples.
        share: See :func:`held_out`.
        seed: See :func:`held_out`.
    """

    def __init__(self, read: Callable[[], Iterable[Any]], share: float, seed: int) -> None:
        self._read = read
        self._share = share
        self._seed = seed

    def __call__(self) -> Iterable[Any]:
        """The examples, from the first."""
        return self._read()

    @functools.cached_property
    def is_dev(self) -> np.ndarray:
        """Which of them are held out, (num_examples,) bool."""
        return held_out(map(text_of, self()), self._share, self._seed)


def held_out(texts: Iterable[str], share: float, seed: int) -> np.ndarray:
    """Which examples are held out of training.

    They are those with the smallest SHA-256 of seed and text: the choice depends on neither the
    order of the file nor the version of a library, and repeated sentences fall on the same side
    (except perhaps at the boundary). Only letters and digits count, not their case, so that a
    corpus is split in the same way with and without its parses, which may spell quotes and brackets
    differently.

    Args:
        texts: One per example; only a number is kept of each.
        share: Share of the examples to hold out, rounded to a whole number of examples.
        seed: Seed of the split.

    Returns:
        (num_examples,) bool.
    """
    digests = np.fromiter((_digest(text, seed) for text in texts), np.uint64)
    chosen = np.zeros(len(digests), bool)
    chosen[np.argsort(digests, kind="stable")[: round(share * len(digests))]] = True
    return chosen


def _digest(text: str, seed: int) -> int:
    """The first 8 bytes of the SHA-256: enough to tell apart the texts of any corpus."""
    letters = "".join(filter(str.isalnum, text.lower()))
    return int.from_bytes(hashlib.sha256(f"{seed} {letters}".encode()).digest()[:8], "big")
