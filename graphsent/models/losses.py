"""Losses that several models share."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from graphsent.errors import ModelError

__all__ = ["classification_loss"]

_UNLABELLED = -1


def classification_loss(logits: torch.Tensor, batch: Any, nodes: str = "all") -> torch.Tensor:
    r"""Cross-entropy of labelled units, a mean over sentences of sums over their units.

    .. math::
        J = -\frac{1}{B} \sum_{t\,:\,y_t \ge 0} \log \mathrm{softmax}(z_t)_{y_t}

    The division is by the number B of sentences, not of units, as in the code of Tai et al. 2015.

    Args:
        logits: (num_units, num_classes).
        batch: Has ``labels`` (num_units,) int64, -1 where unlabelled, and ``roots`` (batch_size,).
        nodes: ``"all"`` units, or only the ``"root"`` ones, which are the sentences.

    Raises:
        ModelError: ``nodes`` is neither.
    """
    if nodes not in ("all", "root"):
        raise ModelError(f"unknown nodes={nodes!r}: expected 'all' or 'root'")
    labels = batch.labels
    if nodes == "root":
        logits, labels = logits[batch.roots], labels[batch.roots]
    # As one image of units: torch's softmax is several times as fast along columns as along rows
    # that are as short as these.
    logits, labels = logits.t().unsqueeze(0), labels.unsqueeze(0)
    total = functional.cross_entropy(logits, labels, ignore_index=_UNLABELLED, reduction="sum")
    return total / len(batch.roots)
