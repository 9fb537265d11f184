"""Convolution and pooling of many concatenated sentences, without padding.

Sentences are ranges of rows of a matrix, (num_rows, channels), one row per step. They may overlap,
as phrases of one sentence do. Results are the concatenated rows of all sentences, together with
their ranges. On the CPU compiled kernels are used if available; otherwise sentences of similar
length are padded and use the operations of the layers for padded batches. Both give the same
results up to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional

from graphsent.graphs.spans import sum_of_rows
from graphsent.layers import compiled_sentences
from graphsent.layers.convolution import WideConv1d
from graphsent.layers.correlation import correlate
from graphsent.layers.lengths import time_mask
from graphsent.layers.selection import select_largest
from graphsent.propagation.autocast import autocast_enabled
from graphsent.propagation.linear import linear

__all__ = [
    "convolve",
    "groups_by_length",
    "keep_largest",
    "padded",
    "ranges_of",
    "stacked",
    "stacked_largest",
    "sum_windows",
    "word_products",
]

# Padding by this many steps costs as much as another group: for the models here and batches of 50
# to 2000 sequences the time hardly depends on it (measured on one core).
_STEPS_PER_GROUP = 2048


def ranges_of(lengths: Tensor) -> Tensor:
    """The ranges of concatenated sentences.

    Args:
        lengths: (num_sentences,) int64.

    Returns:
        (num_sentences, 2) int64, the half-open row range of each.
    """
    end = torch.cumsum(lengths, 0)
    return torch.stack((end - lengths, end), 1)


def word_products(convolution: WideConv1d, words: Tensor) -> Tensor:
    """The contribution of each word to a window, for each position in the window.

    Args:
        convolution: A convolution that is not row-wise (``rows=1``).
        words: (num_words, in_channels).

    Returns:
        (num_words, width * out_channels), column ``position * out_channels + channel``.
    """
    return linear(words, convolution.weight.permute(2, 0, 1).flatten(0, 1))


def sum_windows(
    products: Tensor, ranges: Tensor, width: int, words: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    r"""Wide convolution of sentences, from the products of their words with all filters.

    .. math::
        y_t = \sum_{a=1}^{m} p_{t-m+a,\,a}, \qquad t = 1, \ldots, s + m - 1

    over the words of the sentence. The result equals :class:`~graphsent.layers.WideConv1d` without
    bias, but each word is multiplied only once for all sentences that contain it, and padding
    never.

    Args:
        products: The result of :func:`word_products`, (num_rows, width * channels).
        ranges: Half-open word range of each sentence, (num_sentences, 2) int64.
        width: Filter width m.
        words: The row of each word, (num_words,) int64; by default one row per word, in order.

    Returns:
        (num_steps, channels) and (num_sentences, 2) int64. A sentence without words has no steps.
    """
    wide = _widened(ranges, width)
    sums = compiled_sentences.sum_windows(products, ranges, width, words)
    if sums is None:
        lengths = wide[:, 1] - wide[:, 0]
        sentence = torch.repeat_interleave(lengths)
        step = torch.arange(len(sentence), device=ranges.device) - wide[sentence, 0]
        places = torch.arange(width, device=ranges.device)
        # Step t sees the words from t - width + 1 to t, (num_steps, width).
        begin, end = ranges[sentence].unbind(1)
        seen = (begin + step - (width - 1))[:, None] + places
        inside = (seen >= begin[:, None]) & (seen < end[:, None])
        row = seen[inside] if words is None else words[seen[inside]]
        terms, counts = row * width + places.expand_as(seen)[inside], inside.sum(1)
        of_places = products.reshape(len(products) * width, products.shape[1] // width)
        sums = sum_of_rows(of_places, terms, torch.cumsum(counts, 0) - counts)
    return sums, wide


def convolve(x: Tensor, ranges: Tensor, weight: Tensor, groups: int) -> tuple[Tensor, Tensor]:
    """Wide grouped convolution; see :class:`~graphsent.layers.WideConv1d`.

    Args:
        x: (num_rows, groups * q).
        ranges: Half-open row range of each sentence, (num_sentences, 2) int64.
        weight: (groups * j, q, m).
        groups: Number of groups.

    Returns:
        (num_steps, groups * j), without bias, and (num_sentences, 2) int64. A sentence of s > 0
        rows has s + m - 1 steps, one without rows none.
    """
    margin = weight.shape[2] - 1
    wide = _widened(ranges, margin + 1)
    if not autocast_enabled(x.device.type):
        sums = compiled_sentences.convolve(x, ranges, weight, groups)
        if sums is not None:
            return sums, wide
    parts, rows = [], []
    for sentences, batch, lengths in _padded_groups(x, ranges):
        y = correlate(batch, lengths, weight, groups, margin=margin, method="auto")
        own = time_mask(lengths + margin, y.shape[2])
        steps = torch.arange(y.shape[2], device=x.device)
        rows.append((wide[sentences, 0][:, None] + steps)[own])
        parts.append(y.transpose(1, 2)[own])
    if not parts:
        return x.new_zeros(0, len(weight)), wide
    return torch.cat(parts)[torch.argsort(torch.cat(rows))], wide


def keep_largest(x: Tensor, ranges: Tensor, k: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """k-max pooling: the ``k[b]`` largest values of each channel of sentence b, in their order.

    Among equal values the earlier are kept; NaN counts as the largest value. A sentence with fewer
    steps keeps all. Gradients flow only to kept values.

    Args:
        x: (num_rows, channels).
        ranges: Half-open row range of each sentence, (num_sentences, 2) int64.
        k: (num_sentences,) int64.

    Returns:
        The values, (num_kept, channels); their ranges, (num_sentences, 2) int64; and the step of
        each in its sentence, (num_kept, channels), integers from 0.
    """
    counts = torch.minimum(k, ranges[:, 1] - ranges[:, 0])
    new_ranges = ranges_of(counts)
    found = compiled_sentences.keep_largest(x, ranges, counts)
    if found is not None:
        kept, steps = found
        return kept, new_ranges, steps
    parts, rows = [], []
    for sentences, batch, lengths in _padded_groups(x.detach(), ranges):
        of_group = counts[sentences]
        places = select_largest(batch, lengths, of_group, int(of_group.max()))
        own = time_mask(of_group, places.shape[2])
        steps = torch.arange(places.shape[2], device=x.device)
        rows.append((new_ranges[sentences, 0][:, None] + steps)[own])
        parts.append(places.transpose(1, 2)[own])
    if not parts:
        return x[:0], new_ranges, ranges.new_zeros(0, x.shape[1])
    steps = torch.cat(parts)[torch.argsort(torch.cat(rows))]
    begin = torch.repeat_interleave(ranges[:, 0], counts)
    return x.gather(0, begin[:, None] + steps), new_ranges, steps


def stacked(x: Tensor, ranges: Tensor, num_steps: int) -> Tensor:
    """Converts concatenated sentences to a padded tensor.

    Args:
        x: (num_rows, channels), the concatenated rows of all sentences.
        ranges: Their ranges, (num_sentences, 2) int64.
        num_steps: At least the length of the longest sentence.

    Returns:
        (num_sentences, num_steps, channels), zeros beyond the lengths.
    """
    begin, end = ranges.unbind(1)
    sentences = torch.arange(len(ranges), device=x.device)
    places = torch.repeat_interleave(sentences * num_steps - begin, end - begin)
    places += torch.arange(len(x), device=x.device)
    y = x.new_zeros(len(ranges) * num_steps, x.shape[1]).index_copy(0, places, x)
    return y.unflatten(0, (len(ranges), num_steps))


def stacked_largest(x: Tensor, ranges: Tensor, k: int) -> Tensor:
    """k-max pooling as :func:`keep_largest` with one k, (num_sentences, k, channels).

    Sentences with fewer steps are padded with zeros.
    """
    values, kept, _ = keep_largest(x, ranges, torch.full_like(ranges[:, 0], k))
    return stacked(values, kept, k)


def groups_by_length(lengths: Tensor) -> list[Tensor]:
    """Partition sequences into groups of similar length, the longest first.

    Args:
        lengths: (num_sequences,) int64.

    Returns:
        Indices of the sequences in each group.
    """
    descending, order = torch.sort(lengths, descending=True, stable=True)
    values = descending.tolist()
    begin, cuts = 0, []
    for place, length in enumerate(values):
        if (len(values) - place) * (values[begin] - length) >= _STEPS_PER_GROUP:
            cuts.append(place)
            begin = place
    return list(torch.tensor_split(order, cuts)) if values else []


def padded(words: Tensor, ranges: Tensor) -> tuple[Tensor, Tensor]:
    """Copies ranges of rows to one padded tensor, zero beyond the length of each.

    Args:
        words: (num_words, features).
        ranges: Half-open row range of each sequence, (num_sequences, 2) int64.

    Returns:
        (num_sequences, features, longest), and the lengths, (num_sequences,) int64.
    """
    begin, end = ranges.unbind(1)
    lengths = end - begin
    longest = int(lengths.max()) if len(lengths) else 0
    steps = torch.arange(longest, device=ranges.device)
    rows = (begin[:, None] + steps).masked_fill(~time_mask(lengths, longest), len(words))
    return functional.pad(words, (0, 0, 0, 1))[rows].transpose(1, 2), lengths


def _widened(ranges: Tensor, width: int) -> Tensor:
    lengths = ranges[:, 1] - ranges[:, 0]
    return ranges_of(torch.where(lengths > 0, lengths + width - 1, 0))


def _padded_groups(x: Tensor, ranges: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Groups of non-empty sentences of similar length: indices, padded rows and lengths."""
    lengths = ranges[:, 1] - ranges[:, 0]
    filled = torch.nonzero(lengths > 0).squeeze(1)
    for group in groups_by_length(lengths[filled]):
        yield filled[group], *padded(x, ranges[filled[group]])
