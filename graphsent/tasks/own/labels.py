"""Checks and orders the labels found in a user's data."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from graphsent._numbers import decimal
from graphsent.errors import DataError
from graphsent.pairs import TreePair
from graphsent.tasks.parses import root_label

__all__ = ["check_labels", "check_several", "in_order"]

_FEW = 20  # fewer examples may all have different labels


def in_order(labels: Iterable[str]) -> tuple[str, ...]:
    """Labels in numerical order if all are numbers, otherwise in alphabetical order."""
    distinct = set(labels)
    scores = {label: decimal(label) for label in distinct}
    if None in scores.values():
        return tuple(sorted(distinct))
    return tuple(sorted(distinct, key=lambda label: (scores[label], label)))


def check_labels(counts: Mapping[str, int], source: str) -> None:
    """Checks that there is something to learn.

    Args:
        counts: How often each label occurs in train.
        source: Names of the files.

    Raises:
        DataError: There are no examples, all have the same label, or there are more labels than
            half the examples.
    """
    total = sum(counts.values())
    if not total:
        raise DataError(f"{source}: no examples: expected labelled sentences")
    if len(counts) == 1:
        raise DataError(
            f"{source}: all {total:,} examples have the label {next(iter(counts))!r}: expected at "
            "least two labels"
        )
    if total >= _FEW and 2 * len(counts) > total:
        are_numbers = all(decimal(label) is not None for label in counts)
        hint = "add --regression" if are_numbers else "name the right column with --label-column"
        raise DataError(
            f"{source}: {len(counts):,} different labels in {total:,} examples, such as "
            f"{next(iter(counts))[:40]!r}: if these are not classes, {hint}"
        )


def check_several(examples: Collection[Any], label_names: Sequence[str]) -> None:
    """Checks that the examples of dev have several labels, so that the best epoch can be selected.

    Args:
        examples: The examples, labelled with class indices.
        label_names: Names of the classes.

    Raises:
        DataError: They all have the same label.
    """
    labels = {each.label if isinstance(each, TreePair) else root_label(each) for each in examples}
    if len(labels) == 1:
        name = label_names[int(labels.pop())]
        raise DataError(
            f"dev: all {len(examples):,} examples have the label {name!r}: expected several, to "
            "select the best epoch"
        )
