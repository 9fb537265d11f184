"""Folds of a corpus for cross-validation."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence

import numpy as np

from graphsent.errors import DataError

__all__ = ["deal", "fold_split"]

_DEV_SHARE = 10  # one in ten of the examples outside the fold


def deal(texts: Sequence[str], labels: Sequence[str], num_folds: int) -> np.ndarray:
    """The fold of each example: the same in every run, on every machine.

    The distinct texts of a class are sorted by their SHA-256 and dealt to the folds in turn, one
    class after the other, so that folds have equal sizes and equal shares of each class. Only
    letters and digits count, not their case: texts that differ in nothing else fall into one fold,
    so that none is in both train and test. The folds depend on neither a seed nor the order of the
    file.

    Args:
        texts: One per example.
        labels: The class of each example.
        num_folds: The number of folds.

    Returns:
        (num_examples,) int64, from 0 to ``num_folds - 1``.

    Raises:
        DataError: ``num_folds`` is less than two.
    """
    if num_folds < 2:
        raise DataError(f"expected at least two folds, got {num_folds}")
    digests = [_digest(text) for text in texts]
    # A text with several classes is dealt with the alphabetically first one.
    class_of: dict[bytes, str] = {}
    for digest, label in zip(digests, labels, strict=True):
        class_of[digest] = min(label, class_of.get(digest, label))
    order = sorted(class_of, key=lambda digest: (class_of[digest], digest))
    fold_of = {digest: place % num_folds for place, digest in enumerate(order)}
    return np.array([fold_of[digest] for digest in digests], np.int64)


def fold_split(
    texts: Sequence[str], labels: Sequence[str], num_folds: int, fold: int
) -> np.ndarray:
    """The split of each example when one fold is the test split.

    The dev split is a tenth of the other examples, dealt as by :func:`deal`.

    Args:
        texts: See :func:`deal`.
        labels: See :func:`deal`.
        num_folds: See :func:`deal`.
        fold: The fold that is the test split, from 0.

    Returns:
        (num_examples,) strings: ``"train"``, ``"dev"`` or ``"test"``.
    """
    split = np.where(deal(texts, labels, num_folds) == fold, "test", "train")
    (rest,) = np.nonzero(split == "train")
    rows: list[int] = rest.tolist()
    dealt = deal([texts[i] for i in rows], [labels[i] for i in rows], _DEV_SHARE)
    split[rest[dealt == 0]] = "dev"
    return split


def _digest(text: str) -> bytes:
    """SHA-256 of the letters and digits, after Unicode normalization."""
    normal = unicodedata.normalize("NFKC", text).lower()
    return hashlib.sha256("".join(filter(str.isalnum, normal)).encode()).digest()
