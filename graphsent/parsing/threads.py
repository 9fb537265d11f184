"""How many threads torch takes while it parses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["torch_threads"]


@contextmanager
def torch_threads(num_threads: int | None) -> Iterator[None]:
    """Torch takes so many threads inside, as many as before afterwards; None changes nothing."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(num_threads or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
