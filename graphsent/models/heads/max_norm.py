"""Weights whose norm is bounded."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["limit_row_norms"]


def limit_row_norms(weight: Tensor, limit: float) -> None:
    """Scales longer rows of a matrix to a norm of ``limit``, in place; 0 leaves all as they are.

    After each step of training with dropout this is the constraint of Hinton et al. 2012
    (*Improving neural networks by preventing co-adaptation of feature detectors*), with a class for
    each row.
    """
    if limit:
        with torch.no_grad():
            norms = torch.linalg.vector_norm(weight, dim=1, keepdim=True)
            weight.mul_(limit / norms.clamp(min=limit))
