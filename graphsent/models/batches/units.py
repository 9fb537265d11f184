"""The units of a batch: what is classified or scored, of which some may be unlabelled."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["examples_of", "is_labelled"]


def is_labelled(gold: torch.Tensor) -> torch.Tensor:
    """Mask of the labelled units, with a class other than -1 or a score other than NaN."""
    return ~torch.isnan(gold) if gold.is_floating_point() else gold >= 0


def examples_of(batch: Any, *, phrases: bool) -> Any:
    """The batch with the units that are examples: the sentences, and optionally labelled phrases.

    Args:
        batch: Has ``gold``, see :func:`is_labelled`; ``roots``, the units of the sentences; and
            ``of_units``.
        phrases: Whether labelled phrases are examples.
    """
    gold = batch.gold
    chosen = is_labelled(gold) if phrases else torch.zeros_like(gold, dtype=torch.bool)
    chosen[batch.roots] = True
    return batch.of_units(chosen)
