"""Classification report: per-class metrics, confusion matrix and misclassified examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torchmetrics import MetricCollection
from torchmetrics.classification import (
    MulticlassConfusionMatrix,
    MulticlassF1Score,
    MulticlassPrecision,
    MulticlassRecall,
)

from graphsent.tasks.targets import targets

__all__ = ["ClassFigures", "ClassReport", "Mistake"]


class ClassFigures(NamedTuple):
    """Precision, recall and F1 of one class.

    Attributes:
        name: Name of the class.
        precision: Share of the predictions of the class that are correct.
        recall: Share of the examples of the class that are predicted as such.
        f1: Harmonic mean of precision and recall.
        count: Number of examples of the class.
    """

    name: str
    precision: float
    recall: float
    f1: float
    count: int  # type: ignore[assignment]  # a method of tuples


class Mistake(NamedTuple):
    """A misclassified example.

    Attributes:
        index: Its number in the split, from 0.
        gold: Name of the gold class.
        predicted: Name of the predicted class.
        probability: Probability of the predicted class.
    """

    index: int  # type: ignore[assignment]  # a method of tuples
    gold: str
    predicted: str
    probability: float


class ClassReport:
    """A model's results on the labelled sentences (or pairs) of a split, class by class.

    Args:
        label_names: Names of all classes of the task.
        judged: The class indices that compete, see :attr:`graphsent.tasks.Task.judged`.
    """

    def __init__(self, label_names: Sequence[str], judged: Sequence[int]) -> None:
        self.names = tuple(label_names[index] for index in judged)
        self._judged = list(judged)
        self._gold: list[torch.Tensor] = []
        self._probabilities: list[torch.Tensor] = []

    def update(self, logits: torch.Tensor, batch: Any) -> None:
        """Adds a batch of examples, in order.

        Args:
            logits: (num_units, num_classes).
            batch: Has ``gold``, (num_units,) int64, -1 for unlabelled units, and ``roots``.
        """
        self._gold.append(targets(batch.gold[batch.roots], self._judged).cpu())
        probabilities = torch.softmax(logits[batch.roots][:, self._judged].float(), 1)
        self._probabilities.append(probabilities.cpu())

    @property
    def confusion(self) -> list[list[int]]:
        """How often each class (row) is predicted as each class (column)."""
        matrix = MulticlassConfusionMatrix(len(self.names), ignore_index=-1)
        return matrix(self._predicted, self._all_gold).tolist()

    @property
    def classes(self) -> list[ClassFigures]:
        """Precision, recall and F1 of each class; 0 where undefined."""
        options: dict[str, Any] = {"average": None, "ignore_index": -1}
        kinds = (MulticlassPrecision, MulticlassRecall, MulticlassF1Score)
        metrics = MetricCollection([kind(len(self.names), **options) for kind in kinds])
        found = metrics(self._predicted, self._all_gold)
        columns = [found[kind.__name__].tolist() for kind in kinds]
        counts = [sum(row) for row in self.confusion]
        return [ClassFigures(*row) for row in zip(self.names, *columns, counts, strict=True)]

    def mistakes(self) -> list[Mistake]:
        """The misclassified examples, in order of decreasing confidence."""
        gold, predicted = self._all_gold, self._predicted
        surest = torch.cat(self._probabilities).max(1).values
        (wrong,) = torch.nonzero((gold >= 0) & (gold != predicted), as_tuple=True)
        order = wrong[torch.argsort(surest[wrong], descending=True, stable=True)]
        return [
            Mistake(i, self.names[gold[i]], self.names[predicted[i]], float(surest[i]))
            for i in order.tolist()
        ]

    @property
    def _all_gold(self) -> torch.Tensor:
        return torch.cat(self._gold)

    @property
    def _predicted(self) -> torch.Tensor:
        return torch.cat(self._probabilities).argmax(1)
