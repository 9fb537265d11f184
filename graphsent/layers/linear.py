"""``torch.nn.Linear`` by the products of the compiled kernels."""

from __future__ import annotations

from torch import Tensor, nn

from graphsent.propagation.linear import linear


class Linear(nn.Linear):
    r"""A linear map, :math:`x W^\top + b`, with the arguments and weights of ``torch.nn.Linear``.

    Large matrices of float32 or float64 on a CPU are multiplied by the compiled kernels, all others
    by torch. Results are the same but for rounding.

    >>> import torch
    >>> layer = Linear(3, 2)
    >>> layer(torch.zeros(4, 3)).shape
    torch.Size([4, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The map of all rows, from (..., in_features) to (..., out_features)."""
        return linear(input, self.weight, self.bias)
