"""Sets torch's number of CPU threads for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["torch_threads"]


@contextmanager
def torch_threads(num_threads: int | None) -> Iterator[None]:
    """Sets torch's number of CPU threads inside the block; None or 0 keeps the current number."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(num_threads or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
