"""What a model says about one tree, one pair of trees, or one list of parses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphsent.pairs import TreePair
from graphsent.sentences import Sentence
from graphsent.trees import DependencyTree, ParseList, Tree

__all__ = ["PairPrediction", "Prediction", "RankedParses"]

_DIGITS = 6  # of probabilities in JSON


@dataclass(frozen=True, eq=False)
class Prediction:
    """The class of every node of a tree, and so of the sentence and all its phrases.

    Attributes:
        tree: The tree as it was given; or the sentence, as if it were a tree of one node.
        probabilities: (num_nodes, num_classes) float32, rows in the order of the tree's nodes.
        label_names: Names of the classes by index.
    """

    tree: Tree | DependencyTree | Sentence
    probabilities: np.ndarray
    label_names: tuple[str, ...]

    @property
    def labels(self) -> np.ndarray:
        """The most probable class of each node, (num_nodes,) int64."""
        return self.probabilities.argmax(axis=1)

    @property
    def names(self) -> list[str]:
        """The name of the most probable class of each node."""
        return [self.label_names[label] for label in self.labels.tolist()]

    @property
    def root(self) -> int:
        """The node that is the whole sentence."""
        return int(np.argmin(self.tree.depths))

    @property
    def root_label(self) -> int:
        """The most probable class of the sentence."""
        return int(self.labels[self.root])

    @property
    def root_name(self) -> str:
        """The name of the most probable class of the sentence."""
        return self.label_names[self.root_label]

    def to_tree(self, *, names: bool = False) -> Tree | DependencyTree | Sentence:
        """The tree with predicted classes in place of its labels.

        Args:
            names: Whether by name, and not as decimal numbers.
        """
        labels = self.names if names else list(map(str, self.labels.tolist()))
        tree = self.tree
        if isinstance(tree, Sentence):
            return Sentence(tree.words, *labels)
        if isinstance(tree, Tree):
            return Tree(labels, tree.tokens, tree.parents)
        return tree.replace(labels=labels)

    def to_dict(self) -> dict[str, Any]:
        """The prediction as JSON values.

        Returns:
            ``text``, ``label``, ``name`` and ``probabilities`` of the sentence, and ``nodes``: for
            each node, in the order of the tree's nodes, its ``parent`` (-1 at the root), the words
            ``begin`` to ``end`` (exclusive) that it spans, ``label``, ``name`` and
            ``probabilities``.
        """
        tree = self.tree
        parents = tree.heads if isinstance(tree, DependencyTree) else tree.parents
        probabilities = self.probabilities.astype(float).round(_DIGITS).tolist()
        nodes = [
            {
                "parent": parent,
                "begin": begin,
                "end": end,
                "label": label,
                "name": name,
                "probabilities": row,
            }
            for parent, (begin, end), label, name, row in zip(
                parents.tolist(),
                tree.spans.tolist(),
                self.labels.tolist(),
                self.names,
                probabilities,
                strict=True,
            )
        ]
        return {
            "text": " ".join(tree.words),
            "label": self.root_label,
            "name": self.root_name,
            "probabilities": probabilities[self.root],
            "nodes": nodes,
        }


@dataclass(frozen=True, eq=False)
class PairPrediction:
    """The class of a pair of sentences.

    Attributes:
        pair: The pair as it was given.
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

    def to_dict(self) -> dict[str, Any]:
        """``first`` and ``second`` as text, ``label``, ``name`` and ``probabilities``, for JSON."""
        return {
            "first": " ".join(self.pair.first.words),
            "second": " ".join(self.pair.second.words),
            "label": self.label,
            "name": self.name,
            "probabilities": self.probabilities.astype(float).round(_DIGITS).tolist(),
        }


@dataclass(frozen=True, eq=False)
class RankedParses:
    """What a model says about an n-best list.

    Attributes:
        parses: The list as it was given.
        scores: (num_candidates,) float32; more is better.
    """

    parses: ParseList
    scores: np.ndarray

    @property
    def best(self) -> int:
        """The place of the chosen candidate."""
        return int(self.scores.argmax())

    @property
    def tree(self) -> Tree:
        """The chosen parse."""
        return self.parses.candidates[self.best].tree

    def to_dict(self) -> dict[str, Any]:
        """``name``, place ``best``, ``tree`` and ``scores`` as JSON values."""
        return {
            "name": self.parses.name,
            "best": self.best,
            "tree": str(self.tree),
            "scores": self.scores.astype(float).round(6).tolist(),
        }
