"""Wide convolution over many phrases of the same words."""

from __future__ import annotations

import torch
from torch import Tensor

from graphsent.graphs.spans import sum_of_rows
from graphsent.layers import WideConv1d

__all__ = ["convolve_phrases", "word_products"]


def word_products(convolution: WideConv1d, words: Tensor) -> Tensor:
    """What each word adds to a window, for each place that it may have in it.

    Args:
        convolution: One whose rows are not apart (``rows=1``).
        words: (num_words, in_channels).

    Returns:
        (num_words, width * out_channels), column ``place * out_channels + channel``.
    """
    return words @ convolution.weight.permute(1, 2, 0).flatten(1)


def convolve_phrases(products: Tensor, ranges: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Wide convolution of each phrase by itself, from the products of its words.

    The result is that of :class:`~graphsent.layers.WideConv1d` without bias over
    :func:`~graphsent.models.padding.padded` phrases. There each phrase multiplies its words with
    the filters; here every word is multiplied once, for all phrases that it is in (a treebank has
    one for each node of a tree), and the padding never is.

    Args:
        products: What :func:`word_products` gave, (num_words, width * out_channels).
        ranges: first and last + 1 word of each phrase, (num_phrases, 2) int64.
        width: Of the filters.

    Returns:
        (num_phrases, out_channels, longest + width - 1), zeros beyond the new lengths; and these,
        (num_phrases,) int64: length + width - 1, 0 for a phrase without words.
    """
    begin, end = ranges.unbind(1)
    lengths = end - begin
    new_lengths = torch.where(lengths > 0, lengths + width - 1, 0)
    num_steps = int(new_lengths.max()) if len(ranges) else 0
    places = torch.arange(width, device=ranges.device)
    # Step t sees the words from t - width + 1 to t, (num_phrases, num_steps, width).
    words = torch.arange(num_steps, device=ranges.device)[:, None] + places - (width - 1)
    words = begin[:, None, None] + words
    inside = (words >= begin[:, None, None]) & (words < end[:, None, None])
    terms = (words * width + places)[inside]
    counts = inside.sum(2).flatten()
    of_places = products.reshape(len(products) * width, products.shape[1] // width)
    sums = sum_of_rows(of_places, terms, torch.cumsum(counts, 0) - counts)
    return sums.unflatten(0, (len(ranges), num_steps)).transpose(1, 2), new_lengths
