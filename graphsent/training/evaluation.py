"""Evaluation of a model on a split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import torch

from graphsent.models import Model
from graphsent.models.base.inference import evaluating
from graphsent.shards import ShardedExamples
from graphsent.tasks import Task, TaskData
from graphsent.training.devices import cpu_by_default
from graphsent.training.selection import Selection

__all__ = ["as_predicted", "evaluate"]


class Report(Protocol):
    """A consumer of model outputs, such as :class:`~graphsent.tasks.class_report.ClassReport`."""

    def update(self, outputs: torch.Tensor, batch: Any, /) -> None:
        """Adds the outputs of the model for a batch, and the batch."""
        ...


def as_predicted(data: TaskData, model: Model) -> TaskData:
    """Own data with the words that the model would read in predictions.

    If train holds trees, its words may be escaped as in the Penn Treebank, and those of dev or test
    in raw text are not. The words of train are those that the model knows.
    """
    splits = {
        split: examples if split == "train" else list(map(model.as_tokenized, examples))
        for split, examples in data.splits.items()
    }
    return replace(data, splits=splits)


@cpu_by_default()
def evaluate(
    model: Model,
    task: Task,
    examples: Sequence[Any],
    batch_size: int = 256,
    *,
    report: Report | None = None,
) -> dict[str, float]:
    """Computes the metrics of a model on a split, by name; accuracies are fractions.

    Args:
        model: Any model whose ``collate`` accepts the examples; its training mode is restored.
        task: The task, which defines the metrics.
        examples: The examples of the split.
        batch_size: Number of examples per batch.
        report: Receives the same outputs.
    """
    if isinstance(examples, ShardedExamples):
        examples.number_words(model.vocab)
    device = next(model.parameters()).device
    metrics = task.metrics().to(device)
    with evaluating(model) as still:
        for begin in range(0, len(examples), batch_size):
            batch = model.collate(examples[begin : begin + batch_size]).to(device)
            outputs = still(batch)
            metrics.update(outputs, batch)
            if report is not None:
                report.update(outputs, batch)
    values = {name: float(value) for name, value in metrics.compute().items()}
    return Selection(task.selection_metric).first(values)
