"""Which files make up a corpus, finding them, and saying what was found."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphsent.errors import DataError

__all__ = ["SPLITS", "Corpus", "CorpusSource", "find_corpus"]

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class Corpus:
    """A published (or embedded) data set and where it lies under a data directory.

    Attributes:
        name: Short name, also stored with results.
        title: Name for people.
        files: Split -> file, relative to the data directory.
        published_counts: Split -> number of examples after the task's own selection, where the
            literature states it. It guards against results from a file that was cut or altered.
    """

    name: str
    title: str
    files: Mapping[str, str]
    published_counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class CorpusSource:
    """The corpus that was used.

    Attributes:
        corpus: Which one.
        files: Split -> path, for all splits of the corpus.
        counts: Split -> number of examples, for the splits that were read.
    """

    corpus: Corpus
    files: Mapping[str, Path]
    counts: Mapping[str, int] = field(default_factory=dict)

    def summary(self) -> str:
        """One line for people: name, counts with deviations from the published ones, path."""
        counts = ", ".join(f"{split} {self._count(split)}" for split in self.counts)
        directory = next(iter(self.files.values())).parent
        return f"{self.corpus.title} ({counts}) from {directory}"

    def describe(self) -> dict[str, Any]:
        """The corpus for ``results.json``: names, and path, SHA-256 and count of each split."""
        splits = {
            split: {
                "path": str(self.files[split]),
                "sha256": _sha256(self.files[split]),
                "examples": count,
            }
            for split, count in self.counts.items()
        }
        return {"name": self.corpus.name, "title": self.corpus.title, "splits": splits}

    def _count(self, split: str) -> str:
        count = self.counts[split]
        published = self.corpus.published_counts.get(split, count)
        return f"{count:,}" if count == published else f"{count:,}, published: {published:,}"


def find_corpus(candidates: Sequence[Corpus], data_dir: Path) -> CorpusSource:
    """The first of several corpora all of whose files are there.

    Raises:
        DataError: None is complete; the missing files are listed.
    """
    missing: list[str] = []
    for corpus in candidates:
        files = {split: data_dir / name for split, name in corpus.files.items()}
        absent = [corpus.files[split] for split, path in files.items() if not path.is_file()]
        if not absent:
            return CorpusSource(corpus, files)
        missing.append(f"{corpus.title}: no {', '.join(absent)}")
    raise DataError(f"no corpus for this task in {data_dir}: {'; '.join(missing)}")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
