"""Predictions for pairs of sentences and for lists of parses."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphsent.pairs import TreePair
from graphsent.trees import ParseList, Tree

__all__ = ["DIGITS", "Jsonable", "PairPrediction", "RankedParses"]

DIGITS = 6  # decimal places of probabilities in JSON


class Jsonable:
    """Base class of results that can be converted to JSON."""

    def to_dict(self) -> dict[str, Any]:
        """Converts the result to a dictionary of JSON values."""
        raise NotImplementedError

    def to_json(self, indent: int | None = None) -> str:
        """Serializes :meth:`to_dict` as JSON.

        Args:
            indent: Number of spaces per level; None for a single line.
        """
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)


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
        row = self.probabilities.tolist()
        return sorted(zip(self.label_names, row, strict=True), key=lambda each: -each[1])

    def to_dict(self) -> dict[str, Any]:
        """JSON values: the texts ``first``, ``second``; ``label``, ``name``, ``probabilities``."""
        return {
            "first": " ".join(self.pair.first.words),
            "second": " ".join(self.pair.second.words),
            "label": self.label,
            "name": self.name,
            "probabilities": self.probabilities.astype(float).round(DIGITS).tolist(),
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
            "scores": self.scores.astype(float).round(DIGITS).tolist(),
        }
