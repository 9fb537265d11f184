"""Pieces that several cells are made of."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


def lstm_state(
    update: Tensor, forgotten: Tensor | None = None, gate_output: bool = True
) -> tuple[Tensor, Tensor]:
    r"""State (h, c) of an LSTM from what enters its gates.

    .. math::
        c = \sigma(i) * \tanh(u) + \mathrm{forgotten}, \qquad h = \sigma(o) * \tanh(c)

    Args:
        update: the sums i, o, u side by side, (..., 3 * hidden_feats); i, u without output gate.
        forgotten: what the forget gates leave of the predecessors' memory, (..., hidden_feats).
        gate_output: whether there is an output gate; :math:`h = \tanh(c)` otherwise.
    """
    parts = update.chunk(3 if gate_output else 2, -1)
    c = torch.sigmoid(parts[0]) * torch.tanh(parts[-1])
    if forgotten is not None:
        c = c + forgotten
    return (torch.sigmoid(parts[1]) * torch.tanh(c) if gate_output else torch.tanh(c)), c


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
