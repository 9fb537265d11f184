"""Dependency trees as flat arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from graphsent._derived import Unchanging
from graphsent.trees import structure
from graphsent.trees.errors import (
    Cycle,
    EmptySentence,
    HeadOutOfRange,
    InvalidStructure,
    NoRoot,
    SeveralRoots,
    TreeError,
)

_COLUMNS = ("labels", "relations", "upos", "xpos", "lemmas", "feats", "deps", "misc")
_REPR_WORDS = 8


class DependencyTree(Unchanging):
    """An immutable dependency tree: every word is a node, in the order of the sentence.

    The tree may be non-projective. Text columns hold ``""`` for unknown values; ``"_"``, which
    means the same in CoNLL-U, also becomes ``""`` (but not as a word or label).

    Args:
        words: The words.
        heads: Position of the head of each word, from 0; -1 at the root.
        labels: Label of the phrase headed by each word, such as its sentiment.
        relations: Relation of each word to its head.
        upos: Universal part-of-speech tags.
        xpos: Language-specific part-of-speech tags.
        lemmas: Lemmas.
        feats: Morphological features, ``"Case=Nom|Number=Sing"``.
        deps: Enhanced dependencies, ``"2:nsubj|4:nsubj"``.
        misc: Other annotations, such as ``"SpaceAfter=No"``, without labels.
        metadata: Comments on the sentence: name -> value, ``""`` for a bare comment.
        other_lines: Lines of a CoNLL-U file that are not words (word ranges and empty nodes), each
            after the number of words above it.

    Raises:
        TreeError: The heads do not form a tree, or a column and ``words`` differ in length.

    Example:
        >>> tree = DependencyTree(["a", "lovely", "film"], [2, 2, -1])
        >>> tree.depths
        array([1, 1, 0])
        >>> tree.spans.tolist()
        [[0, 1], [1, 2], [0, 3]]
    """

    words: tuple[str, ...]
    heads: np.ndarray
    labels: tuple[str, ...]
    relations: tuple[str, ...]
    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    lemmas: tuple[str, ...]
    feats: tuple[str, ...]
    deps: tuple[str, ...]
    misc: tuple[str, ...]
    metadata: dict[str, str]
    other_lines: tuple[tuple[int, str], ...]

    def __init__(
        self,
        words: Iterable[str],
        heads: Iterable[int] | np.ndarray,
        *,
        labels: Iterable[str] | None = None,
        relations: Iterable[str] | None = None,
        upos: Iterable[str] | None = None,
        xpos: Iterable[str] | None = None,
        lemmas: Iterable[str] | None = None,
        feats: Iterable[str] | None = None,
        deps: Iterable[str] | None = None,
        misc: Iterable[str] | None = None,
        metadata: Mapping[str, str] | None = None,
        other_lines: Iterable[tuple[int, str]] = (),
    ) -> None:
        fields = self.__dict__  # not setattr, which is blocked
        fields["words"] = tuple(words)
        if not isinstance(heads, np.ndarray):
            heads = np.array(list(heads), dtype=None if self.words else np.int64)
        fields["heads"] = heads
        columns = (labels, relations, upos, xpos, lemmas, feats, deps, misc)
        for name, values in zip(_COLUMNS, columns, strict=True):
            column = ("",) * len(self.words) if values is None else tuple(values)
            if name != "labels":
                column = tuple("" if value == "_" else value for value in column)
            fields[name] = column
        fields["metadata"] = dict(metadata or {})
        fields["other_lines"] = tuple((number, line) for number, line in other_lines)
        self._validate()

    def _validate(self) -> None:
        for name in ("heads", *_COLUMNS):
            if len(getattr(self, name)) != len(self.words):
                raise InvalidStructure(
                    f"expected one of {name} for each of {len(self.words)} words, "
                    f"got {len(getattr(self, name))}"
                )
            if name != "heads" and not all(isinstance(v, str) for v in getattr(self, name)):
                raise InvalidStructure(f"expected {name} to be strings")
        if not all(isinstance(part, str) for item in self.metadata.items() for part in item):
            raise InvalidStructure("expected names and values of metadata to be strings")
        if not all(
            isinstance(line, str) and number in range(len(self.words) + 1)
            for number, line in self.other_lines
        ):
            raise InvalidStructure(
                f"expected other_lines to be strings after 0 to {len(self.words)} words"
            )
        if not all(isinstance(word, str) and word for word in self.words):
            raise InvalidStructure("expected words to be non-empty strings")
        if self.heads.ndim != 1 or not np.issubdtype(self.heads.dtype, np.integer):
            raise InvalidStructure(
                f"expected a row of integer heads, got {self.heads.dtype} of shape "
                f"{self.heads.shape}"
            )
        fault = find_fault(self.heads)
        if fault:
            raise fault.error(fault.message)
        self.__dict__["heads"] = structure.read_only(self.heads.astype(np.int64))

    @property
    def num_nodes(self) -> int:
        """Number of words, each of which is a node."""
        return len(self.words)

    @property
    def root(self) -> int:
        """Index of the root, the word without a head."""
        return int(self.heads.argmin())

    @cached_property
    def depths(self) -> np.ndarray:
        """Distance of each word from the root, (N,) int64."""
        return structure.read_only(structure.depths(self.heads))

    @cached_property
    def child_index(self) -> np.ndarray:
        """Index of each word among the dependents of its head, from the left, (N,) int64."""
        return structure.read_only(structure.child_index(self.heads))

    @cached_property
    def num_children(self) -> np.ndarray:
        """Number of dependents of each word, (N,) int64."""
        return structure.read_only(structure.num_children(self.heads))

    @cached_property
    def spans(self) -> np.ndarray:
        """Range [first, last + 1) of the positions in each word's subtree, (N, 2) int64.

        In a non-projective tree, it may include words outside the subtree.
        """
        return structure.read_only(structure.word_spans(self.heads, np.arange(self.num_nodes)))

    def replace(self, **arguments: Any) -> DependencyTree:
        """A copy of the tree with some constructor arguments replaced."""
        return DependencyTree(**{**self._arguments(), **arguments})

    def _arguments(self) -> dict[str, Any]:
        names = ("words", "heads", *_COLUMNS, "metadata", "other_lines")
        return {name: getattr(self, name) for name in names}

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a DependencyTree is immutable: cannot set {name!r}")

    def _key(self) -> tuple:
        columns = (getattr(self, name) for name in _COLUMNS)
        return (self.words, self.heads.tobytes(), *columns, self.other_lines)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DependencyTree):
            return NotImplemented
        return self._key() == other._key() and self.metadata == other.metadata

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple:
        return partial(DependencyTree, **self._arguments()), ()

    def __repr__(self) -> str:
        shown = " ".join(self.words[:_REPR_WORDS])
        more = " ..." if len(self.words) > _REPR_WORDS else ""
        return f"DependencyTree({shown + more!r}, num_nodes={self.num_nodes})"


class Fault(NamedTuple):
    """Why heads do not form a tree: the error to raise, its message and the offending word."""

    error: type[TreeError]
    message: str
    word: int


def find_fault(heads: np.ndarray) -> Fault | None:
    """The first reason why 0-based heads, (N,) int64, do not form a tree; None if they do.

    Messages number words and heads as CoNLL-U does: words from 1, head 0 at the root.
    """
    num_words = len(heads)
    if not num_words:
        return Fault(EmptySentence, "expected at least one word, got none", 0)
    outside = np.flatnonzero((heads < structure.NO_PARENT) | (heads >= num_words))
    if outside.size:
        word = int(outside[0])
        message = f"word {word + 1} has head {heads[word] + 1}: expected 0 to {num_words}"
        return Fault(HeadOutOfRange, message, word)
    roots = np.flatnonzero(heads == structure.NO_PARENT)
    if not roots.size:
        return Fault(NoRoot, "no word has head 0: expected one root", 0)
    if roots.size > 1:
        first, second = int(roots[0]) + 1, int(roots[1]) + 1
        message = f"words {first} and {second} both have head 0: expected one root"
        return Fault(SeveralRoots, message, second - 1)
    on_cycle = structure.node_on_cycle(heads)
    if on_cycle is not None:
        message = f"word {on_cycle + 1} is below itself: expected heads without a cycle"
        return Fault(Cycle, message, on_cycle)
    return None
