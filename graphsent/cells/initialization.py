"""Initial values of parameters."""

from __future__ import annotations

import math

from torch import Tensor, nn


def uniform_(*maps: nn.Linear, num_blocks: int = 1) -> None:
    """Draws weights from U(-1 / sqrt(n), 1 / sqrt(n)), n their columns; sets biases to zero.

    Args:
        *maps: linear maps.
        num_blocks: number of blocks side by side in each weight; n counts the columns of one.
    """
    for linear in maps:
        bound = 1 / math.sqrt(linear.in_features // num_blocks)
        nn.init.uniform_(linear.weight, -bound, bound)
        if linear.bias is not None:
            nn.init.zeros_(linear.bias)


def glorot_(*tensors: Tensor, num_blocks: tuple[int, int] = (1, 1)) -> None:
    """Draws from U(-sqrt(6 / n), sqrt(6 / n)), n the sum of a matrix's dimensions.

    Args:
        *tensors: matrices made of blocks, each initialized as a matrix by itself, or biases.
        num_blocks: numbers of blocks from top to bottom and from left to right.
    """
    for tensor in tensors:
        sizes = [size // blocks for size, blocks in zip(tensor.shape, num_blocks, strict=False)]
        bound = math.sqrt(6 / sum(sizes))
        nn.init.uniform_(tensor, -bound, bound)
