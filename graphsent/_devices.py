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
    if device.type == "cpu":
        return device
    num_gpus = torch.cuda.device_count()
    if device.type != "cuda" or not 0 <= (device.index or 0) < num_gpus:  # cuda:128 is read as -128
        raise ValueError(f"{name} is not available; torch sees {num_gpus} GPUs")
    return device
