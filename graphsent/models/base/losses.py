"""Losses shared by several models."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from graphsent._names import check_choice
from graphsent.errors import ModelError
from graphsent.models.batches.units import is_labelled

__all__ = ["classification_loss", "regression_loss"]

_UNLABELLED = -1


def classification_loss(
    logits: torch.Tensor,
    batch: Any,
    nodes: str = "all",
    class_weights: torch.Tensor | None = None,
) -> torch.Tensor:
    r"""Cross-entropy of labelled units, summed over units and averaged over sentences.

    .. math::
        J = -\frac{1}{B} \sum_{t\,:\,y_t \ge 0} w_{y_t} \log \mathrm{softmax}(z_t)_{y_t}

    The divisor is the number B of sentences, not of units, as in the code of Tai et al. 2015.
    Without sentences, the loss is 0.

    Args:
        logits: (num_units, num_classes).
        batch: Has ``gold`` (num_units,) int64, -1 if unlabelled, and ``roots`` (batch_size,).
        nodes: ``"all"`` units, or only the ``"root"`` units, which are the sentences.
        class_weights: w, (num_classes,); all 1 by default.

    Raises:
        ModelError: ``nodes`` is neither.
    """
    logits, gold = _units(logits, batch, nodes)
    # Laid out as one image of units: for so few classes, torch's softmax is several times faster
    # along columns than along rows.
    logits, gold = logits.t().unsqueeze(0), gold.unsqueeze(0)
    weights = None if class_weights is None else class_weights.to(logits)
    total = functional.cross_entropy(
        logits, gold, weights, ignore_index=_UNLABELLED, reduction="sum"
    )
    return total / max(1, len(batch.roots))


def regression_loss(
    scores: torch.Tensor, batch: Any, nodes: str = "all", *, deviation: torch.Tensor
) -> torch.Tensor:
    r"""Squared error of standardized scores, summed over units and averaged over sentences.

    .. math::
        J = \frac{1}{B} \sum_t \left(\frac{\hat y_t - y_t}{\sigma}\right)^2

    Without sentences, the loss is 0.

    Args:
        scores: (num_units, 1).
        batch: Has ``gold`` (num_units,), NaN if unknown, and ``roots`` (batch_size,).
        nodes: ``"all"`` units, or only the ``"root"`` units, which are the sentences.
        deviation: :math:`\sigma`, the standard deviation of the training scores, from
            :class:`~graphsent.models.heads.scores.ScoreOutput`.

    Raises:
        ModelError: ``nodes`` is neither.
    """
    scores, gold = _units(scores, batch, nodes)
    known = is_labelled(gold)
    errors = (scores[known, 0] - gold[known]) / deviation
    return errors.square().sum() / max(1, len(batch.roots))


def _units(outputs: torch.Tensor, batch: Any, nodes: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Outputs and gold values of all units of a batch, or of the root units."""
    check_choice("nodes", nodes, ("all", "root"), ModelError)
    if nodes == "all":
        return outputs, batch.gold
    return outputs[batch.roots], batch.gold[batch.roots]
