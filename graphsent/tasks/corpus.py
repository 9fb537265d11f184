"""Which files make up a corpus, how they are found, and what was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from graphsent._names import check_choice
from graphsent.errors import DataError
from graphsent.pairs import TreePair
from graphsent.tasks.archives import digest, is_file
from graphsent.trees import SHAPES, reshape
from graphsent.trees.shapes import TREE_KINDS

__all__ = [
    "INPUT_KINDS",
    "SPLITS",
    "TO_PARSE",
    "TREE_KINDS",
    "WORDS",
    "Corpus",
    "CorpusSource",
    "check_shape",
    "find_corpus",
    "parse_files",
    "shaped",
]

SPLITS = ("train", "dev", "test")
_PARSE_SUFFIXES = {"constituency": "trees.gz", "dependency": "conllu.gz"}
# Needs no parses: plain sentences, or a treebank's own trees.
WORDS = "words"
INPUT_KINDS = (*TREE_KINDS, WORDS)
# What to do if there are no parses, appended to error messages.
TO_PARSE = "; to parse the corpus: graphsent train --parser NAME"


@dataclass(frozen=True)
class Corpus:
    """A published (or embedded) data set and its place in a data directory.

    Attributes:
        name: Short name, also stored with results.
        title: Name for people.
        files: Split -> file, relative to the data directory; it may be inside a zip archive, as in
            ``corpora/qc.zip/qc/train.txt``. With ``parts``, the directory of these.
        published_counts: Split -> number of examples after the task's own selection, if the
            literature states it. Guards against results from a truncated or altered file.
        parses: Kind of trees -> split -> files with these trees, relative to the directory of
            parses: one file per sentence of an example.
        own_kinds: What the files themselves hold, a subset of ``INPUT_KINDS``.
        held_out: Share of the training examples that are held out as the dev split; 0 for a corpus
            with a dev split.
        parts: Names of the files that together make up a split; empty if it is one file.
    """

    name: str
    title: str
    files: Mapping[str, str]
    published_counts: Mapping[str, int] = field(default_factory=dict)
    parses: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    own_kinds: tuple[str, ...] = ("constituency", WORDS)
    held_out: float = 0.0
    parts: tuple[str, ...] = ()

    @property
    def kinds(self) -> list[str]:
        """The ``INPUT_KINDS`` that it can be read as."""
        return [kind for kind in INPUT_KINDS if kind in self.parses or kind in self.own_kinds]

    def all_files(self) -> list[str]:
        """Every file of the corpus once, relative to the data directory."""
        names = dict.fromkeys(self.files.values())
        return [f"{name}/{part}" for name in names for part in self.parts] or list(names)


@dataclass(frozen=True)
class CorpusSource:
    """The corpus that was used.

    Attributes:
        corpus: The corpus.
        files: Split -> path, for all splits of the corpus.
        counts: Split -> number of examples, for the splits that were read.
        tree_kind: The kind of trees that were read, or ``"words"``.
        parses: Split -> files of the trees, if these are not the corpus's own.
        remarks: Caveats about results with it, see :meth:`~graphsent.tasks.Task.remarks`.
        shape: Shape and kind of the trees that replace the parser's; None if none do.
    """

    corpus: Corpus
    files: Mapping[str, Path]
    counts: Mapping[str, int] = field(default_factory=dict)
    tree_kind: str = TREE_KINDS[0]
    parses: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    shape: tuple[str, str] | None = None

    def shaped(self, example: Any) -> Any:
        """An example with trees of the shape over its words; unchanged if there is no shape."""
        return example if self.shape is None else shaped(example, *self.shape)

    def with_parses(self, tree_kind: str, find_directory: Callable[[], Path]) -> CorpusSource:
        """The same corpus with the files of its trees of one kind.

        Args:
            tree_kind: One of ``INPUT_KINDS``.
            find_directory: Returns the directory of parses; called only if they are needed.

        Raises:
            DataError: There is no such kind, the corpus has no such trees, or a file is missing.
        """
        check_choice("kind of trees", tree_kind, INPUT_KINDS, DataError)
        if tree_kind not in self.corpus.kinds:
            raise DataError(
                f"{self.corpus.title} cannot be read as {tree_kind}: it has "
                f"{' and '.join(self.corpus.kinds)}"
            )
        parses: dict[str, tuple[Path, ...]] = {}
        if tree_kind in self.corpus.parses:
            directory = find_directory()
            for split, names in self.corpus.parses[tree_kind].items():
                parses[split] = tuple(directory / name for name in names)
        missing = [path for paths in parses.values() for path in paths if not is_file(path)]
        if missing:
            raise DataError(
                f"no {tree_kind} trees of {self.corpus.title}: {missing[0]} is missing{TO_PARSE}"
            )
        return replace(self, tree_kind=tree_kind, parses=parses)

    @property
    def is_published(self) -> bool:
        """Whether the splits that were read have the published numbers of examples."""
        published = self.corpus.published_counts
        return all(published.get(split) == count for split, count in self.counts.items())

    def summary(self) -> str:
        """One line for people: name, counts and how they differ from the published ones, path."""
        counts = ", ".join(f"{split} {self._count(split)}" for split in self.counts)
        path = next(iter(self.files.values()))
        directory = path if self.corpus.parts else path.parent
        parses = ", {} {} trees".format(*self.shape) if self.shape else ""
        if self.parses:
            folder = next(iter(self.parses.values()))[0].parent
            parses += f", {self.tree_kind} trees from {folder}"
        remarks = "".join(f"; {remark}" for remark in self.remarks)
        return f"{self.corpus.title} ({counts}) from {directory}{parses}{remarks}"

    def describe(self) -> dict[str, Any]:
        """The corpus for ``results.json``: names; count, files and SHA-256 of each split."""
        splits = {
            split: {
                **self._describe(split),
                "examples": count,
                "parses": [_describe(path) for path in self.parses.get(split, ())],
            }
            for split, count in self.counts.items()
        }
        described: dict[str, Any] = {
            "name": self.corpus.name,
            "title": self.corpus.title,
            "tree_kind": self.tree_kind,
            "splits": splits,
        }
        if self.corpus.held_out:
            described["dev_held_out_of_train"] = self.corpus.held_out
        if self.shape:
            described["shape"], described["tree_kind"] = self.shape
        if self.remarks:
            described["remarks"] = list(self.remarks)
        return described

    def paths(self) -> list[Path]:
        """Every file that examples come from."""
        return [*self.files.values(), *(path for paths in self.parses.values() for path in paths)]

    def digests(self, split: str) -> list[str]:
        """The SHA-256 of each file that the examples of a split come from."""
        path = self.files[split]
        own = [path / part for part in self.corpus.parts] or [path]
        return [digest(each) for each in (*own, *self.parses.get(split, ()))]

    def _describe(self, split: str) -> dict[str, Any]:
        path = self.files[split]
        if not self.corpus.parts:
            return _describe(path)
        return {"path": str(path), "parts": [_describe(path / part) for part in self.corpus.parts]}

    def _count(self, split: str) -> str:
        count = self.counts[split]
        published = self.corpus.published_counts.get(split, count)
        if split == "dev" and self.corpus.held_out:
            return f"{count:,}, held out of train"
        return f"{count:,}" if count == published else f"{count:,}, published: {published:,}"


def parse_files(names: Mapping[str, Sequence[str]]) -> dict[str, dict[str, tuple[str, ...]]]:
    """The ``parses`` of a corpus, of both kinds: for each split, files with these names."""
    return {
        kind: {split: tuple(f"{name}.{suffix}" for name in names[split]) for split in names}
        for kind, suffix in _PARSE_SUFFIXES.items()
    }


def check_shape(shape: str, tree_kind: str) -> None:
    """Raises a DataError if there is no such shape, or the kind is ``"words"``."""
    check_choice("shape of trees", shape, SHAPES, DataError)
    if tree_kind not in TREE_KINDS:
        raise DataError(f"{shape} trees are for models of trees, not of {tree_kind}")


def shaped(example: Any, shape: str, tree_kind: str) -> Any:
    """An example with trees of a shape and kind over the words of its sentences."""
    if isinstance(example, TreePair):
        first, second = (reshape(tree, shape, tree_kind) for tree in example[:2])
        return example._replace(first=first, second=second)
    return reshape(example, shape, tree_kind)


def find_corpus(candidates: Sequence[Corpus], data_dir: Path, advice: str = "") -> CorpusSource:
    """The first of several corpora whose files are all there.

    Args:
        candidates: The corpora.
        data_dir: The data directory.
        advice: What to do if none is complete, appended to the error message.

    Raises:
        DataError: None is complete; the missing files are listed.
    """
    missing: list[str] = []
    for corpus in candidates:
        files = {split: data_dir / name for split, name in corpus.files.items()}
        absent = [name for name in corpus.all_files() if not is_file(data_dir / name)]
        if not absent:
            if corpus.held_out:
                files = {"train": files["train"], "dev": files["train"], "test": files["test"]}
            return CorpusSource(corpus, files)
        missing.append(f"{corpus.title}: no {', '.join(absent)}")
    raise DataError(f"no corpus for this task in {data_dir}: {'; '.join(missing)}{advice}")


def _describe(path: Path) -> dict[str, str]:
    return {"path": str(path), "sha256": digest(path)}
