"""Correlation and error of predicted scores of sentences or pairs."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torchmetrics import Metric, MetricCollection
from torchmetrics.functional.regression import pearson_corrcoef
from torchmetrics.regression import MeanSquaredError, PearsonCorrCoef, SpearmanCorrCoef
from torchmetrics.utilities.data import dim_zero_cat

from graphsent.errors import DataError
from graphsent.models.batches.units import is_labelled
from graphsent.models.heads.scores import scores_of

__all__ = ["ScoreMetrics"]


class _SquaredError(MeanSquaredError):
    """The first of the metrics to be computed; it raises a DataError without gold scores."""

    def compute(self) -> torch.Tensor:
        if not self.total:
            raise DataError("there is nothing to evaluate: no example has a gold score")
        return super().compute()


class _RankCorrelation(SpearmanCorrCoef):
    """Spearman's, with ranks in double precision; those of torchmetrics overflow for many ties."""

    def compute(self) -> torch.Tensor:
        scores, gold = (_ranks(dim_zero_cat(part)) for part in (self.preds, self.target))
        return pearson_corrcoef(scores, gold)


def _ranks(numbers: torch.Tensor) -> torch.Tensor:
    """The rank of each number, from 1, (count,) float64; equal ones share the mean of theirs."""
    _, group, sizes = torch.unique(numbers, return_inverse=True, return_counts=True)
    return (sizes.cumsum(0) - (sizes - 1).double() / 2)[group]


class ScoreMetrics(MetricCollection):
    """``pearson``, ``spearman`` and ``mse`` of the scores of a whole split.

    They are computed in double precision over all sentences or pairs with a gold score. A
    correlation that is undefined, because all scores are equal, counts as 0.
    """

    def __init__(self) -> None:
        with warnings.catch_warnings():
            # That Spearman's metric keeps all scores, as it must.
            warnings.filterwarnings("ignore", "Metric `Spearman", UserWarning)
            metrics: dict[str, Metric | MetricCollection] = {
                "pearson": PearsonCorrCoef(),
                "spearman": _RankCorrelation(),
                "mse": _SquaredError(),
            }
        super().__init__(metrics, compute_groups=False)
        self.set_dtype(torch.float64)

    def update(  # type: ignore[override]  # like that of any metric, overrides ModuleDict's
        self, outputs: torch.Tensor, batch: Any
    ) -> None:
        """Adds the sentences or pairs of a batch.

        Args:
            outputs: One per unit, see :func:`~graphsent.models.heads.scores.scores_of`.
            batch: Has ``gold``, the scores, (num_units,), nan where unknown, and ``roots``,
                the units of the sentences or pairs, (batch_size,) int64.
        """
        roots = batch.roots[is_labelled(batch.gold[batch.roots])]
        if not len(roots):  # a batch of them may have no gold score at all
            return
        super().update(scores_of(outputs[roots].double()), batch.gold[roots].double())

    def compute(self) -> dict[str, torch.Tensor]:
        """The metrics by name.

        Raises:
            DataError: No sentence or pair has a gold score.
        """
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The variance of predictions", UserWarning)
            figures = super().compute()
        return {
            name: value if name == "mse" else torch.nan_to_num(value)
            for name, value in figures.items()
        }
