"""Records which lines of the training data a run held out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphsent._files import sha256, with_sha256
from graphsent.errors import DataError
from graphsent.tasks.corpus import SPLITS

__all__ = ["assigned", "describe"]


def describe(
    files: Sequence[Path], places: Sequence[tuple[Path, int]], splits: Sequence[str]
) -> dict[str, Any]:
    """The held-out lines as JSON: for each file its SHA-256 and the lines of each split.

    Args:
        files: The training files.
        places: File and line of each example.
        splits: The split of each example.
    """
    entries = {path: with_sha256(path) for path in files}
    for (path, line), split in zip(places, splits, strict=True):
        if split != "train":
            entries[path].setdefault(split, []).append(line)
    return {"held_out_of_train": list(entries.values())}


def assigned(
    saved: Mapping[str, Any], files: Sequence[Path], places: Sequence[tuple[Path, int]]
) -> list[str]:
    """The split of each example, as recorded by :func:`describe`.

    Raises:
        DataError: A file has changed, or ``saved`` is not such a record.
    """
    try:
        entries = [(entry["sha256"], _by_line(entry)) for entry in saved["held_out_of_train"]]
    except (KeyError, TypeError):
        raise DataError("the run's saved splits are damaged: expected files with lines") from None
    if len(entries) != len(files):
        raise DataError(f"the run's saved splits are of {len(entries)} files, not {len(files)}")
    split_of = {}
    for path, (digest, lines) in zip(files, entries, strict=True):
        if sha256(path) != digest:
            raise DataError(
                f"{path} has changed since the run held out some of its lines: expected the "
                "original file"
            )
        split_of[path] = lines
    return [split_of[path].get(line, "train") for path, line in places]


def _by_line(entry: Mapping[str, Any]) -> dict[int, str]:
    return {line: split for split in SPLITS[1:] for line in entry.get(split, ())}
