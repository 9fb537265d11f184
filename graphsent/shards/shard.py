"""A shard: a file of some thousands of examples, of which some hundreds are read at a time."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graphsent.graphs.flat import FlatTree
from graphsent.models.batches.words import FlatUnits
from graphsent.pairs import TreePair
from graphsent.shards.mapped import MappedFile
from graphsent.shards.stored import KINDS, stored
from graphsent.trees.structure import read_only
from graphsent.vocabulary import Vocabulary

__all__ = ["KEPT", "Block", "Schema", "Shard", "Symbols", "as_bytes", "offsets_of", "strings_of"]

KEPT: dict[str, Any] = {"graph": FlatTree, "sibling_graph": FlatTree, "units": FlatUnits}
"""The derived objects stored with trees, by their name in ``derived``."""


class Schema(NamedTuple):
    """The structure of the examples of a corpus.

    Attributes:
        kind: One of ``KINDS``.
        pairs: Whether examples are pairs of this kind.
        kept: Names of the derived objects stored with each, from ``KEPT``.
        forms: Names of the forms that are already applied to each, see
            :mod:`graphsent.models.batches.shape`.
    """

    kind: str
    pairs: bool
    kept: tuple[str, ...]
    forms: tuple[str, ...]

    def to_json(self) -> str:
        """Serializes the schema."""
        return json.dumps(self._asdict())

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """Inverse of :meth:`to_json`."""
        values = json.loads(text)
        return cls(values["kind"], values["pairs"], tuple(values["kept"]), tuple(values["forms"]))


@dataclass
class Symbols:
    """Words and labels by number, shared by all shards of a corpus.

    Attributes:
        words: Words by number.
        labels: Labels by number.
        vocab: The vocabulary of batches, if known.
        indices: (num_words,) int64, the index in ``vocab`` of each of ``words``.
    """

    words: list[str]
    labels: list[str]
    vocab: Vocabulary | None = None
    indices: np.ndarray | None = None

    def number(self, vocab: Vocabulary) -> None:
        """Sets the vocabulary of batches."""
        if vocab is not self.vocab:
            self.indices = np.fromiter(vocab.indices(self.words), np.int64, len(self.words))
            self.vocab = vocab


class Shard:
    """A file of examples; see :class:`~graphsent.shards.writer.ShardWriter`.

    It is opened and mapped only while it is being read, since a corpus may have more shards than a
    process may have open files, and mapped pages would count as memory of the process.

    Args:
        path: The file.
        symbols: Words and labels.

    Attributes:
        path: The file.

    Raises:
        ValueError: The file is malformed or truncated.
        OSError: It cannot be read.
    """

    def __init__(self, path: Path, symbols: Symbols) -> None:
        self.path, self._symbols = path, symbols
        self._num_examples = len(self.column("sizes"))
        self.block(0, 0)  # checks that all arrays exist

    def __len__(self) -> int:
        return self._num_examples

    def check(self) -> None:
        """Reads the whole file; raises a ValueError unless it is as written."""
        MappedFile(self.path).check()

    def column(self, name: str) -> np.ndarray:
        """One value or array for all examples.

        Args:
            name: ``"number"``, (1,) the number of earlier shards; ``"words"``, (num_words,) numbers
                of the words of all sentences; ``"sizes"`` or ``"depths"``, (num_examples,) see
                :func:`~graphsent.shards.size_of` and :func:`~graphsent.shards.depth_of`.
        """
        return self._array(MappedFile(self.path), name).copy()

    @property
    def schema(self) -> Schema:
        """The structure of the examples."""
        return _schema(MappedFile(self.path))

    @property
    def new_words(self) -> list[str]:
        """The words that do not occur in earlier shards, in the order of their numbers."""
        return strings_of(self.column("new_words"))

    @property
    def new_labels(self) -> list[str]:
        """The labels that do not occur in earlier shards."""
        return strings_of(self.column("new_labels"))

    def block(self, begin: int, end: int) -> Block:
        """The examples in the rows from ``begin`` to ``end`` (exclusive)."""
        file = MappedFile(self.path)
        return Block(_schema(file), lambda name: self._array(file, name), self._symbols, begin, end)

    def _array(self, file: MappedFile, name: str) -> np.ndarray:
        try:
            return file.arrays[name]
        except KeyError as error:
            raise ValueError(f"{self.path}: there is no array {error}") from None


class Block:
    """Consecutive examples of a shard, in memory.

    Args:
        schema: Their structure.
        array: Returns an array of the shard by name; the parts needed are copied.
        symbols: Words and labels.
        begin: Row of the first example.
        end: Row after the last one.
    """

    def __init__(
        self,
        schema: Schema,
        array: Callable[[str], np.ndarray],
        symbols: Symbols,
        begin: int,
        end: int,
    ) -> None:
        self._pairs = schema.pairs
        self._cls = KINDS[schema.kind]
        self._forms: dict[Hashable, Any] = dict.fromkeys(schema.forms)
        self._symbols = symbols
        units = 2 if schema.pairs else 1
        offsets = array("offsets")[units * begin : units * end + 1]
        first, last = offsets[0], offsets[-1]
        self._offsets = offsets - first

        def part(name: str, column: int) -> np.ndarray:
            return array(name)[..., first[column] : last[column]].copy()

        self._words, self._labels = part("words", 0), part("labels", 1)
        self._parents = part("parents", 1)
        self._rests = array("rests")[begin:end].copy()
        columns = itertools.count(2)  # of the offsets; the first two are for words and nodes
        self._kept = [
            (name, KEPT[name]._make, [(part(each, i), i) for each, i in parts])
            for name, parts in (
                (name, [(f"{name}.{field}", next(columns)) for field in KEPT[name]._fields])
                for name in schema.kept
            )
        ]

    def example(self, row: int) -> Any:
        """The example in a row of the block."""
        if not self._pairs:
            return self._unit(row)
        rest = json.loads(self._symbols.labels[self._rests[row]])
        return TreePair(self._unit(2 * row), self._unit(2 * row + 1), *rest)

    def words_of(self, row: int) -> list[str]:
        """The words of a tree or sentence, in order."""
        begin, end = self._offsets[row : row + 2, 0].tolist()
        return list(map(self._symbols.words.__getitem__, self._words[begin:end].tolist()))

    def num_nodes_of(self, row: int) -> int:
        """The number of nodes of a tree; 1 for a sentence."""
        begin, end = self._offsets[row : row + 2, 1].tolist()
        return end - begin

    def labels_of(self, row: int) -> tuple[str, ...]:
        """The label of each node."""
        begin, end = self._offsets[row : row + 2, 1].tolist()
        return tuple(map(self._symbols.labels.__getitem__, self._labels[begin:end].tolist()))

    def parents_of(self, row: int) -> np.ndarray:
        """The parent of each node of a tree, (num_nodes,) int64, read-only."""
        begin, end = self._offsets[row : row + 2, 1].tolist()
        return read_only(self._parents[begin:end].astype(np.int64))

    def _unit(self, row: int) -> Any:
        begin, end = self._offsets[row : row + 2].tolist()
        derived = self._forms.copy()
        symbols = self._symbols
        if symbols.indices is not None:
            words = self._words[begin[0] : end[0]]
            derived["words"] = (symbols.vocab, symbols.indices.take(words))
        for name, make, parts in self._kept:
            derived[name] = make([array[:, begin[i] : end[i]] for array, i in parts])
        return stored(self._cls, (self, row), derived)


def _schema(file: MappedFile) -> Schema:
    return Schema.from_json(file.about.get("schema", ""))


def strings_of(data: np.ndarray) -> list[str]:
    """Inverse of :func:`as_bytes`."""
    return json.loads(data.tobytes())


def as_bytes(strings: Sequence[str]) -> np.ndarray:
    """Encodes strings as an array of bytes."""
    return np.frombuffer(json.dumps(list(strings)).encode(), np.uint8)


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    """The offsets at which each row begins in each column, and the end of the last one.

    Args:
        lengths: (num_columns, num_rows).

    Returns:
        (num_rows + 1, num_columns) int64.
    """
    ends = np.cumsum(lengths, axis=1, dtype=np.int64).T
    return np.concatenate((np.zeros((1, len(lengths)), np.int64), ends))
