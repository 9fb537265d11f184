"""Sequences of different lengths as padded tensors, few and with little padding."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from graphsent.layers import time_mask

__all__ = ["groups_by_length", "padded"]

# Padding of so many steps costs as much as one more group: for the models here and batches of 50
# to 2000 sequences the time hardly depends on it (measured on one core).
_STEPS_PER_GROUP = 2048


def groups_by_length(lengths: Tensor) -> list[Tensor]:
    """Sorts sequences into groups of like length, the longest first.

    Args:
        lengths: (num_sequences,) int64.

    Returns:
        Indices of the sequences of each group, together all of them once.
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
    """Some ranges of rows as one tensor, zero beyond the length of each.

    Args:
        words: (num_words, features).
        ranges: first and last + 1 row of each sequence, (num_sequences, 2) int64.

    Returns:
        (num_sequences, features, longest), and the lengths, (num_sequences,) int64.
    """
    begin, end = ranges.unbind(1)
    lengths = end - begin
    longest = int(lengths.max()) if len(lengths) else 0
    steps = torch.arange(longest, device=ranges.device)
    rows = (begin[:, None] + steps).masked_fill(~time_mask(lengths, longest), len(words))
    return functional.pad(words, (0, 0, 0, 1))[rows].transpose(1, 2), lengths
