"""Predictions for pairs of sentences and for lists of parses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphsent.models.base.results import Jsonable, ranked, rounded
from graphsent.pairs import TreePair
from graphsent.trees import ParseList, Tree

__all__ = ["PairPrediction", "RankedParses"]


@dataclass(frozen=True, eq=False, repr=False)
class PairPrediction(Jsonable):
    """The predicted class of a pair of sentences.

    Attributes:
        pair: The pair as given.
        probabilities: (num_classes,) float32.
        label_names: Names of the classes by index.
    """

    pair: TreePair
    probabilities: np.ndarray
    label_names: tuple[str, ...]

    @property
    def label(self) -> int:
        """The most probable class."""
        return int(self.probabilities.argmax())

    @property
    def name(self) -> str:
        """The name of the most probable class."""
        return self.label_names[self.label]

    @property
    def ranked(self) -> list[tuple[str, float]]:
        """The names of all classes with their probabilities, most probable first."""
        return ranked(self.label_names, self.probabilities)

    def to_dict(self) -> dict[str, Any]:
        """JSON values: the texts ``first``, ``second``; ``label``, ``name``, ``probabilities``."""
        return {
            "first": " ".join(self.pair.first.words),
            "second": " ".join(self.pair.second.words),
            "label": self.label,
            "name": self.name,
            "probabilities": rounded(self.probabilities),
        }

    def __repr__(self) -> str:
        texts = ", ".join(repr(" ".join(each.words)) for each in self.pair[:2])
        return f"PairPrediction({self.name!r}, {self.probabilities[self.label]:.3f}, {texts})"


@dataclass(frozen=True, eq=False)
class RankedParses(Jsonable):
    """The scores of the parses in an n-best list.

    Attributes:
        parses: The list as given.
        scores: (num_candidates,) float32; higher is better.
    """

    parses: ParseList
    scores: np.ndarray

    @property
    def best(self) -> int:
        """Index of the chosen candidate."""
        return int(self.scores.argmax())

    @property
    def tree(self) -> Tree:
        """The chosen parse."""
        return self.parses.candidates[self.best].tree

    def to_dict(self) -> dict[str, Any]:
        """JSON values: ``name``, index ``best``, ``tree`` and ``scores``."""
        return {
            "name": self.parses.name,
            "best": self.best,
            "tree": str(self.tree),
            "scores": rounded(self.scores),
        }
