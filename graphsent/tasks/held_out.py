"""A dev split for corpora that have none."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np

__all__ = ["held_out"]


def held_out(texts: Iterable[str], share: float, seed: int) -> np.ndarray:
    """Which examples are held out of training.

    They are the ones with the smallest SHA-256 of seed and text: the choice depends on neither the
    order of the file nor the version of a library, and repeated sentences fall on the same side
    (except perhaps at the border). Letter case, whitespace and signs do not count, so that a
    corpus with and without its parses, which may spell quotes and brackets differently, is split in
    the same way.

    Args:
        texts: One for each example; only a number is kept of each.
        share: Of the examples to hold out, rounded to a whole number of them.
        seed: Chooses among the splits.

    Returns:
        (num_examples,) bool.
    """
    digests = np.fromiter((_digest(text, seed) for text in texts), np.uint64)
    chosen = np.zeros(len(digests), bool)
    chosen[np.argsort(digests, kind="stable")[: round(share * len(digests))]] = True
    return chosen


def _digest(text: str, seed: int) -> int:
    """The first 8 bytes of the SHA-256: enough to tell more texts apart than any corpus has."""
    letters = "".join(filter(str.isalnum, text.lower()))
    return int.from_bytes(hashlib.sha256(f"{seed} {letters}".encode()).digest()[:8], "big")
