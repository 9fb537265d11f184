"""Metrics of the parses chosen from n-best lists."""

from __future__ import annotations

from typing import Any

import torch
from torchmetrics import Metric

from graphsent.errors import DataError

__all__ = ["RerankMetrics"]

_CHOICES = ("", "one_best_", "oracle_", "worst_")


class RerankMetrics(Metric):
    """Labelled F1 of the chosen parses, over the brackets of all sentences.

    ``f1``, ``precision`` and ``recall`` are of the chosen parses; ``one_best_f1`` of the candidates
    with the parser's highest score, ``oracle_f1`` and ``worst_f1`` of the candidates with the
    highest and lowest F1 of each list. Sentences without a gold tree are left out.
    """

    full_state_update = False
    brackets: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        zeros = torch.zeros(len(_CHOICES), 3, dtype=torch.int64)
        self.add_state("brackets", zeros, dist_reduce_fx="sum")

    def update(self, outputs: torch.Tensor, batch: Any) -> None:
        """Adds the lists of a batch.

        Args:
            outputs: (num_trees,), the score of each tree.
            batch: See :class:`~graphsent.models.RerankBatch`.
        """
        counts, base = batch.counts, batch.base
        f1 = 2 * counts[:, 0] / (counts[:, 1] + counts[:, 2]).clamp(min=1)
        for candidates, gold in zip(batch.candidates, batch.gold.tolist(), strict=True):
            if gold < 0:
                continue
            rows = slice(*candidates)
            places = [values[rows].argmax() + candidates[0] for values in (outputs, base, f1, -f1)]
            self.brackets += counts[torch.stack(places)]

    def compute(self) -> dict[str, torch.Tensor]:
        """The metrics by name.

        Raises:
            DataError: No list has a gold tree.
        """
        if not self.brackets.any():
            raise DataError("there is nothing to evaluate: no example has a gold tree")
        matched, predicted, gold = self.brackets.double().unbind(1)
        f1 = 2 * matched / (predicted + gold).clamp(min=1)
        figures = {f"{choice}f1": value for choice, value in zip(_CHOICES, f1, strict=True)}
        precision, recall = (
            matched[0] / predicted[0].clamp(min=1),
            matched[0] / gold[0].clamp(min=1),
        )
        return {**figures, "precision": precision, "recall": recall}
