"""The pointwise part of the cells with one sum a node: from sums to states, and back."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from graphsent.propagation.fused import Block, Product
from graphsent.propagation.fused_slots import SlotLevel
from graphsent.propagation.pointwise import logistic_derivative


class Squash:
    r"""Rule of the plain recursive cell, :math:`h = \tanh(s)`, for ``run_slots``.

    Args:
        size: of a state.
    """

    num_parts = 1
    num_kept = 0
    order = (Block(0, 0, 2.0),)  # the logistic function of twice the sum
    products = (Product(0, order),)
    late = None
    direct = ()
    compiled = "squash"

    def __init__(self, size: int) -> None:
        self.size = size

    def forward(self, level: SlotLevel, states: Sequence[Tensor]) -> None:
        """See ``SlotRule``."""
        torch.mul(level.sums.sigmoid_(), 2, out=states[0]).sub_(1)

    def backward(self, level: SlotLevel, gradients: Sequence[Tensor], into: SlotLevel) -> None:
        """See ``SlotRule``."""
        logistic_derivative(level.sums, out=into.sums)
        into.sums.mul_(gradients[0]).mul_(4)


class Mixture:
    r"""Rule of the head words, :math:`h = \sigma(s) * h_L + (1 - \sigma(s)) * h_R`.

    For ``run_slots``, with two slots L and R.

    Args:
        size: of a state.
    """

    num_parts = 1
    num_kept = 0
    order = (Block(0, 0),)
    products = (Product(0, order),)
    late = None
    direct = (0,)
    compiled = "mixture"

    def __init__(self, size: int) -> None:
        self.size = size

    def forward(self, level: SlotLevel, states: Sequence[Tensor]) -> None:
        """See ``SlotRule``."""
        left, right = level.slots[0].unbind(1)
        torch.lerp(right, left, level.sums.sigmoid_(), out=states[0])

    def backward(self, level: SlotLevel, gradients: Sequence[Tensor], into: SlotLevel) -> None:
        """See ``SlotRule``."""
        (dh,) = gradients
        left, right = level.slots[0].unbind(1)
        dleft, dright = into.slots[0].unbind(1)
        torch.mul(dh, level.sums, out=dleft)
        torch.sub(dh, dleft, out=dright)
        # The derivative is z * (1 - z).
        torch.mul(dright, level.sums, out=into.sums).mul_(left - right)
