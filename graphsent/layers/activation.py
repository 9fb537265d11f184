"""Bias and activation over sentences of different lengths."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from graphsent._names import check_choice
from graphsent._numbers import check_sizes
from graphsent.layers.errors import LayerError
from graphsent.layers.lengths import check_batch, zero_beyond

# All map zero to zero, so that masked steps stay zero.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "identity": lambda x: x,
    "relu": torch.relu,
    "tanh": torch.tanh,
}


def check_activation(name: str) -> None:
    """Raises a LayerError unless there is an activation of this name."""
    check_choice("activation", name, ACTIVATIONS, LayerError)


class BiasActivation(nn.Module):
    r"""Adds a bias to each channel and applies an activation, within each sentence.

    .. math::
        y_{b,c,t} = f(x_{b,c,t} + b_c) \text{ for } t < \text{length}_b, \qquad 0 \text{ beyond}

    In `A Convolutional Neural Network for Modelling Sentences <https://aclanthology.org/P14-1062>`_
    (Kalchbrenner et al. 2014), this follows pooling, with one bias per map and row after folding.
    The bias is not added beyond the length of a sentence: :math:`f(0 + b_c)` would not be zero.

    Args:
        num_channels: C.
        activation: f: ``"tanh"``, ``"relu"`` or ``"identity"``.

    Raises:
        LayerError: The activation is unknown, or there is no channel.

    Shapes:
        - x, y: (batch, C, time)
        - lengths: (batch,) int64

    Example:
        >>> import torch
        >>> layer = BiasActivation(2)
        >>> layer(torch.zeros(1, 2, 3), torch.tensor([2])).shape
        torch.Size([1, 2, 3])
    """

    def __init__(self, num_channels: int, activation: str = "tanh") -> None:
        super().__init__()
        check_sizes(LayerError, num_channels=num_channels)
        check_activation(activation)
        self.activation = activation
        self.bias = nn.Parameter(torch.empty(num_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the bias to zero."""
        nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Adds the bias, masks, and applies f: (batch, C, time) -> (batch, C, time)."""
        check_batch(x, lengths, len(self.bias))
        return ACTIVATIONS[self.activation](zero_beyond(x + self.bias[:, None], lengths))

    def of_rows(self, rows: Tensor) -> Tensor:
        """Adds the bias and applies f, without padding: (num_rows, C) -> (num_rows, C)."""
        return ACTIVATIONS[self.activation](rows + self.bias)

    def extra_repr(self) -> str:
        """The number of channels, and the activation."""
        return f"{len(self.bias)}, activation={self.activation!r}"
