"""Holds dev and test splits out of training data."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from graphsent.errors import DataError
from graphsent.tasks.folds import deal

__all__ = ["assign_folds", "assign_splits", "digest"]


def digest(texts: Sequence[str], seed: int) -> bytes:
    """The first 16 bytes of the SHA-256 of a seed and the letters and digits of an example.

    Letter case and Unicode normalization form do not matter. A text without letters and digits
    counts with all its characters.
    """
    normal = [unicodedata.normalize("NFKC", text).casefold() for text in texts]
    kept = ["".join(filter(str.isalnum, text)) or text for text in normal]
    return hashlib.sha256(" ".join((str(seed), *kept)).encode("utf-8", "replace")).digest()[:16]


def assign_splits(
    digests: Iterable[bytes], labels: Iterable[str], shares: Mapping[str, float]
) -> list[str]:
    """The split of each example.

    The same share of every label is held out: the texts with the smallest digests. The choice
    depends on neither the order of the file nor the version of a library, and examples with the
    same digest fall into the same split; a text with several labels counts for the alphabetically
    first one.

    Args:
        digests: One per example, see :func:`digest`.
        labels: The label of each example; all equal if labels are not to be balanced.
        shares: Held-out split -> its share of the examples, in this order.

    Returns:
        A key of ``shares`` or ``"train"`` per example.
    """
    counts: dict[bytes, int] = defaultdict(int)
    label_of: dict[bytes, str] = {}
    ordered = list(digests)
    for each, label in zip(ordered, labels, strict=True):
        counts[each] += 1
        label_of[each] = min(label, label_of.get(each, label))
    groups: dict[str, list[bytes]] = defaultdict(list)
    for each in sorted(label_of):
        groups[label_of[each]].append(each)
    split_of: dict[bytes, str] = {}
    for group in groups.values():
        total = sum(counts[each] for each in group)
        rest = iter(group[:-1])  # at least one stays in train
        for split, share in shares.items():
            missing = round(share * total)
            while missing > 0 and (text := next(rest, None)) is not None:
                if counts[text] <= missing:
                    split_of[text] = split
                    missing -= counts[text]
    return [split_of.get(each, "train") for each in ordered]


def assign_folds(
    texts: Sequence[Sequence[str]],
    labels: Sequence[str],
    num_folds: int,
    fold: int,
    shares: Mapping[str, float],
    seed: int,
) -> list[str]:
    """The split of each example when one fold is the test split.

    Folds are those of :func:`graphsent.tasks.folds.deal`; other splits are held out of the rest by
    :func:`assign_splits`.

    Args:
        texts: One or two per example.
        labels: As for :func:`assign_splits`.
        num_folds: The number of folds.
        fold: The fold that is the test split, from 0.
        shares: Other held-out split -> its share of the rest.
        seed: Seed of these splits.

    Raises:
        DataError: There are fewer distinct texts than folds.
    """
    folds = deal(list(map(_dealt, texts)), labels, num_folds)
    if (number := len(set(folds.tolist()))) < num_folds:
        raise DataError(
            f"num_folds: expected at most one fold per distinct text of train, {number}, got "
            f"{num_folds}"
        )
    splits = np.where(folds == fold, "test", "train")
    rest: list[int] = np.flatnonzero(splits == "train").tolist()
    digests = [digest(texts[i], seed) for i in rest]
    splits[rest] = assign_splits(digests, [labels[i] for i in rest], shares)
    return splits.tolist()


def _dealt(texts: Sequence[str]) -> str:
    """The text of an example for :func:`deal`, to which all without letters and digits are one.

    It stays so: else, the folds of published corpora, and with them their results, would change.
    """
    text = " ".join(texts)
    normal = unicodedata.normalize("NFKC", text)
    return text if any(map(str.isalnum, normal)) else digest(texts, 0).hex()
