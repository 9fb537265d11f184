"""Tests on a GPU."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

needs_gpu = pytest.mark.gpu


@contextmanager
def gpu_does_not_wait() -> Iterator[None]:
    """Raises on anything in the block for which the host waits for the GPU."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Synchronization debug mode is a prototype")
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")
