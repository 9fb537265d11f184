"""Examples in shards: batches use the stored arrays; other attributes are computed on access."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any

from graphsent._derived import Unchanging
from graphsent.sentences import Sentence
from graphsent.trees import DependencyTree, Tree
from graphsent.trees.structure import num_children

__all__ = ["KINDS", "stored"]

# Untyped, since type checkers would object to properties that override settable attributes.
_property: Any = property
_cached_property: Any = cached_property


def _column(name: str) -> Callable[[Any], Any]:
    """The getter of an example's value, by the method of its block that returns it."""

    def get(example: Any) -> Any:
        block, row = example._place
        return getattr(block, name)(row)

    return get


class _StoredTree(Tree):
    """A constituency tree."""

    num_nodes = _property(_column("num_nodes_of"))
    words = _property(_column("words_of"))
    labels = _cached_property(_column("labels_of"))
    parents = _cached_property(_column("parents_of"))

    @_cached_property
    def tokens(self) -> tuple[str | None, ...]:
        words = iter(self.words)  # leaves, in preorder, are in the order of the sentence
        is_leaf = num_children(self.parents) == 0
        return tuple(next(words) if leaf else None for leaf in is_leaf.tolist())


class _StoredDependencyTree(DependencyTree):
    """A dependency tree, without the columns that no model reads."""

    num_nodes = _property(_column("num_nodes_of"))
    labels = _cached_property(_column("labels_of"))
    heads = _cached_property(_column("parents_of"))

    @_cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(_column("words_of")(self))

    other_lines = ()

    @_cached_property
    def metadata(self) -> dict[str, str]:
        return {}

    def _unknown(self) -> tuple[str, ...]:
        return ("",) * self.num_nodes

    relations = upos = xpos = lemmas = feats = deps = misc = _property(_unknown)


class _StoredSentence(Unchanging, Sentence):
    """An immutable sentence."""

    words = _cached_property(_column("words_of"))

    @_cached_property
    def label(self) -> str:
        return _column("labels_of")(self)[0]

    def __reduce__(self) -> tuple:
        return Sentence, (self.words, self.label)


KINDS: dict[str, type] = {
    "sentence": _StoredSentence,
    "constituency": _StoredTree,
    "dependency": _StoredDependencyTree,
}
"""The classes of stored examples, by name."""


def stored(cls: type, place: tuple[Any, int], derived: dict[Hashable, Any]) -> Any:
    """The tree or sentence in a row of a block.

    Args:
        cls: One of ``KINDS``.
        place: Its :class:`~graphsent.shards.shard.Block`, and its row there.
        derived: The objects derived from it, see :attr:`graphsent.trees.Tree.derived`.
    """
    unit: Any = object.__new__(cls)
    unit.__dict__.update(_place=place, derived=derived)  # not setattr, which trees block
    return unit
