"""Describes a user's own data for the log and ``results.json``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphsent._files import sha256, with_sha256
from graphsent._names import listed

__all__ = ["OwnSource"]

_MOST_SHOWN = 10  # labels in the summary


@dataclass(frozen=True)
class OwnSource:
    """The files of a user's data and what was found in them.

    Attributes:
        files: Split -> its files; none if it is held out of train.
        trees: Split -> the separate files with the trees of its sentences, if any.
        tree_kind: The kind of trees that were read, or ``"words"``.
        shares: Split -> its share of train, if it is held out of train.
        counts: Split -> number of examples, for the splits that were read.
        labels: Split -> label -> how often it occurs, if counted.
        are_scores: Whether labels are numbers to predict.
    """

    files: Mapping[str, Sequence[Path]]
    trees: Mapping[str, Sequence[Path]]
    tree_kind: str
    shares: Mapping[str, float]
    counts: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    are_scores: bool = False

    def paths(self) -> list[Path]:
        """Every file of the data."""
        return [path for given in (self.files, self.trees) for of in given.values() for path in of]

    def digests(self, split: str) -> list[str]:
        """The SHA-256 of each file that the examples of a split come from."""
        return [sha256(path) for path in (*self.files[split], *self.trees[split])]

    def summary(self) -> str:
        """One line for people: the splits with their files, and the labels of the first split."""
        parts = []
        for split, count in self.counts.items():
            files = " and ".join(path.name for path in self.files[split])
            parts.append(f"{split} {count:,} {f'of {files}' if files else 'held out of train'}")
        if not self.labels:
            return ", ".join(parts)
        split, labels = next(iter(self.labels.items()))
        if self.are_scores:
            lowest, highest = _range(labels)
            found = f"scores from {lowest:g} to {highest:g} in {split}"
        else:
            shown = [f"{label} {count:,}" for label, count in labels.items()]
            number = "1 label" if len(labels) == 1 else f"{len(labels)} labels"
            found = f"{number} in {split}: {listed(shown, _MOST_SHOWN)}"
        return f"{', '.join(parts)}; {found}"

    def describe(self) -> dict[str, Any]:
        """The data for ``results.json``: count, labels, files and their SHA-256 for each split."""
        described: dict[str, Any] = {"name": "own", "tree_kind": self.tree_kind, "splits": {}}
        for split, count in self.counts.items():
            files = self.files[split] or self.files["train"]
            entry = {
                "examples": count,
                "files": list(map(with_sha256, files)),
                "parses": list(map(with_sha256, self.trees[split])),
            }
            if not self.files[split]:
                entry["held_out_of_train"] = self.shares[split]
            if split in self.labels and self.are_scores:
                entry["scores"] = list(_range(self.labels[split]))
            elif split in self.labels:
                entry["labels"] = dict(self.labels[split])
            described["splits"][split] = entry
        return described


def _range(labels: Iterable[str]) -> tuple[float, float]:
    scores = list(map(float, labels))
    return min(scores), max(scores)
