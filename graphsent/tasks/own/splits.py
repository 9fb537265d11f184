"""Dev and test splits held out of training data."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from graphsent.tasks.folds import deal

__all__ = ["assign_folds", "assign_splits", "digest"]


def digest(texts: Sequence[str], seed: int) -> bytes:
    """The SHA-256 of a seed and the letters and digits of an example, 16 bytes of it.

    Letter case, whitespace and signs do not count, nor does the form of Unicode, unless there
    is nothing else: then the text counts as it is.
    """
    normal = [unicodedata.normalize("NFKC", text).casefold() for text in texts]
    kept = ["".join(filter(str.isalnum, text)) or text for text in normal]
    return hashlib.sha256(" ".join((str(seed), *kept)).encode("utf-8", "replace")).digest()[:16]


def assign_splits(
    digests: Iterable[bytes], labels: Iterable[str], shares: Mapping[str, float]
) -> list[str]:
    """The split of each example.

    Of every label the same share is held out: those texts whose digests are the smallest. The
    choice depends on neither the order of the file nor the version of a library, and examples with
    the same digest fall on the same side; a text with several labels counts for the first of them
    by name.

    Args:
        digests: See :func:`digest`; one for each example.
        labels: Their labels; all the same where they are not to be balanced.
        shares: Of the examples, for each split that is held out, in that order.

    Returns:
        For each example one of ``shares``, or ``"train"``.
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
        rest = iter(group[:-1])  # one stays in train at least
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
    """The split of each example when a fold is the test split.

    Folds are those of :func:`graphsent.tasks.folds.deal`; other splits are held out of the rest as
    :func:`assign_splits` does.

    Args:
        texts: One or two for each example.
        labels: As for :func:`assign_splits`.
        num_folds: How many folds.
        fold: The one that is the test split, from 0.
        shares: Of the rest, for each split that is held out of it.
        seed: Chooses among these splits.
    """
    splits = np.where(deal(list(map(" ".join, texts)), labels, num_folds) == fold, "test", "train")
    rest: list[int] = np.flatnonzero(splits == "train").tolist()
    digests = [digest(texts[i], seed) for i in rest]
    splits[rest] = assign_splits(digests, [labels[i] for i in rest], shares)
    return splits.tolist()
