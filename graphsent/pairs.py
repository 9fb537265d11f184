"""Pairs of sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from graphsent.sentences import Sentence
    from graphsent.trees import DependencyTree, Tree

__all__ = ["TreePair", "sides"]


class TreePair(NamedTuple):
    """Two sentences with a relatedness score or a class.

    Attributes:
        first: The first sentence or its tree.
        second: The second sentence or its tree, of the same kind.
        score: Relatedness; None if unknown.
        label: Class of the pair, a decimal index; ``""`` if it has none.
    """

    first: Tree | DependencyTree | Sentence
    second: Tree | DependencyTree | Sentence
    score: float | None = None
    label: str = ""

    @property
    def words(self) -> list[str]:
        """The words of both sentences, as collected by a vocabulary."""
        return [*self.first.words, *self.second.words]


def sides(example: Any) -> tuple[Any, ...]:
    """The two sentences of a pair; any other example alone."""
    return example[:2] if isinstance(example, TreePair) else (example,)
