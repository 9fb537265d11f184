"""The precision of matrix products."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from graphsent.propagation.autocast import without_autocast

__all__ = ["full_precision", "matmul_precision"]


@contextmanager
def matmul_precision(precision: str) -> Iterator[None]:
    """Products of float32 matrices in ``"tf32"``, where the device supports it, or float32."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def full_precision(device_type: str) -> Iterator[None]:
    """Products in float32 on a device, within a run of any other precision."""
    with without_autocast(device_type), matmul_precision("float32"):
        yield
