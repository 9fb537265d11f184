"""Folding: the sum of pairs of rows."""

from __future__ import annotations

from torch import Tensor, nn

from graphsent._numbers import check_sizes
from graphsent.layers.errors import LayerError


class Folding(nn.Module):
    r"""Adds rows :math:`2i - 1` and :math:`2i` of every map, which halves the number of rows.

    .. math::
        y_{i,j,t} = x_{2i-1,j,t} + x_{2i,j,t}

    `A Convolutional Neural Network for Modelling Sentences <https://aclanthology.org/P14-1062>`_
    (Kalchbrenner et al. 2014): after a convolution whose rows do not mix, before pooling. It has
    no parameters and does not depend on the lengths. Channels are numbered row by row,
    ``channel = row * num_maps + map``, as in :class:`~graphsent.layers.WideConv1d`, whose option
    ``fold`` gives the same result faster.

    Args:
        num_maps: Number of maps, that is, of channels per row.

    Raises:
        LayerError: ``num_maps`` is less than 1; in ``forward``, the number of rows is odd.

    Shapes:
        - x: (batch, rows * num_maps, time)
        - y: (batch, rows / 2 * num_maps, time)

    Example:
        >>> import torch
        >>> Folding()(torch.tensor([[[1.0, 2.0], [10.0, 20.0]]])).tolist()
        [[[11.0, 22.0]]]
    """

    def __init__(self, num_maps: int = 1) -> None:
        super().__init__()
        check_sizes(LayerError, num_maps=num_maps)
        self.num_maps = num_maps

    def forward(self, x: Tensor) -> Tensor:
        """Adds pairs: (batch, rows * num_maps, time) -> (batch, rows / 2 * num_maps, time)."""
        if x.dim() != 3 or x.shape[1] % (2 * self.num_maps):
            raise LayerError(
                f"expected x of shape (batch, channels, time) with an even number of rows of "
                f"{self.num_maps} channels each, got {tuple(x.shape)}"
            )
        first, second = x.unflatten(1, (-1, 2, self.num_maps)).unbind(2)
        return (first + second).flatten(1, 2)

    def extra_repr(self) -> str:
        """The number of maps."""
        return f"num_maps={self.num_maps}"
