"""Gold and predicted classes among those that compete."""

from __future__ import annotations

from collections.abc import Sequence

import torch

__all__ = ["UNLABELLED", "predictions", "targets"]

UNLABELLED = -1


def targets(gold: torch.Tensor, classes: Sequence[int]) -> torch.Tensor:
    """The gold class of each unit as an index into ``classes``, or -1; both (num_units,) int64."""
    among = gold[:, None] == torch.tensor(classes, device=gold.device)
    return among.int().argmax(dim=1).masked_fill(~among.any(dim=1), UNLABELLED)


def predictions(
    logits: torch.Tensor, gold: torch.Tensor, classes: Sequence[int]
) -> tuple[torch.Tensor, torch.Tensor]:
    """The predicted and the gold class of each unit, as in :func:`targets`."""
    return logits[:, classes].argmax(dim=1), targets(gold, classes)
