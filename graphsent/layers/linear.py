"""``torch.nn.Linear`` with compiled kernels."""

from __future__ import annotations

from torch import Tensor, nn

from graphsent.propagation.linear import linear


class Linear(nn.Linear):
    r"""A linear map, :math:`x W^\top + b`, with the arguments and weights of ``torch.nn.Linear``.

    Large float32 and float64 matrices on the CPU are multiplied by the compiled kernels, others by
    torch. Results are equal up to rounding.

    >>> import torch
    >>> layer = Linear(3, 2)
    >>> layer(torch.zeros(4, 3)).shape
    torch.Size([4, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Maps all rows: (..., in_features) -> (..., out_features)."""
        return linear(input, self.weight, self.bias)
