"""Weights of the classes in the loss."""

from __future__ import annotations

import torch

from graphsent.training.errors import TrainingError
from graphsent.training.options import TrainingOptions

__all__ = ["balanced_weights", "check_class_weights"]


def check_class_weights(goal: str, options: TrainingOptions) -> None:
    """Raises a TrainingError if there are no classes to be weighted."""
    if options.class_weights != "none" and goal != "classification":
        raise TrainingError(f"class_weights: expected 'none' for a task whose goal is {goal}")


def balanced_weights(counts: torch.Tensor) -> torch.Tensor:
    r"""The weights with which all classes have the same share in the loss.

    .. math::
        w_c = \frac{N}{K N_c}

    for :math:`N = \sum_c N_c` units of K classes that occur. The mean weight of a unit is 1.

    Args:
        counts: (num_classes,) int64, the number :math:`N_c` of units of each class.

    Returns:
        (num_classes,) float32, 0 for a class without units.
    """
    weights = counts.sum() / (counts.count_nonzero() * counts)
    return weights.where(counts > 0, 0.0).float()
