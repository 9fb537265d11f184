"""Two sentences that are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from graphsent.trees import DependencyTree, Tree

__all__ = ["TreePair"]


class TreePair(NamedTuple):
    """Two sentences, and how related they are.

    Attributes:
        first: Tree of the one sentence.
        second: Tree of the other, of the same kind.
        score: How related they are, from 1; None where it is not known.
    """

    first: Tree | DependencyTree
    second: Tree | DependencyTree
    score: float | None = None

    @property
    def words(self) -> list[str]:
        """The words of both, as a vocabulary collects them."""
        return [*self.first.words, *self.second.words]
