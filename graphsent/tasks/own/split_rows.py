"""The examples of each split of a user's data, some of which may be held out of train."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from graphsent._names import check_choice
from graphsent.errors import DataError
from graphsent.tasks.corpus import SPLITS
from graphsent.tasks.own import saved_splits
from graphsent.tasks.own.examples import OwnExample
from graphsent.tasks.own.options import OwnOptions
from graphsent.tasks.own.splits import assign_folds, assign_splits, digest
from graphsent.tasks.parses import text_of

__all__ = ["GoodRow", "SplitRows"]

GoodRow = tuple[Path, OwnExample]


class SplitRows:
    """The examples of each split.

    Args:
        options: The files, and what is held out of train.
        good_rows: Returns the examples in the files of a split.
        saved: What a run held out before, see :meth:`held_out`; None to choose it.
    """

    def __init__(
        self,
        options: OwnOptions,
        good_rows: Callable[[str], Iterable[GoodRow]],
        saved: Mapping[str, Any] | None,
    ) -> None:
        self._options = options
        self._good_rows = good_rows
        self._saved = saved

    def of(self, split: str) -> Iterable[GoodRow]:
        """The examples of a split.

        Raises:
            DataError: There is no such split, or what was held out before cannot be held out again.
        """
        check_choice("split", split, SPLITS, DataError)
        available, held_out = self._options.available, self._options.held_out()
        if split not in available:
            raise DataError(
                f"there is no {split} split: the data have {' and '.join(available)}; "
                f"add --{split} FILE"
            )
        if not held_out or (split != "train" and split not in held_out):
            return self._good_rows(split)
        rows = zip(self._good_rows("train"), self._assigned, strict=True)
        return (row for row, its_split in rows if its_split == split)

    def held_out(self) -> dict[str, Any] | None:
        """Which examples of train are held out, as JSON; None if none are, or nobody asked."""
        if "_assigned" not in vars(self):
            return None
        return saved_splits.describe(*self._places(), self._assigned)

    @functools.cached_property
    def _assigned(self) -> list[str]:
        """The split of each example of train."""
        if self._saved is not None:
            return saved_splits.assigned(self._saved, *self._places())
        options, rows = self._options, [row for _, row in self._good_rows("train")]
        # Unlike classes, scores cannot have equal shares in each split.
        labels = ["" if options.regression else row.label for row in rows]
        texts = [list(map(text_of, row.contents)) for row in rows]
        shares, seed = options.held_out(), options.split_seed
        if options.fold is not None:
            shares.pop("test")
            return assign_folds(texts, labels, options.num_folds, options.fold, shares, seed)
        return assign_splits([digest(each, seed) for each in texts], labels, shares)

    def _places(self) -> tuple[list[Path], list[tuple[Path, int]]]:
        """The files of train, and the file and line of each of its examples."""
        files = [file.path for file in self._options.files("train")]
        return files, [(path, row.line) for path, row in self._good_rows("train")]
