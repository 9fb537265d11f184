"""Options of the task ``own``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from graphsent._files import full_path
from graphsent._names import check_choice
from graphsent.errors import DataError
from graphsent.tasks.corpus import SPLITS
from graphsent.tasks.own.reader import INPUTS, OwnFile
from graphsent.tasks.own.tables import is_label

__all__ = ["OwnOptions"]

_LISTS = ("text_column", "train_trees", "dev_trees", "test_trees")


@dataclass(frozen=True)
class OwnOptions:
    """The options of the task ``own``; :func:`~graphsent.tasks.own.own` has their defaults.

    Paths are made absolute.

    Raises:
        DataError: A value has the wrong type or is out of range, or there is no training data.
    """

    train: str | Mapping[str, str] | None
    dev: str | Mapping[str, str] | None
    test: str | Mapping[str, str] | None
    text_column: str | Sequence[str]
    label_column: str | None
    regression: bool
    split: float
    split_seed: int
    train_trees: str | Sequence[str]
    dev_trees: str | Sequence[str]
    test_trees: str | Sequence[str]
    input: str
    encoding: str
    labels: Sequence[str] | None
    fold: int | None
    num_folds: int

    def __post_init__(self) -> None:
        """Checks all values, makes paths absolute, and turns sequences into tuples."""
        for name in SPLITS:
            self._set(name, self._files(name))
        for name in _LISTS:
            value = getattr(self, name)
            value = [value] if isinstance(value, str) else value
            self._require(name, _are_names(value), "a list of names")
            self._set(name, tuple(map(full_path, value) if name.endswith("trees") else value))
        self._require("label_column", isinstance(self.label_column, str | None), "a string")
        if self.labels is not None:
            are_names = _are_names(self.labels) and len(set(self.labels)) == len(self.labels)
            self._require("labels", self.labels and are_names, "one or more different names")
            self._set("labels", tuple(self.labels))
        self._require("regression", isinstance(self.regression, bool), "true or false")
        is_share = type(self.split) in (int, float) and 0 <= self.split < 0.5
        self._require("split", is_share, "a share below 0.5")
        is_seed = type(self.split_seed) is int and self.split_seed >= 0
        self._require("split_seed", is_seed, "an integer from 0")
        are_folds = type(self.num_folds) is int and self.num_folds >= 2
        self._require("num_folds", are_folds, "an integer from 2")
        if self.fold is not None:
            is_fold = type(self.fold) is int and self.fold in range(self.num_folds)
            self._require("fold", is_fold, f"0 to {self.num_folds - 1}")
            if self.test:
                raise DataError(
                    "fold: the test split is a fold of train, but there is also a test file"
                )
        self._require("encoding", isinstance(self.encoding, str), "a name")
        check_choice("input", str(self.input), INPUTS, DataError)
        self._require("text_column", len(self.text_column) <= 2, "one or two names")
        if self.train is None:
            raise DataError(
                "your own data need a training file: --train FILE, or --class LABEL=FILE for each "
                "label"
            )
        for split in SPLITS[1:]:
            if self.trees(split) and not getattr(self, split):
                raise DataError(
                    f"--{split}-trees needs the sentences, --{split} FILE; examples held out of "
                    "train have their trees in --train-trees"
                )
        if self.regression and self.labels is not None:
            raise DataError("labels are for classification: expected none with regression")

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _require(self, name: str, holds: Any, expected: str) -> None:
        if not holds:
            raise DataError(f"{name}: expected {expected}, got {getattr(self, name)!r}")

    def _files(self, split: str) -> str | dict[str, str] | None:
        """The full path of the file of a split, or those of its labels; None if there is none."""
        given: Any = getattr(self, split)
        if given is None:
            return None
        if given and isinstance(given, str | Path):
            return full_path(given)
        is_map = isinstance(given, Mapping) and given and _are_names([*given, *given.values()])
        self._require(split, is_map, "a file, or a file for each label")
        labels = [label.strip() for label in given]
        are_labels = all(map(is_label, labels)) and len(set(labels)) == len(labels)
        self._require(split, are_labels, "different labels of one line, without tabs")
        return dict(zip(labels, map(full_path, given.values()), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """The options as plain values, without unset ones."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        plain = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
        }
        return {name: value for name, value in plain.items() if value not in (None, [])}

    def files(self, split: str) -> list[OwnFile]:
        """The files of a split in order; none if it is held out of train or does not exist."""
        given, texts = getattr(self, split), tuple(self.text_column)
        paths = given if isinstance(given, Mapping) else {None: given} if given else {}
        return [
            OwnFile(Path(path), texts, self.label_column, label, self.input, self.encoding)
            for label, path in paths.items()
        ]

    def trees(self, split: str) -> list[Path]:
        """The separate files with the trees of a split's sentences, if any."""
        return list(map(Path, getattr(self, f"{split}_trees")))

    @property
    def available(self) -> tuple[str, ...]:
        """The existing splits."""
        held_out = self.held_out()
        return tuple(split for split in SPLITS if self.files(split) or split in held_out)

    def held_out(self) -> dict[str, float]:
        """The splits that are held out of train -> their share of it."""
        shares = dict.fromkeys(SPLITS[1:], self.split)
        if self.fold is not None:
            shares["test"] = 1 / self.num_folds
        return {split: share for split, share in shares.items() if share and not self.files(split)}


def _are_names(values: Any) -> bool:
    is_list = isinstance(values, list | tuple)
    return is_list and all(isinstance(value, str) and value for value in values)
