"""k-max pooling: the k largest values of each channel, in the order of the sentence."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from graphsent._numbers import check_sizes
from graphsent.layers.errors import LayerError
from graphsent.layers.lengths import check_batch, check_lengths, time_mask, zero_beyond
from graphsent.layers.selection import select_largest

Pooled = tuple[Tensor, Tensor] | tuple[Tensor, Tensor, Tensor]


def dynamic_k(num_words: Tensor, k_top: int, layer: int, num_layers: int) -> Tensor:
    r"""The number of values that a layer keeps per channel of each sentence.

    .. math::
        k_l = \max\left(k_\mathrm{top}, \left\lceil \tfrac{L - l}{L} s \right\rceil\right)

    (Kalchbrenner et al. 2014, section 3.4), in integer arithmetic, without rounding errors.

    Args:
        num_words: s, (batch,) int64.
        k_top: :math:`k_\mathrm{top}`, the number that the last layer keeps.
        layer: l, counted from 1.
        num_layers: L, the number of convolutional layers.

    Returns:
        (batch,) int64.

    Example:
        >>> import torch
        >>> [dynamic_k(torch.tensor([18]), 3, layer, 3).item() for layer in (1, 2, 3)]
        [12, 6, 3]
    """
    kept = ((num_layers - layer) * num_words + num_layers - 1) // num_layers
    return kept.clamp(min=k_top)


def pool_largest(
    x: Tensor, lengths: Tensor, k: Tensor, width: int, return_positions: bool
) -> Pooled:
    """The ``k[b]`` largest values of each channel of sentence b, or all if it is shorter.

    Args:
        x: (batch, channels, time).
        lengths: (batch,) int64.
        k: (batch,) int64.
        width: Number of steps of the result, at least the largest of ``k``.
        return_positions: Whether to return positions.

    Returns:
        Values (batch, channels, width), new lengths, and positions, -1 beyond the new lengths.
    """
    x = functional.pad(x, (0, max(0, width - x.shape[2])))
    new_lengths = torch.minimum(k, lengths)
    positions = select_largest(x, lengths, new_lengths, width)
    values = zero_beyond(x.gather(2, positions), new_lengths)
    if return_positions:
        beyond = ~time_mask(new_lengths, width)[:, None]
        return values, new_lengths, positions.masked_fill(beyond, -1)
    return values, new_lengths


class KMaxPooling(nn.Module):
    r"""Keeps the k largest values of each channel, in their order in the sentence.

    `A Convolutional Neural Network for Modelling Sentences <https://aclanthology.org/P14-1062>`_
    (Kalchbrenner et al. 2014), section 3.3. Of equal values, the earlier ones are kept. A sentence
    of fewer than k steps keeps them all, so that one of length 0 stays empty. Gradients flow only
    to the kept values.

    Args:
        k: Number of values to keep.

    Raises:
        LayerError: k is less than 1.

    Shapes:
        - x: (batch, channels, time)
        - lengths, new lengths: (batch,) int64, new ones at most k
        - y: (batch, channels, k), zeros beyond the new lengths

    Example:
        >>> import torch
        >>> x = torch.tensor([[[4.0, 1.0, 7.0, 2.0, 7.0, 3.0]]])
        >>> y, new_lengths, positions = KMaxPooling(3)(x, torch.tensor([6]), return_positions=True)
        >>> y.tolist(), positions.tolist()
        ([[[4.0, 7.0, 7.0]]], [[[0, 2, 4]]])
    """

    def __init__(self, k: int) -> None:
        super().__init__()
        check_sizes(LayerError, k=k)
        self.k = k

    def forward(self, x: Tensor, lengths: Tensor, *, return_positions: bool = False) -> Pooled:
        """Selects: (batch, channels, time) -> (batch, channels, k).

        Returns:
            ``(y, new_lengths)``; with ``return_positions`` also the position of each value in x,
            (batch, channels, k) int64, -1 beyond the new lengths.
        """
        check_batch(x, lengths)
        k = torch.full_like(lengths, self.k)
        return pool_largest(x, lengths, k, self.k, return_positions)

    def extra_repr(self) -> str:
        """The number of values kept."""
        return f"k={self.k}"


class DynamicKMaxPooling(nn.Module):
    r"""Keeps the k largest values of each channel in order, where k depends on the sentence.

    .. math::
        k_l = \max\left(k_\mathrm{top}, \left\lceil \tfrac{L - l}{L} s \right\rceil\right)

    `A Convolutional Neural Network for Modelling Sentences <https://aclanthology.org/P14-1062>`_
    (Kalchbrenner et al. 2014), section 3.4; s is the number of words of the sentence, not the
    length of the map being pooled. Apart from k, this is :class:`KMaxPooling`. In the last layer, k
    is :math:`k_\mathrm{top}` for every sentence.

    Args:
        k_top: :math:`k_\mathrm{top}`.
        layer: l, counted from 1.
        num_layers: L, the number of convolutional layers.

    Raises:
        LayerError: A number is less than 1, or ``layer`` is above ``num_layers``.

    Shapes:
        - x: (batch, channels, time)
        - lengths, new lengths: (batch,) int64
        - num_words: s, (batch,) int64
        - y: (batch, channels, largest k), zeros beyond the new lengths

    Example:
        >>> import torch
        >>> pooling = DynamicKMaxPooling(4, layer=1, num_layers=2)
        >>> lengths = torch.tensor([7, 9])
        >>> y, new_lengths = pooling(torch.randn(2, 3, 9), lengths, lengths)
        >>> y.shape, new_lengths.tolist()
        (torch.Size([2, 3, 5]), [4, 5])
    """

    def __init__(self, k_top: int, layer: int, num_layers: int) -> None:
        super().__init__()
        check_sizes(LayerError, k_top=k_top, layer=layer, num_layers=num_layers)
        if layer > num_layers:
            raise LayerError(f"expected layer of at most num_layers = {num_layers}, got {layer}")
        self.k_top = k_top
        self.layer = layer
        self.num_layers = num_layers

    def forward(
        self, x: Tensor, lengths: Tensor, num_words: Tensor, *, return_positions: bool = False
    ) -> Pooled:
        """Selects: (batch, channels, time) -> (batch, channels, largest k).

        Returns:
            ``(y, new_lengths)``; with ``return_positions`` also the position of each value in x,
            (batch, channels, largest k) int64, -1 beyond the new lengths.
        """
        check_batch(x, lengths)
        check_lengths("num_words", num_words, len(x))
        k = self.counts(num_words)
        last = self.layer == self.num_layers or not len(k)
        width = self.k_top if last else int(k.max())
        return pool_largest(x, lengths, k, width, return_positions)

    def counts(self, num_words: Tensor) -> Tensor:
        """The k of each sentence, from its number of words: (batch,) int64 -> (batch,) int64."""
        return dynamic_k(num_words, self.k_top, self.layer, self.num_layers)

    def extra_repr(self) -> str:
        """The numbers that k depends on."""
        return f"k_top={self.k_top}, layer={self.layer}, num_layers={self.num_layers}"
