"""Gradients of some rows of a table."""

from __future__ import annotations

import torch


def gradient(rows: list[int], size: int, dtype: torch.dtype, coalesced: bool) -> torch.Tensor:
    generator = torch.Generator().manual_seed(len(rows))
    values = torch.randn(len(rows), size, generator=generator, dtype=torch.float64)
    index = torch.tensor([rows], dtype=torch.int64)
    sparse = torch.sparse_coo_tensor(index, values.to(dtype), (9, size), check_invariants=True)
    return sparse.coalesce() if coalesced else sparse
