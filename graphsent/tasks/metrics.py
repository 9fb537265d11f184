"""Accuracy and F1: of whole sentences, and of all labelled phrases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torchmetrics import Metric, MetricCollection
from torchmetrics.classification import MulticlassAccuracy, MulticlassF1Score

from graphsent.errors import DataError
from graphsent.tasks.targets import UNLABELLED, predictions

__all__ = [
    "PhraseAccuracy",
    "RootAccuracy",
    "RootF1",
    "sentence_metrics",
    "tree_metrics",
]


class PhraseAccuracy(MulticlassAccuracy):
    """Share of the labelled units (nodes, including words and roots) that are classified correctly.

    It counts units over all updates, so that batches are weighted by size.

    Args:
        classes: The classes that compete, as columns of the logits. Units of other classes are left
            out, and the prediction is the best of these classes: with the classes 0 (negative) and
            2 (positive) of a three-class model, this is the binary evaluation of Tai et al. 2015.
        **kwargs: Options of ``torchmetrics.Metric``.
    """

    def __init__(self, classes: Sequence[int], **kwargs: Any) -> None:
        super().__init__(len(classes), average="micro", ignore_index=UNLABELLED, **kwargs)
        self._classes = list(classes)

    def update(self, logits: torch.Tensor, batch: Any) -> None:
        """Adds a batch.

        Args:
            logits: (num_units, num_classes).
            batch: What the model's ``collate`` returned; its ``gold`` is (num_units,) int64, -1
                for units without a label.
        """
        self._add(logits, batch.gold)

    def compute(self) -> torch.Tensor:
        """The share, ().

        Raises:
            DataError: No unit has a label.
        """
        right: Any = self.tp
        if not right + self.fn:
            raise DataError("there is nothing to evaluate: no example has a gold label")
        return super().compute()

    def _add(self, logits: torch.Tensor, gold: torch.Tensor) -> None:
        super().update(*predictions(logits, gold, self._classes))


class RootAccuracy(PhraseAccuracy):
    """Share of the labelled sentences that are classified correctly; see PhraseAccuracy."""

    def update(self, logits: torch.Tensor, batch: Any) -> None:
        """Adds the sentences of a batch: the units at its ``roots``, (batch_size,) int64."""
        self._add(logits[batch.roots], batch.gold[batch.roots])


class RootF1(MulticlassF1Score):
    """Macro-averaged F1 over labelled sentences; see PhraseAccuracy.

    The mean is over the classes that occur as a gold or predicted class.
    """

    def __init__(self, classes: Sequence[int], **kwargs: Any) -> None:
        super().__init__(len(classes), average="macro", ignore_index=UNLABELLED, **kwargs)
        self._classes = list(classes)

    def update(self, logits: torch.Tensor, batch: Any) -> None:
        """Adds the sentences of a batch: the units at its ``roots``, (batch_size,) int64."""
        roots = batch.roots
        super().update(*predictions(logits[roots], batch.gold[roots], self._classes))


def sentence_metrics(classes: Sequence[int]) -> MetricCollection:
    """``accuracy`` and ``macro_f1`` of sentences over the given classes."""
    metrics: dict[str, Metric | MetricCollection] = {
        "accuracy": RootAccuracy(classes),
        "macro_f1": RootF1(classes),
    }
    return MetricCollection(metrics, compute_groups=False)


def tree_metrics(classes: Sequence[int]) -> MetricCollection:
    """``root_accuracy`` and ``phrase_accuracy`` over the given classes."""
    # Compute groups would merge the two for good if they agreed on the first batch.
    metrics: dict[str, Metric | MetricCollection] = {
        "root_accuracy": RootAccuracy(classes),
        "phrase_accuracy": PhraseAccuracy(classes),
    }
    return MetricCollection(metrics, compute_groups=False)
