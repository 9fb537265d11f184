"""How several cells draw their parameters."""

from __future__ import annotations

import math

from torch import Tensor, nn


def uniform_(tensor: Tensor, fan_in: int) -> None:
    """Draws from U(-1 / sqrt(fan_in), 1 / sqrt(fan_in)), in place."""
    bound = 1 / math.sqrt(fan_in)
    nn.init.uniform_(tensor, -bound, bound)


def glorot_(*tensors: Tensor, num_blocks: tuple[int, int] = (1, 1)) -> None:
    """Draws from U(-sqrt(6 / n), sqrt(6 / n)), n the sum of a matrix' dimensions, in place.

    Args:
        *tensors: matrices made of blocks, or biases; each block counts as a matrix of its own.
        num_blocks: numbers of blocks over and beside one another.
    """
    for tensor in tensors:
        sizes = [size // blocks for size, blocks in zip(tensor.shape, num_blocks, strict=False)]
        bound = math.sqrt(6 / sum(sizes))
        nn.init.uniform_(tensor, -bound, bound)
