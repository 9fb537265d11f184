"""Devices by name."""

from __future__ import annotations

import torch


def find_device(name: str) -> torch.device:
    """The device of a name: ``cpu``, ``cuda`` or ``cuda:N``.

    Raises:
        ValueError: There is no such device.
    """
    try:
        device = torch.device(name)
    except (RuntimeError, ValueError, OverflowError):
        raise ValueError(f"expected cpu, cuda or cuda:N, got {name!r}") from None
    num_gpus = torch.cuda.device_count()
    # Torch reads cuda:128 as -128.
    is_gpu = device.type == "cuda" and 0 <= (device.index or 0) < num_gpus
    if device.type != "cpu" and not is_gpu:
        raise ValueError(f"{name} is not available; torch sees {num_gpus} GPUs")
    return device
