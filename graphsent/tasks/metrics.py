"""Accuracies of tree models: of whole sentences, and of all labelled phrases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torchmetrics import MetricCollection
from torchmetrics.classification import MulticlassAccuracy

__all__ = ["PhraseAccuracy", "RootAccuracy", "tree_metrics"]

_UNLABELLED = -1


class PhraseAccuracy(MulticlassAccuracy):
    """Share of the labelled units (nodes, words and roots among them) that are classified right.

    It counts examples over all updates, so that uneven batches weigh what they hold.

    Args:
        classes: The classes that compete, as columns of the logits. Units of other classes are left
            out, and the prediction is the best of these alone: with the classes 0 (negative) and 2
            (positive) of a three-class model this is how Tai et al. 2015 judge binary sentiment.
    """

    def __init__(self, classes: Sequence[int], **kwargs: Any) -> None:
        super().__init__(len(classes), average="micro", ignore_index=_UNLABELLED, **kwargs)
        self._classes = list(classes)

    def update(self, logits: torch.Tensor, batch: Any) -> None:
        """Adds a batch.

        Args:
            logits: (num_units, num_classes).
            batch: What the model's ``collate`` gave; its ``labels`` are (num_units,) int64, -1 at
                units without a label.
        """
        self._add(logits, batch.labels)

    def _add(self, logits: torch.Tensor, labels: torch.Tensor) -> None:
        among = labels[:, None] == torch.tensor(self._classes, device=labels.device)
        target = among.int().argmax(dim=1).masked_fill(~among.any(dim=1), _UNLABELLED)
        super().update(logits[:, self._classes].argmax(dim=1), target)


class RootAccuracy(PhraseAccuracy):
    """Share of the labelled sentences that are classified right; arguments as PhraseAccuracy."""

    def update(self, logits: torch.Tensor, batch: Any) -> None:
        """Adds the sentences of a batch: the units at its ``roots``, (batch_size,) int64."""
        self._add(logits[batch.roots], batch.labels[batch.roots])


def tree_metrics(classes: Sequence[int]) -> MetricCollection:
    """``root_accuracy`` and ``phrase_accuracy`` over the given classes."""
    # Compute groups would merge the two for good if they agree on the first batch.
    metrics = {"root_accuracy": RootAccuracy(classes), "phrase_accuracy": PhraseAccuracy(classes)}
    return MetricCollection(metrics, compute_groups=False)
