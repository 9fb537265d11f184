"""Checks scores, the numbers that regression predicts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphsent._numbers import decimal
from graphsent.errors import DataError
from graphsent.pairs import TreePair
from graphsent.tasks.parses import root_label

__all__ = ["check_scores"]

_CORRELATIONS = ("pearson", "spearman")
_WHY = {
    "train": "there is nothing to learn",
    "dev": "no epoch is the best, as their correlation with predictions is undefined",
}


def check_scores(split: str, examples: Iterable[Any], selection_metric: str) -> None:
    """Checks that scores can be learned from train, or that the best epoch can be selected on dev.

    Args:
        split: ``"train"`` or ``"dev"``.
        examples: Its examples; those without a score are ignored.
        selection_metric: The metric by which the best epoch is selected on dev.

    Raises:
        DataError: All scores are equal.
    """
    if split == "dev" and selection_metric not in _CORRELATIONS:
        return
    scores = (score for example in examples if (score := _score(example)) is not None)
    first = next(scores, None)
    if first is not None and all(score == first for score in scores):
        raise DataError(f"{split}: all scores are {first:g}: expected several: {_WHY[split]}")


def _score(example: Any) -> float | None:
    return example.score if isinstance(example, TreePair) else decimal(root_label(example))
