"""Flushing of subnormal numbers during training."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["flushed_subnormals"]


@contextmanager
def flushed_subnormals() -> Iterator[None]:
    """Results below the normal range (1.2e-38 in float32) become zero while it lasts.

    A weight on which only weight decay acts halves from step to step and is a subnormal number
    within a hundred of them; saturated gates make such gradients. Products with them are several
    times as slow on Intel's processors, and they are no use to a model. ``train`` and ``resume``
    run in this context; a training loop of your own may, too.

    It sets ``torch.set_flush_denormal`` in the calling thread, where torch also runs backward
    passes, and restores the setting. Threads that are started meanwhile, such as those that torch
    and the compiled kernels share their work among, compute in the same way and continue to do so;
    those that torch has started before keep their own.
    """
    before = _flushes()
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def _flushes() -> bool:
    """Whether the calling thread flushes subnormals, which torch does not report."""
    return float(torch.tensor(torch.finfo(torch.float32).tiny) / 2) == 0
