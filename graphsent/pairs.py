"""Two sentences that are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from graphsent.sentences import Sentence
    from graphsent.trees import DependencyTree, Tree

__all__ = ["TreePair"]


class TreePair(NamedTuple):
    """Two sentences, and how related they are or which class they are of.

    Attributes:
        first: The one sentence, or its tree.
        second: The other, or its tree of the same kind.
        score: How related they are; None where it is not known.
        label: Their class, a decimal index; ``""`` where there is none.
    """

    first: Tree | DependencyTree | Sentence
    second: Tree | DependencyTree | Sentence
    score: float | None = None
    label: str = ""

    @property
    def words(self) -> list[str]:
        """The words of both, as a vocabulary collects them."""
        return [*self.first.words, *self.second.words]
