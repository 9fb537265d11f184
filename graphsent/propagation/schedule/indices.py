"""Transfer of index arrays to a device."""

from __future__ import annotations

import torch
from torch import Tensor


def to_device(index: Tensor, device: torch.device) -> Tensor:
    """Copies a CPU tensor to a device; the host does not wait for the copy."""
    if device.type != "cuda":
        return index.to(device)
    return index.pin_memory().to(device, non_blocking=True)
