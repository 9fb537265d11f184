"""Initial values of parameters."""

from __future__ import annotations

import math

from torch import Tensor, nn


def uniform_(*maps: nn.Linear, num_states: int = 1) -> None:
    """Draws weights from U(-1 / sqrt(n), 1 / sqrt(n)), n their columns; sets biases to zero.

    Args:
        *maps: Linear maps.
        num_states: Number of states whose columns are side by side; n counts those of one.
    """
    for linear in maps:
        bound = 1 / math.sqrt(linear.in_features // num_states)
        nn.init.uniform_(linear.weight, -bound, bound)
        if linear.bias is not None:
            nn.init.zeros_(linear.bias)


def glorot_(*tensors: Tensor, num_gates: int = 1, num_states: int = 1) -> None:
    """Draws from U(-sqrt(6 / n), sqrt(6 / n)), n the sum of a matrix's dimensions.

    Args:
        *tensors: Biases, or weights in which each gate has a matrix for each state.
        num_gates: Number of gates, whose rows are one below the other.
        num_states: Number of states, whose columns are side by side.
    """
    for tensor in tensors:
        sizes = zip(tensor.shape, (num_gates, num_states), strict=False)
        bound = math.sqrt(6 / sum(size // parts for size, parts in sizes))
        nn.init.uniform_(tensor, -bound, bound)
