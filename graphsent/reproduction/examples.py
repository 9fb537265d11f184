"""A model's results on each test example, stored so that two models can be compared pairwise.

The stored values are chosen such that a metric is a function of sums over the examples, and so can
be computed for any sample of them:

============== ============================================ =====================================
goal           columns                                      metric
============== ============================================ =====================================
classification ``right``, 0 or 1                            accuracy, its mean
regression     ``predicted``, ``gold``, in thousandths      Pearson's r
ranking        brackets ``matched``, ``predicted``, ``gold``  F1, 2 matched / (predicted + gold)
============== ============================================ =====================================
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from graphsent.errors import DataError
from graphsent.models.heads.scores import scores_of
from graphsent.tasks import Task
from graphsent.tasks.targets import predictions

__all__ = ["COLUMNS", "Examples", "addends", "metric_of", "metric_of_examples", "pack", "unpack"]

COLUMNS = {
    "classification": ("right",),
    "regression": ("predicted", "gold"),
    "ranking": ("matched", "predicted", "gold"),
}
_SCALE = 1000  # of scores, which are stored as integers


class Examples:
    """Collects results per example from the batches of a split; the ``report`` of ``evaluate``.

    Args:
        task: The task evaluated.
    """

    def __init__(self, task: Task) -> None:
        self.columns = COLUMNS[task.goal]
        self._judged = list(task.judged) if task.goal == "classification" else []
        self._rows: list[torch.Tensor] = []
        self._of_batch = getattr(self, f"_{task.goal}")

    @property
    def values(self) -> np.ndarray:
        """(num_examples, num_columns) int64."""
        return torch.cat(self._rows).numpy()

    def update(self, outputs: torch.Tensor, batch: Any) -> None:
        """Adds the examples of a batch, in order; those without a label are skipped.

        Args:
            outputs: Outputs of the model.
            batch: The batch from its ``collate``.
        """
        self._rows.append(self._of_batch(outputs, batch).round().long().cpu())

    def _classification(self, logits: torch.Tensor, batch: Any) -> torch.Tensor:
        roots = batch.roots
        predicted, gold = predictions(logits[roots], batch.gold[roots], self._judged)
        return (predicted == gold)[gold >= 0].float()[:, None]

    def _regression(self, outputs: torch.Tensor, batch: Any) -> torch.Tensor:
        roots = batch.roots[~batch.gold[batch.roots].isnan()]
        both = (scores_of(outputs[roots].double()), batch.gold[roots].double())
        return _SCALE * torch.stack(both, 1)

    def _ranking(self, scores: torch.Tensor, batch: Any) -> torch.Tensor:
        chosen = [
            first + int(scores[first:last].argmax())
            for (first, last), gold in zip(batch.candidates, batch.gold.tolist(), strict=True)
            if gold >= 0
        ]
        return batch.counts[chosen].float()


def addends(columns: tuple[str, ...], values: np.ndarray) -> np.ndarray:
    """The terms of each example whose sums :func:`metric_of` takes, (num_examples, k) float64."""
    values = values.astype(np.float64)
    if columns != COLUMNS["regression"]:
        return values
    x, y = values.T / _SCALE
    return np.stack((np.ones_like(x), x, y, x * x, y * y, x * y), 1)


def metric_of(columns: tuple[str, ...], sums: np.ndarray, number: int) -> np.ndarray:
    """The metric over some examples.

    Args:
        columns: Columns of their values.
        sums: (..., k), sums of their :func:`addends`.
        number: Number of examples.

    Returns:
        (...) float64: accuracy, Pearson's r or F1.
    """
    if columns == COLUMNS["classification"]:
        return sums[..., 0] / number
    if columns == COLUMNS["ranking"]:
        matched, predicted, gold = np.moveaxis(sums, -1, 0)
        return 2 * matched / np.maximum(predicted + gold, 1)
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    variances = np.maximum((n * xx - x * x) * (n * yy - y * y), 0)
    return np.divide(n * xy - x * y, np.sqrt(variances), where=variances > 0, out=np.zeros_like(x))


def metric_of_examples(packed: Mapping[str, Any]) -> float:
    """The metric over all stored examples of a run.

    Raises:
        DataError: As in :func:`unpack`.
    """
    columns, values = unpack(packed)
    return float(metric_of(columns, addends(columns, values).sum(0), len(values)))


def pack(columns: tuple[str, ...], values: np.ndarray) -> dict[str, Any]:
    """Encodes the values for JSON: row-major little-endian int32, zlib-compressed, in Base64."""
    data = zlib.compress(np.ascontiguousarray(values, dtype="<i4").tobytes(), 9)
    return {
        "columns": list(columns),
        "number": len(values),
        "values": base64.b64encode(data).decode(),
    }


def unpack(packed: Mapping[str, Any]) -> tuple[tuple[str, ...], np.ndarray]:
    """Inverse of :func:`pack`.

    Raises:
        DataError: The content is malformed.
    """
    try:
        columns = tuple(packed["columns"])
        if columns not in COLUMNS.values():
            raise ValueError(f"unknown columns {packed['columns']!r}")
        data = zlib.decompress(base64.b64decode(packed["values"], validate=True))
        values = np.frombuffer(data, "<i4").reshape(packed["number"], len(columns))
    except (KeyError, TypeError, ValueError, zlib.error) as error:
        raise DataError(f"expected the values of test examples: {error}") from None
    return columns, values.astype(np.int64)
