"""Evaluation of a model on a split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch

from graphsent.models import Model
from graphsent.models.base.inference import evaluating
from graphsent.shards import ShardedExamples
from graphsent.tasks import Task

__all__ = ["evaluate"]


class Report(Protocol):
    """What looks at the outputs of a model, such as :class:`~graphsent.tasks.ClassReport`."""

    def update(self, outputs: torch.Tensor, batch: Any, /) -> None:
        """Adds a batch: what the model gave, and what its ``collate`` gave."""
        ...


def evaluate(
    model: Model,
    task: Task,
    examples: Sequence[Any],
    batch_size: int = 256,
    *,
    report: Report | None = None,
) -> dict[str, float]:
    """The task's metrics of a model, by name, as fractions of one where they are accuracies.

    Args:
        model: Any model whose ``collate`` reads the examples; left in the mode it was in.
        task: Gives the metrics.
        examples: One split.
        batch_size: How many examples are computed at once.
        report: Is given the same outputs.
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
    # The metric that counts comes first.
    return {name: values[name] for name in dict.fromkeys((task.selection_metric, *values))}
