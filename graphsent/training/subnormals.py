"""Flushing of subnormal numbers during training."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

__all__ = ["flushed_subnormals", "flushes"]


@contextmanager
def flushed_subnormals() -> Iterator[None]:
    """Flushes results below the normal range (1.2e-38 in float32) to zero within the context.

    Subnormal numbers arise in weights to which only weight decay applies, which may halve at each
    step and so become subnormal within a hundred steps, and in gradients of saturated gates.
    Products with them are several times slower on Intel processors, and useless to a model.
    ``train`` and ``resume`` run in this context; custom training loops may use it, too.

    It sets ``torch.set_flush_denormal`` in the calling thread, where torch also runs backward
    passes on the CPU, and restores the setting afterwards. Threads started meanwhile, such as the
    worker threads of torch and of the compiled kernels, inherit the setting and keep it; threads
    started before keep their own.
    """
    before = flushes()
    for dtype in (np.float32, np.float64):
        np.finfo(dtype)  # kept by NumPy before 2.3, which computes it and warns if it finds zeros
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def flushes() -> bool:
    """Whether the calling thread flushes subnormals, which torch does not report."""
    smallest = torch.finfo(torch.float32).tiny  # of normal numbers
    return float(torch.tensor(smallest, dtype=torch.float32, device="cpu") / 2) == 0
