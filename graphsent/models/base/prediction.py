"""Predictions for trees and sentences."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from graphsent.drawing.pictures import import_canvas
from graphsent.errors import DataError
from graphsent.graphs.convert import to_networkx
from graphsent.graphs.draw import draw_tree
from graphsent.models.base.results import Jsonable, ranked, rounded
from graphsent.sentences import Sentence
from graphsent.trees import DependencyTree, Tree

if TYPE_CHECKING:
    import os

    import networkx
    from matplotlib.figure import Figure

__all__ = ["NodePrediction", "Prediction"]


class NodePrediction(NamedTuple):
    """The prediction for one node of a tree: a sentence, phrase or word.

    Attributes:
        parent: Index of the parent node, -1 at the root.
        begin: Index of the first word in its span.
        end: Index of the last word + 1.
        words: The words in its span.
        label: The most probable class.
        name: Name of that class.
        probabilities: Probabilities of all classes, by name.
    """

    parent: int
    begin: int
    end: int
    words: tuple[str, ...]
    label: int
    name: str
    probabilities: dict[str, float]


@dataclass(frozen=True, eq=False, repr=False)
class Prediction(Jsonable):
    """The predicted class of every node of a tree: of the sentence and all its phrases.

    A notebook displays it as the class probabilities of the sentence and the tree with the class of
    every phrase.

    Attributes:
        tree: The tree as given; or the sentence, treated as a tree with a single node.
        probabilities: (num_nodes, num_classes) float32, rows in the order of the tree's nodes.
        label_names: Names of the classes by index.
        ordered_classes: Whether the classes are ordered from low to high.
    """

    tree: Tree | DependencyTree | Sentence
    probabilities: np.ndarray
    label_names: tuple[str, ...]
    ordered_classes: bool = True

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
        """Index of the root, the node of the whole sentence."""
        return self.tree.root

    @property
    def root_label(self) -> int:
        """The most probable class of the sentence."""
        return int(self.labels[self.root])

    @property
    def root_name(self) -> str:
        """The name of the most probable class of the sentence."""
        return self.label_names[self.root_label]

    @property
    def root_probability(self) -> float:
        """The probability of the most probable class of the sentence."""
        return float(self.probabilities[self.root, self.root_label])

    @property
    def ranked(self) -> list[tuple[str, float]]:
        """All class names with their probabilities for the sentence, most probable first."""
        return ranked(self.label_names, self.probabilities[self.root])

    @property
    def nodes(self) -> list[NodePrediction]:
        """The prediction for each node, in the order of the tree's nodes."""
        words = tuple(self.tree.words)
        return [
            NodePrediction(
                parent,
                begin,
                end,
                words[begin:end],
                label,
                self.label_names[label],
                dict(zip(self.label_names, row, strict=True)),
            )
            for parent, (begin, end), label, row in zip(
                *self._columns(), self.probabilities.tolist(), strict=True
            )
        ]

    def _columns(self) -> tuple[list[Any], ...]:
        """Parent, span and predicted class of each node."""
        tree = self.tree
        parents = tree.heads if isinstance(tree, DependencyTree) else tree.parents
        return parents.tolist(), tree.spans.tolist(), self.labels.tolist()

    def to_tree(self, *, names: bool = False) -> Tree | DependencyTree | Sentence:
        """The tree with predicted classes as labels.

        A dependency tree loses its comment ``label``, which would have precedence at the root.

        Args:
            names: Whether to use the names of classes instead of their numbers.
        """
        labels = self.names if names else list(map(str, self.labels.tolist()))
        tree = self.tree
        if isinstance(tree, Sentence):
            return Sentence(tree.words, *labels)
        if isinstance(tree, DependencyTree):
            metadata = {name: value for name, value in tree.metadata.items() if name != "label"}
            return tree.replace(labels=labels, metadata=metadata)
        return tree.replace(labels=labels)

    def to_dict(self) -> dict[str, Any]:
        """Converts the prediction to JSON values.

        Returns:
            ``text``, ``label``, ``name`` and ``probabilities`` of the sentence, and ``nodes``, in
            the order of the tree's nodes, each with ``parent`` (-1 at the root), ``begin`` and
            ``end`` of its half-open word span, ``label``, ``name`` and ``probabilities``.
        """
        nodes = [
            {
                "parent": parent,
                "begin": begin,
                "end": end,
                "label": label,
                "name": self.label_names[label],
                "probabilities": row,
            }
            for parent, (begin, end), label, row in zip(
                *self._columns(), rounded(self.probabilities), strict=True
            )
        ]
        return {
            "text": " ".join(self.tree.words),
            "label": self.root_label,
            "name": self.root_name,
            "probabilities": nodes[self.root]["probabilities"],
            "nodes": nodes,
        }

    def to_networkx(self) -> networkx.DiGraph:
        """Converts the tree as :func:`~graphsent.graphs.to_networkx` does, with predictions.

        ``label`` is the number of the predicted class; nodes also have its ``name`` and the
        ``probabilities`` of all classes, by name.

        Raises:
            DataError: The sentence has no words.
        """
        digraph = to_networkx(self._drawable())
        for number, node in enumerate(self.nodes):
            digraph.nodes[number].update(name=node.name, probabilities=node.probabilities)
        return digraph

    def draw(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        probabilities: bool = False,
        title: str | None = None,
        **options: Any,
    ) -> Figure:
        """Draws the tree with the predicted class of every node.

        Args:
            path: File to write, ``.png`` or ``.svg``.
            probabilities: Whether to write the probability of the class at each node.
            title: Title above the picture.
            **options: Options of :func:`~graphsent.graphs.draw_tree`.

        Raises:
            DataError: ``path`` has another suffix, or the sentence has no words.
            ImportError: matplotlib is not installed.
        """
        tree = self._drawable()
        if probabilities:
            most = self.probabilities.max(axis=1).tolist()
            options["probabilities"] = most + [None] * (tree.num_nodes - len(most))
        options.setdefault("classes", self.label_names)
        options.setdefault("ordered_classes", self.ordered_classes)
        return draw_tree(tree, title=title, path=path, **options)

    def _drawable(self) -> Tree | DependencyTree:
        """The tree with predicted classes; a sentence becomes a root over its words."""
        tree = self.to_tree()
        if not isinstance(tree, Sentence):
            return tree
        if not tree.words:
            raise DataError("the sentence has no words: there is no tree to draw or convert")
        words: list[str | None] = list(tree.words)
        labels, parents = [tree.label, *[""] * len(words)], [-1, *[0] * len(words)]
        return Tree(labels, [None, *words], parents)

    def _repr_svg_(self) -> str | None:
        """The picture of :meth:`draw`; None without matplotlib or if there are no words."""
        if not self.tree.words:
            return None
        try:
            return import_canvas().svg_of(self.draw())
        except ImportError:
            return None

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{probability:.3f}</td></tr>"
            for name, probability in self.ranked
        )
        svg = self._repr_svg_() or html.escape(" ".join(self.tree.words))
        return f"<table>{cells}</table>{svg[max(0, svg.find('<svg')) :]}"

    def __repr__(self) -> str:
        text = " ".join(self.tree.words)
        return f"Prediction({self.root_name!r}, {self.root_probability:.3f}, {text!r})"
