"""How well scores of sentence pairs agree with those that people gave."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torchmetrics import MetricCollection
from torchmetrics.regression import MeanSquaredError, PearsonCorrCoef, SpearmanCorrCoef

from graphsent.layers import expected_score

__all__ = ["RelatednessMetrics"]


class RelatednessMetrics(MetricCollection):
    """``pearson``, ``spearman`` and ``mse`` of the scores of a whole split.

    They are computed in double precision over all pairs with a gold score. A correlation that is
    not defined, because all scores are the same, counts as 0.
    """

    def __init__(self) -> None:
        with warnings.catch_warnings():
            # That Spearman's keeps all scores, as it must.
            warnings.filterwarnings("ignore", "Metric `Spearman", UserWarning)
            metrics = {
                "pearson": PearsonCorrCoef(),
                "spearman": SpearmanCorrCoef(),
                "mse": MeanSquaredError(),
            }
        super().__init__(metrics, compute_groups=False)
        self.set_dtype(torch.float64)

    def update(self, logits: torch.Tensor, batch: Any) -> None:
        """Adds a batch.

        Args:
            logits: Of the scores 1, 2, ..., (batch_size, num_classes).
            batch: Has ``labels``, the gold scores, (batch_size,), nan where not known.
        """
        known = ~torch.isnan(batch.labels)
        scores = expected_score(logits[known].double())
        super().update(scores, batch.labels[known].double())

    def compute(self) -> dict[str, torch.Tensor]:
        """The figures by name."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The variance of predictions", UserWarning)
            figures = super().compute()
        return {
            name: value if name == "mse" else torch.nan_to_num(value)
            for name, value in figures.items()
        }
