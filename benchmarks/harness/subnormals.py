"""Subnormal numbers of float32, below 1.2e-38, with which most processors compute slowly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


def flushes() -> bool:
    """Whether this thread takes them for zero."""
    return float(torch.full((1,), 1e-30).mul_(1e-10)) == 0


@contextmanager
def flushed(flush: bool) -> Iterator[None]:
    """Takes them for zero, or does not, in this thread."""
    before = flushes()
    torch.set_flush_denormal(flush)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def count_subnormals(numbers: torch.Tensor) -> int:
    """How many there are in a float32 tensor, in a thread that takes them for zero as well."""
    if numbers.is_sparse:
        numbers = numbers.coalesce().values()
    size = numbers.detach().contiguous().view(torch.int32) & 0x7FFFFFFF
    return int(((size > 0) & (size < 0x00800000)).sum())
