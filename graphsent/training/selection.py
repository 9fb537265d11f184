"""Selection of the best epoch by a metric on dev."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from graphsent._names import unknown
from graphsent.tasks import Task
from graphsent.training.errors import TrainingError
from graphsent.training.options import OF_TASK

__all__ = ["Selection", "selection_of"]


class Selection(NamedTuple):
    """How the best epoch is selected.

    Attributes:
        metric: Name of a metric of the task.
        is_lower_better: Whether the best epoch is the one with the lowest figure, not the highest.
    """

    metric: str
    is_lower_better: bool = False

    def best(self, history: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """The entry of the best epoch, the first of ties."""
        sign = -1 if self.is_lower_better else 1
        return max(history, key=lambda entry: sign * entry[f"dev_{self.metric}"])

    def first(self, figures: Mapping[str, float]) -> dict[str, float]:
        """Figures by name, that of the metric before all others."""
        return {name: figures[name] for name in dict.fromkeys((self.metric, *figures))}


def selection_of(task: Task, name: str) -> Selection:
    """The selection by a metric of a task.

    Args:
        task: The task, with its labels.
        name: Name of the metric, or ``OF_TASK`` for the task's own choice.

    Raises:
        TrainingError: The task has no such metric, or it is unknown which figures are better.
    """
    own = task.selection_metric
    if name in (OF_TASK, own):
        return Selection(own)
    from torchmetrics import MetricCollection

    metrics = task.metrics()
    known = dict(metrics.items()) if isinstance(metrics, MetricCollection) else {}
    # It is None for a correlation, of which -1 is as strong as 1; as a task's own it is fine.
    higher = {each: metric.higher_is_better for each, metric in known.items()}
    valid = [own, *(each for each in higher if each != own and higher[each] is not None)]
    if name not in valid:
        raise TrainingError(f"select: {unknown('metric', name, [OF_TASK, *valid])}")
    return Selection(name, is_lower_better=not higher[name])
