"""Pooling of each channel of a sentence to one number: its sum, its mean, its maximum."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from graphsent.layers.lengths import check_batch, lowest_beyond, zero_beyond


class SumPooling(nn.Module):
    r"""The sum over the steps of each sentence; zero if there are none.

    .. math::
        y_{b,c} = \sum_{t < \text{length}_b} x_{b,c,t}

    Shapes:
        - x: (batch, channels, time)
        - lengths: (batch,) int64
        - y: (batch, channels)

    Example:
        >>> import torch
        >>> SumPooling()(torch.tensor([[[1.0, 2.0, 9.0]]]), torch.tensor([2])).tolist()
        [[3.0]]
    """

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Adds up: (batch, channels, time) -> (batch, channels)."""
        check_batch(x, lengths)
        return zero_beyond(x, lengths).sum(2)


class MeanPooling(nn.Module):
    r"""The mean over the steps of each sentence; zero if there are none.

    .. math::
        y_{b,c} = \frac{1}{\text{length}_b} \sum_{t < \text{length}_b} x_{b,c,t}

    Shapes:
        - x: (batch, channels, time)
        - lengths: (batch,) int64
        - y: (batch, channels)

    Example:
        >>> import torch
        >>> MeanPooling()(torch.tensor([[[1.0, 2.0, 9.0]]]), torch.tensor([2])).tolist()
        [[1.5]]
    """

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Averages: (batch, channels, time) -> (batch, channels)."""
        check_batch(x, lengths)
        wide = torch.promote_types(x.dtype, torch.float32)  # as torch.mean does
        mean = zero_beyond(x, lengths).sum(2, dtype=wide) / lengths.clamp(min=1).to(wide)[:, None]
        return mean.to(x.dtype)


class MaxPooling(nn.Module):
    r"""The largest value of each channel within each sentence; zero if there are no steps.

    .. math::
        y_{b,c} = \max_{t < \text{length}_b} x_{b,c,t}

    Of equal values, the first is selected, and only it receives a gradient.

    Shapes:
        - x: (batch, channels, time)
        - lengths: (batch,) int64
        - y, positions: (batch, channels)

    Example:
        >>> import torch
        >>> y, positions = MaxPooling()(
        ...     torch.tensor([[[1.0, 2.0, 9.0]]]), torch.tensor([2]), return_positions=True
        ... )
        >>> y.item(), positions.item()
        (2.0, 1)
    """

    def forward(
        self, x: Tensor, lengths: Tensor, *, return_positions: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Selects: (batch, channels, time) -> (batch, channels).

        With ``return_positions``, also returns the position of each value, (batch, channels) int64,
        -1 for a sentence of length 0.
        """
        check_batch(x, lengths)
        if not x.shape[2]:
            x = functional.pad(x, (0, 1))
        values, positions = lowest_beyond(x, lengths).max(2)
        empty = (lengths == 0)[:, None]
        values = values.masked_fill(empty, 0)
        return (values, positions.masked_fill(empty, -1)) if return_positions else values
